import Synchronization

/// What becomes of connections to the public listener beside their requests.
public final class ConnectionCounts: MetricSource {
    private let open = Counter()
    private let refused = Counter()
    private let refusedForAddress = Counter()
    private let handshakesFailed = Counter()
    private let http2Failures = Counter()
    private let bufferedOctets = Atomic<Int>(0)

    public init() {}

    func opened() { open.add() }
    func closed() { open.add(-1) }
    func refusedOne() { refused.add() }
    func refusedOneForItsAddress() { refusedForAddress.add() }
    func http2Failed() { http2Failures.add() }
    func handshakeFailed() { handshakesFailed.add() }

    /// - Returns: How much it is now.
    func buffered(_ octets: Int) -> Int { bufferedOctets.wrappingAdd(octets, ordering: .relaxed).newValue }

    /// - Returns: Whether there is so much room; if not, nothing is counted, not for a moment either.
    func buffer(_ octets: Int, atMost limit: Int) -> Bool {
        var before = bufferedOctets.load(ordering: .relaxed)
        while before + octets <= limit {
            let (exchanged, original) = bufferedOctets.weakCompareExchange(
                expected: before, desired: before + octets, ordering: .relaxed)
            if exchanged { return true }
            before = original
        }
        return false
    }

    public var samples: [MetricSample] {
        [
            MetricSample("connections", "Connections to the public listener now.", .gauge, open.value),
            MetricSample(
                "connections_refused_total", "Connections closed at once: there were too many.", .counter, refused.value
            ),
            MetricSample(
                "connections_refused_for_address_total",
                "Connections closed at once: there were too many from one address.", .counter, refusedForAddress.value),
            MetricSample(
                "tls_handshakes_failed_total", "Handshakes that failed or took too long.", .counter,
                handshakesFailed.value),
            MetricSample(
                "http2_errors_total", "HTTP/2 connections ended by what their clients did.", .counter,
                http2Failures.value),
            MetricSample(
                "buffered_octets",
                "Unfinished requests and untaken answers of the public listener, beyond each connection's own 8 KiB.",
                .gauge, Int64(bufferedOctets.load(ordering: .relaxed))),
        ]
    }
}
