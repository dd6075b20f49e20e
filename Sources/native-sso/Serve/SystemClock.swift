import Glibc
import NativeSSO

/// The clock of the machine.
struct SystemClock: WallClock {
    var milliseconds: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
