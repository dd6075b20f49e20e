import Glibc

/// A point on the clock that never jumps.
struct MonotonicTime: Sendable, Comparable {
    let nanoseconds: Int64

    static var now: MonotonicTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    static func after(_ duration: Duration) -> MonotonicTime { now.advanced(by: duration) }

    func advanced(by duration: Duration) -> MonotonicTime {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.clampedNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? .max : sum)
    }

    /// For poll(2): 0 when it has passed, never 0 before.
    var millisecondsLeft: Int32 {
        let left = nanoseconds - Self.now.nanoseconds
        return left <= 0 ? 0 : Int32(clamping: (left - 1) / 1_000_000 + 1)
    }

    var hasPassed: Bool { self <= .now }

    var specification: timespec {
        timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }

    /// Blocks the thread; for threads of our own only.
    static func pause(_ duration: Duration) {
        var time = MonotonicTime(nanoseconds: duration.clampedNanoseconds).specification
        unsafe nanosleep(&time, nil)
    }

    static func < (a: MonotonicTime, b: MonotonicTime) -> Bool { a.nanoseconds < b.nanoseconds }
}

extension Duration {
    /// At most about 146 years, at least 0.
    var clampedNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0 else { return 0 }
        guard seconds < 4_600_000_000 else { return 4_600_000_000_000_000_000 }
        return seconds * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    }

    /// For a setting of the server; at least 1, since 0 means without limit.
    var wholeMilliseconds: Int64 { max(1, clampedNanoseconds / 1_000_000) }
}
