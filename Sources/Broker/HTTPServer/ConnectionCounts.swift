import Synchronization

/// What becomes of connections to the public listener beside their requests.
package final class ConnectionCounts: Sendable {
    package let open = Counter()
    package let refused = Counter()
    package let refusedForAddress = Counter()
    package let handshakesFailed = Counter()
    package let http2Failures = Counter()
    private let held = Atomic<Int>(0)

    package init() {}

    func opened() { open.add(1) }
    func closed() { open.add(-1) }
    func refusedOne() { refused.add(1) }
    func refusedOneForItsAddress() { refusedForAddress.add(1) }
    func http2Failed() { http2Failures.add(1) }
    func handshakeFailed() { handshakesFailed.add(1) }

    /// - Returns: How much it is now.
    func buffered(_ octets: Int) -> Int { held.wrappingAdd(octets, ordering: .relaxed).newValue }

    /// - Returns: Whether there is so much room; if not, nothing is counted, not for a moment either.
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

    /// Octets of unfinished requests and untaken answers, beyond each connection's own 8 KiB.
    package var bufferedOctets: Int { held.load(ordering: .relaxed) }
}

/// A number that many threads change at once.
package final class Counter: Sendable {
    private let count = Atomic<Int64>(0)

    package init() {}

    package var value: Int64 { count.load(ordering: .relaxed) }

    package func add(_ amount: Int64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
}
