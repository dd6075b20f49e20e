import Glibc

/// The processor time of a process: of all its threads, those that have ended included. clock_getcpuclockid(3).
enum ProcessClock {
    /// Nanoseconds, to the last one, while the files of proc(5) count in hundredths of a second. `nil`: there is no such process.
    static func nanoseconds(of pid: pid_t) -> Int64? {
        var clock = clockid_t()
        var time = timespec()
        guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else { return nil }
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Of this process.
    static var own: Int64 { read(CLOCK_PROCESS_CPUTIME_ID) }

    /// Of the thread that asks.
    static var thread: Int64 { read(CLOCK_THREAD_CPUTIME_ID) }

    /// Not of a process: the time on the wall, from some beginning.
    static var monotonic: Int64 { read(CLOCK_MONOTONIC) }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
