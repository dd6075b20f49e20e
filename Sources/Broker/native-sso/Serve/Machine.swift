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

/// How many files, connections included, this process may have open.
enum OpenFileLimit {
    /// Beside the connections of apps: database, keys, the internal listener, the log.
    private static let others = 512

    /// Raises it as far as the system lets it.
    /// - Returns: The limit, if it is too low for so many connections.
    static func raise(for connections: Int) -> Int? {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return nil }
        let count = Int(clamping: limit.rlim_cur)
        return count - others < connections ? count : nil
    }
}
