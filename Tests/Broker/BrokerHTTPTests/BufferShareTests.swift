@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOCore
import StrictCoding
import Testing

@Suite("The memory of all connections", .timeLimit(.minutes(1)))
struct BufferShareTests {
    @Test("Each connection has some memory of its own; beyond it, all share one pool")
    func shares() {
        let counts = ConnectionCounts()
        do {
            let (one, other) = (BufferShare(counts, limit: 1000), BufferShare(counts, limit: 1000))
            #expect(one.take(BufferShare.own + 900))
            #expect(counts.buffered(0) == 900)
            #expect(other.take(BufferShare.own))
            #expect(!other.take(101))
            #expect(counts.buffered(0) == 900)
            #expect(other.take(100))
            // An answer is kept beyond the limit. Then no connection gets more.
            other.takeInAnyCase(50)
            #expect(counts.buffered(0) == 1050)
            #expect(!one.take(1))
            other.giveBack(BufferShare.own + 150)
            #expect(counts.buffered(0) == 900)
            one.giveBack(100)
            #expect(counts.buffered(0) == 800)
        }
        // A connection gives back its part when it ends.
        #expect(counts.buffered(0) == 0)
    }

    private static func head(_ length: Int) -> String {
        "POST /token HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n"
            + "Content-Length: \(length)\r\n\r\n"
    }

    /// The broker counts on its own threads.
    private func wait(_ broker: TestBroker, until isSo: (Int) -> Bool) async throws {
        while !isSo(broker.connections.buffered(0)) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    @Test("Unfinished bodies keep out other large bodies, but no ordinary request")
    func bodies() async throws {
        let large = [UInt8](repeating: 97, count: 40_000)
        try await TestBroker.run(TestBroker.Options(limits: ListenerLimits(bufferedOctets: 60_000))) {
            broker async throws in
            try await RawClient.connect(to: broker.ports.public) { greedy async throws in
                try await greedy.send(Self.head(40_001))
                try await greedy.send(large)
                // 64 KiB of storage and 171 octets of the head, 8 KiB of it the connection's own.
                try await wait(broker) { $0 == 56 * 1024 + 171 }
                try await RawClient.connect(to: broker.ports.public) { other async throws in
                    try await other.send(Self.head(40_000))
                    await other.trySend(String(decoding: large, as: UTF8.self))
                    let answer = try #require(try await other.answer())
                    #expect(answer.status == 503 && answer.closes)
                    #expect(answer.values("retry-after") == ["1"])
                    #expect(answer.error == "temporarily_unavailable")
                }
                #expect(broker.log.requests.map { $0.string("reason") } == ["http_body_memory"])
                #expect(broker.metrics.text.contains("native_sso_buffered_octets 57515\n"))
                #expect(broker.metrics.text.contains(#"native_sso_refusals_total{reason="http_body_memory"} 1"# + "\n"))
                #expect(try await broker.answer(Requests.exchange)?.status == 200)
                // The complete request is answered on its merits, and its memory is free.
                try await greedy.send("=")
                #expect(try await greedy.answer()?.error == "invalid_request")
                try await wait(broker) { $0 == 0 }
            }
            let answer = try await broker.answer(Self.head(40_000) + String(decoding: large, as: UTF8.self))
            #expect(answer?.status == 400)
        }
    }

    @Test("The streams of a connection share its memory, and a reset stream frees its part")
    func streams() async throws {
        let large = [("x-large", String(repeating: "a", count: 12_000))]
        let data = [UInt8](repeating: 97, count: 10_000)
        for (more, body, kept) in [
            // Of the body, and of the head: its target, and each field with 32 octets more.
            ([], data, 8 * 1024 + 135), (large, [], 135 + 12_039 - BufferShare.own),
        ] as [([(String, String)], [UInt8], Int)] {
            try await HTTP2Tests.withBroker(ListenerLimits(bufferedOctets: 10_000)) { broker, client, _ async throws in
                for stream: UInt32 in [1, 3] {
                    try await client.begin(stream, more)
                    if !body.isEmpty { try await client.send(RawFrame(.data, stream: stream, body)) }
                }
                #expect(try await client.answer(3)?.status == 503)
                #expect(broker.log.requests.map { $0.string("reason") } == ["http_body_memory"])
                try await wait(broker) { $0 == kept }
                try await client.send(RawFrame(.reset, stream: 1, RawFrame.big(8)))
                try await wait(broker) { $0 == 0 }
                try await client.post(Requests.exchangeBody, on: 5)
                #expect(try await client.answer(5)?.status == 200)
            }
        }
    }

    @Test("A body that is refused for memory takes none from other connections")
    func refusedTakes() async {
        let counts = ConnectionCounts()
        let refused = await withTaskGroup { group in
            for _ in 0..<4 {
                group.addTask { (0..<20_000).count { _ in counts.buffer(1001, atMost: 1000) } }
                group.addTask {
                    (0..<20_000).count { _ in
                        guard counts.buffer(100, atMost: 1000) else { return true }
                        _ = counts.buffered(-100)
                        return false
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(refused == 0)
    }

    @Test("A body counts until its request is answered, even if its stream is reset")
    func bodyOfAResetStream() async throws {
        let gate = Gate()
        try await HTTP2Tests.withBroker(ListenerLimits(bufferedOctets: 60_000), gate: gate) {
            broker, client, _ async throws in
            let padding = (0..<14).map { "&x\($0)=" + String(repeating: "a", count: 1000) }
            let body = Requests.exchangeBody + padding.joined()
            // Two together, so that the second is not the first of the connection.
            try await client.post(Requests.exchangeBody, on: 1)
            try await client.post(body, on: 3)
            await gate.arrivals(2)
            let taken = broker.connections.buffered(0)
            #expect(taken >= 8 * 1024)
            try await client.send(
                RawFrame(.reset, stream: 3, RawFrame.big(8)), RawFrame(.ping, Array("12345678".utf8)))
            // The answer to the ping follows the effects of the reset.
            #expect(await client.frame(.ping) != nil)
            #expect(broker.connections.buffered(0) == taken)
            gate.open()
            try await wait(broker) { $0 == 0 }
        }
    }

    @Test("Unread answers count until their connection is cut off")
    func answers() async throws {
        let gate = Gate()
        try await HTTP2Tests.withBroker(ListenerLimits(writeTimeout: .milliseconds(300), streams: 32), gate: gate) {
            broker, client, _ async throws in
            // No window for any answer: SETTINGS_INITIAL_WINDOW_SIZE is 0.
            try await client.send(RawFrame(.settings, [0, 4] + RawFrame.big(0)))
            for stream: UInt32 in stride(from: 1, to: 64, by: 2) {
                try await client.post(Requests.exchangeBody, on: stream)
            }
            await gate.arrivals(32)
            gate.open()
            try await wait(broker) { $0 > 0 }
            try await wait(broker) { $0 == 0 }
        }
    }
}
