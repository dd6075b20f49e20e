@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOCore
import StrictCoding
import Testing

@Suite("Malicious HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2AbuseTests {
    private static let head = RawFrame.block(FrameClient.goodHead)
    private static let begin = RawFrame(.headers, flags: RawFrame.endHeaders, stream: 1, head).octets

    private static let ping = RawFrame(.ping, [UInt8](repeating: 1, count: 8)).octets

    private static func flood(_ frame: RawFrame, _ count: Int = 20_000) -> [UInt8] {
        Array(repeatElement(frame.octets, count: count).joined())
    }

    private static let rapidResets: [UInt8] = (0..<2000).flatMap { index -> [UInt8] in
        let stream = UInt32(2 * index + 1)
        return RawFrame(.headers, flags: RawFrame.endHeaders, stream: stream, head).octets
            + RawFrame(.reset, stream: stream, [0, 0, 0, 8]).octets
    }

    /// A literal with indexing, then its index many times.
    private static let compressedHeader: [UInt8] = {
        var literal = RawFrame.block([("x-large", String(repeating: "a", count: 4000))])
        literal[0] = 0x40
        let block = head + literal + [UInt8](repeating: 0xBE, count: 1000)
        return RawFrame(.headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: 1, block).octets
    }()

    private static let floods: [(name: String, octets: [UInt8])] = [
        ("H-30 rapid resets, CVE-2023-44487", rapidResets),
        (
            "an endless header block, CVE-2024-27316",
            RawFrame(.headers, stream: 1, head).octets
                + flood(RawFrame(.continuation, stream: 1, RawFrame.block([("x", "y")])), 1000)
        ),
        ("fields that are small only while compressed", compressedHeader),
        ("pings, CVE-2019-9512", begin + flood(RawFrame(.ping, [UInt8](repeating: 1, count: 8)))),
        ("settings, CVE-2019-9515", begin + flood(RawFrame(.settings))),
        ("priorities, CVE-2019-9513", begin + flood(RawFrame(.priority, stream: 1, [0, 0, 0, 0, 1]))),
        ("empty data, CVE-2019-9518", begin + flood(RawFrame(.data, stream: 1))),
        ("windows of the connection", begin + flood(RawFrame(.windowUpdate, [0, 0, 0, 1]))),
        ("windows of a stream", begin + flood(RawFrame(.windowUpdate, stream: 1, [0, 0, 0, 1]))),
    ]

    @Test("Floods of frames, and header fields over the limit, end their own connection alone")
    func floods() async throws {
        try await HTTP2Tests.withBroker { broker, client, certificate async throws in
            for (index, flood) in Self.floods.enumerated() {
                try await FrameClient.connect(to: broker.ports.public, certificate) { attacker async throws in
                    await attacker.trySend(flood.octets)
                    #expect(await attacker.isEnded(), "\(flood.name)")
                }
                let stream = UInt32(2 * index + 1)
                try await client.post(Requests.exchangeBody, on: stream)
                #expect(try await client.answer(stream)?.status == 200, "\(flood.name)")
            }
        }
    }

    /// Fields beside those of a good request, and its body, if that comes, too.
    static let answeredAtOnce: [(String, [(String, String)], String?)] = [
        ("an answer at the end of the request", [], "grant_type=password"),
        ("an answer to the head", [("expect", "the worst")], nil),
        ("an interim answer", [("expect", "100-continue")], nil),
    ]

    /// Behind a proxy, the other streams belong to other clients.
    @Test(
        "A stream answered and reset in one packet ends no other stream", arguments: answeredAtOnce)
    func takenBack(_ row: (name: String, fields: [(String, String)], body: String?)) async throws {
        let gate = Gate()
        let head = RawFrame.block(FrameClient.goodHead + row.fields)
        let frames = [
            RawFrame(.headers, flags: RawFrame.endHeaders, stream: 3, head),
            row.body.map { RawFrame(.data, flags: RawFrame.endStream, stream: 3, Array($0.utf8)) },
            RawFrame(.reset, stream: 3, [0, 0, 0, 8]),
        ].compactMap(\.self)
        try await HTTP2Tests.withBroker(gate: gate) { broker, client, _ async throws in
            try await client.post(Requests.exchangeBody, on: 1)
            await gate.arrivals(1)
            try await client.send(frames.flatMap(\.octets))
            try await client.post("grant_type=password", on: 5)
            #expect(try await client.answer(5)?.status == 400, "\(row.name)")
            gate.open()
            #expect(try await client.answer(1)?.status == 200, "\(row.name)")
            #expect(broker.metrics.text.contains("native_sso_http2_errors_total 0\n"), "\(row.name)")
        }
    }

    @Test("After a connection error the broker processes no more requests")
    func afterError() async throws {
        try await HTTP2Tests.withBroker(ListenerLimits(lingerTimeout: .seconds(1))) {
            broker, client, _ async throws in
            let head = RawFrame.block(FrameClient.goodHead)
            try await client.send(
                RawFrame(.headers, flags: RawFrame.endHeaders, stream: 1, head),
                // An invalid value of ENABLE_PUSH, which is 0 or 1.
                RawFrame(.settings, [0, 2, 0, 0, 0, 2]),
                RawFrame(.data, flags: RawFrame.endStream, stream: 1, Array("grant_type=password".utf8)))
            #expect(await client.frame(.goAway) != nil)
            try await client.send(
                RawFrame(.headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: 3, head))
            #expect(await client.frame(.headers) == nil)
            #expect(broker.log.requests.isEmpty)
        }
    }

    @Test("A flood of WINDOW_UPDATE ends with ENHANCE_YOUR_CALM; 16 of them beside each request do not")
    func windowUpdates() async throws {
        try await HTTP2Tests.withBroker { broker, client, _ async throws in
            let update = RawFrame(.windowUpdate, [0, 0, 0, 1]).octets
            for index in 0..<30 {
                try await client.send(Array(repeatElement(update, count: 16).joined()))
                try await client.post("grant_type=password", on: UInt32(2 * index + 1))
                #expect(try await client.answer(UInt32(2 * index + 1))?.status == 400)
            }
            #expect(broker.metrics.text.contains("native_sso_http2_errors_total 0\n"))
            await client.trySend(Array(repeatElement(update, count: 201).joined()))
            #expect(await client.frame(.goAway)?.payload.suffix(4) == [0, 0, 0, 0xB])
            #expect(await client.isEnded())
            #expect(broker.metrics.text.contains("native_sso_http2_errors_total 1\n"))
        }
    }

    @Test("Too many concurrent streams end the connection")
    func tooManyStreams() async throws {
        try await HTTP2Tests.withBroker(ListenerLimits(streams: 2)) { broker, client, _ async throws in
            // The limit applies from here on; until then it is 100.
            #expect(await client.frame(.settings) != nil)
            try await client.send(RawFrame(.settings, flags: 0x1))
            for stream: UInt32 in [1, 3, 5] { try await client.begin(stream) }
            #expect(await client.isEnded())
            #expect(broker.log.requests.isEmpty)
        }
    }

    @Test(
        "Malformed HTTP/2 ends the connection",
        arguments: [
            Array("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n".utf8),
            RawFrame.preface + Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8),
            RawFrame.preface + RawFrame(.settings, stream: 7).octets,
            RawFrame.preface + RawFrame(.settings).octets + RawFrame(.headers, flags: 4, stream: 2, [0x82]).octets,
            RawFrame.preface + RawFrame(.settings).octets + RawFrame(.data, stream: 9, [1]).octets,
            RawFrame.preface + RawFrame(.settings).octets + RawFrame(.windowUpdate, [0, 0, 0, 0]).octets,
            RawFrame.preface + RawFrame(.settings).octets
                + RawFrame(.headers, flags: 4, stream: 1, [0xFF, 0xFF]).octets,
        ])
    func nonsense(_ octets: [UInt8]) async throws {
        let certificate = try TestCertificate.current()
        let options = TestBroker.Options(identity: try CurrentTLSIdentity(certificate))
        try await TestBroker.run(options) { broker async throws in
            try await FrameClient.connect(to: broker.ports.public, certificate, starts: false) {
                client async throws in
                await client.trySend(octets)
                #expect(await client.isEnded())
            }
            #expect(broker.log.requests.isEmpty)
        }
    }

    @Test(
        "An unfinished frame or header block ends the connection at the timeout; a ping does not keep an idle one open",
        arguments: [
            [], ping, [0, 0], RawFrame(.headers, stream: 1, RawFrame.block(FrameClient.goodHead)).octets,
            Array(RawFrame(.headers, flags: 4, stream: 1, RawFrame.block(FrameClient.goodHead)).octets.dropLast()),
        ] as [[UInt8]])
    func slowHeaders(_ octets: [UInt8]) async throws {
        // With nothing begun, the limit for idle connections applies.
        let isIdle = octets.isEmpty || octets == Self.ping
        let limits = ListenerLimits(
            headerTimeout: isIdle ? .minutes(1) : .milliseconds(200),
            idleTimeout: isIdle ? .milliseconds(200) : .minutes(1))
        try await HTTP2Tests.withBroker(limits) { broker, client, certificate async throws in
            try await client.send(octets)
            #expect(await client.isEnded())
            try await FrameClient.connect(to: broker.ports.public, certificate) { other async throws in
                try await other.post(Requests.exchangeBody, on: 1)
                #expect(try await other.answer(1)?.status == 200)
            }
        }
    }

    @Test("A body that is too slow is answered, and other streams continue")
    func slowBody() async throws {
        let limits = ListenerLimits(bodyTimeout: .milliseconds(200))
        try await HTTP2Tests.withBroker(limits) { broker, client, _ async throws in
            try await client.begin(1)
            try await client.send(RawFrame(.data, stream: 1, [97]))
            #expect(try await client.answer(1)?.status == 408)
            try await client.post(Requests.exchangeBody, on: 3)
            #expect(try await client.answer(3)?.status == 200)
            #expect(broker.log.requests.first?.string("reason") == "http_body_timeout")
        }
    }

    @Test("An answer without a flow-control window is dropped at the timeout")
    func noWindow() async throws {
        let limits = ListenerLimits(writeTimeout: .milliseconds(200))
        try await HTTP2Tests.withBroker(limits) { broker, client, _ async throws in
            // SETTINGS_INITIAL_WINDOW_SIZE 0.
            try await client.send(RawFrame(.settings, [0, 4, 0, 0, 0, 0]))
            try await client.post(Requests.exchangeBody, on: 1)
            let reset = try #require(await client.frame(.reset))
            #expect(reset.stream == 1)
        }
    }
}
