/// So many at once, and then one each interval: the generic cell rate algorithm, ITU-T I.371.
///
/// Over any span of time it admits at most the burst, and one more for each whole interval in the span.
public struct RateLimit: Sendable, Hashable {
    public let burst: Int
    public let interval: Duration

    /// - Parameters:
    ///   - burst: At least 1.
    ///   - interval: More than nothing.
    init(burst: Int, interval: Duration) {
        self.burst = burst
        self.interval = interval
    }

    /// `count` at once, and as many in each `period` from then on.
    /// - Parameters:
    ///   - count: At least 1.
    ///   - period: More than nothing.
    public init(_ count: Int, per period: Duration) {
        self.init(burst: count, interval: period / count)
    }

    /// - Parameter due: The state of one flow; `nil` at first.
    func admits(_ due: inout ContinuousClock.Instant?, at now: ContinuousClock.Instant) -> Bool {
        let next = max(due ?? now, now)
        guard now.duration(to: next) <= interval * (burst - 1) else { return false }
        due = next.advanced(by: interval)
        return true
    }
}

/// The same limit in nanoseconds since an arbitrary instant, for tables of many flows.
///
/// The state of a flow is one number: when it owes nothing again. Until then it is in debt; an instant that is past is
/// the state of whoever never asked.
struct FlowRule: Sendable {
    private let interval: Int64
    /// The debt that still admits one more.
    private let tolerance: Int64

    init(_ limit: RateLimit) {
        interval = min(max(1, limit.interval.nanoseconds), Self.longest)
        let (product, overflow) = interval.multipliedReportingOverflow(by: Int64(max(0, limit.burst - 1)))
        // A century is for ever, and leaves room for sums.
        tolerance = overflow ? Self.longest : min(product, Self.longest)
    }

    private static let longest: Int64 = 100 * 366 * 86_400 * 1_000_000_000

    /// Nanoseconds until the flow is admitted again; 0 if it is now.
    func wait(due: Int64, at now: Int64) -> Int64 { max(0, due - now - tolerance) }

    /// Admits one, or says how long to wait.
    func charge(_ due: inout Int64, at now: Int64) -> Int64 {
        let wait = wait(due: due, at: now)
        if wait == 0 { due = max(due, now) + interval }
        return wait
    }
}

extension Duration {
    /// Whole nanoseconds; saturates.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overflowsToo) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || overflowsToo ? .max : sum
    }
}
