import Synchronization

/// Counts of a listener's connections, for the metrics.
package final class ConnectionCounts: Sendable {
    package let open = Counter()
    package let refused = Counter()
    package let refusedForAddress = Counter()
    package let handshakesRefused = Counter()
    package let handshakesFailed = Counter()
    package let http2Failures = Counter()
    private let held = Atomic<Int>(0)

    package init() {}

    /// - Returns: The octets that are held after the change.
    func buffered(_ octets: Int) -> Int { held.wrappingAdd(octets, ordering: .relaxed).newValue }

    /// - Returns: Whether there is room. If not, the count never changes, not even for a moment.
    func buffer(_ octets: Int, atMost limit: Int) -> Bool {
        var before = held.load(ordering: .relaxed)
        while before + octets <= limit {
            let (exchanged, original) = held.weakCompareExchange(
                expected: before, desired: before + octets, ordering: .relaxed)
            if exchanged { return true }
            before = original
        }
        return false
    }

    /// Octets of unfinished requests and of answers that clients have not taken, beyond each connection's own 8 KiB.
    package var bufferedOctets: Int { held.load(ordering: .relaxed) }
}

/// A number that many threads change.
package final class Counter: Sendable {
    private let count = Atomic<Int64>(0)

    package init() {}

    package var value: Int64 { count.load(ordering: .relaxed) }

    package func add(_ amount: Int64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
}
