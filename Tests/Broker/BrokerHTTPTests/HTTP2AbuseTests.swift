@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOCore
import StrictCoding
import Testing

@Suite("Malicious HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2AbuseTests {
    /// The broker closes the connection and still serves others.
    private func expectEnd(
        _ limits: ListenerLimits = ListenerLimits(), _ attack: (FrameClient) async throws -> Void
    ) async throws {
        try await HTTP2Tests.withBroker(limits) { broker, client, certificate async throws in
            try await attack(client)
            #expect(await client.isEnded())
            try await FrameClient.connect(to: broker.ports.public, certificate) { other async throws in
                try await other.post(Requests.exchangeBody, on: 1)
                #expect(try await other.answer(1)?.status == 200)
            }
        }
    }

    @Test("H-30 rapid stream resets end the connection (CVE-2023-44487)")
    func rapidReset() async throws {
        try await expectEnd { client async throws in
            var octets: [UInt8] = []
            for index in 0..<2000 {
                let stream = UInt32(2 * index + 1)
                let head = RawFrame.block(FrameClient.goodHead)
                octets += RawFrame(.headers, flags: RawFrame.endHeaders, stream: stream, head).octets
                octets += RawFrame(.reset, stream: stream, [0, 0, 0, 8]).octets
            }
            await client.trySend(octets)
        }
    }

    static let answeredAtOnce: [(String, [RawFrame])] = [
        (
            "an answer at the end of the request",
            [
                RawFrame(.headers, flags: RawFrame.endHeaders, stream: 3, RawFrame.block(FrameClient.goodHead)),
                RawFrame(.data, flags: RawFrame.endStream, stream: 3, Array("grant_type=password".utf8)),
            ]
        ),
        (
            "an answer to the head",
            [
                RawFrame(
                    .headers, flags: RawFrame.endHeaders, stream: 3,
                    RawFrame.block(FrameClient.goodHead + [("expect", "the worst")]))
            ]
        ),
        (
            "an interim answer",
            [
                RawFrame(
                    .headers, flags: RawFrame.endHeaders, stream: 3,
                    RawFrame.block(FrameClient.goodHead + [("expect", "100-continue")]))
            ]
        ),
    ]

    /// Behind a proxy, the other streams belong to other clients.
    @Test(
        "A stream answered and reset in one packet ends no other stream", arguments: answeredAtOnce)
    func takenBack(_ row: (name: String, frames: [RawFrame])) async throws {
        let gate = Gate()
        try await HTTP2Tests.withBroker(gate: gate) { broker, client, _ async throws in
            try await client.post(Requests.exchangeBody, on: 1)
            await gate.arrivals(1)
            try await client.send(row.frames.flatMap(\.octets) + RawFrame(.reset, stream: 3, [0, 0, 0, 8]).octets)
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

    @Test("An endless header block in many frames ends the connection (CVE-2024-27316)")
    func continuations() async throws {
        try await expectEnd { client async throws in
            let head = RawFrame.block(FrameClient.goodHead)
            let more = RawFrame(.continuation, stream: 1, RawFrame.block([("x", "y")])).octets
            await client.trySend(
                RawFrame(.headers, stream: 1, head).octets + Array(repeatElement(more, count: 1000).joined()))
        }
    }

    @Test("Header fields over the limit end the connection, even if compressed")
    func headerBomb() async throws {
        try await expectEnd { client async throws in
            let large = [("x-large", String(repeating: "a", count: 4000))]
            // A literal with indexing, then its index many times.
            var block = RawFrame.block(FrameClient.goodHead)
            var literal = RawFrame.block(large)
            literal[0] = 0x40
            block += literal + [UInt8](repeating: 0xBE, count: 1000)
            await client.trySend(
                RawFrame(.headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: 1, block).octets)
        }
    }

    @Test(
        "Frame floods end the connection (CVE-2019-9512, 9515, 9513, 9518), also of WINDOW_UPDATE",
        arguments: [
            RawFrame(.ping, [UInt8](repeating: 1, count: 8)), RawFrame(.settings),
            RawFrame(.priority, stream: 1, [0, 0, 0, 0, 1]), RawFrame(.data, stream: 1),
            RawFrame(.windowUpdate, [0, 0, 0, 1]), RawFrame(.windowUpdate, stream: 1, [0, 0, 0, 1]),
        ])
    func floods(_ frame: RawFrame) async throws {
        try await expectEnd { client async throws in
            let head = RawFrame.block(FrameClient.goodHead)
            await client.trySend(
                RawFrame(.headers, flags: RawFrame.endHeaders, stream: 1, head).octets
                    + Array(repeatElement(frame.octets, count: 20_000).joined()))
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
            let head = RawFrame.block(FrameClient.goodHead)
            // The limit applies from here on; until then it is 100.
            #expect(await client.frame(.settings) != nil)
            try await client.send(RawFrame(.settings, flags: 0x1))
            for stream: UInt32 in [1, 3, 5] {
                try await client.send(RawFrame(.headers, flags: RawFrame.endHeaders, stream: stream, head))
            }
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
        "An unfinished frame or header block ends the connection at the timeout",
        arguments: [
            [], [0, 0], RawFrame(.headers, stream: 1, RawFrame.block(FrameClient.goodHead)).octets,
            Array(RawFrame(.headers, flags: 4, stream: 1, RawFrame.block(FrameClient.goodHead)).octets.dropLast()),
        ] as [[UInt8]])
    func slowHeaders(_ octets: [UInt8]) async throws {
        // With nothing begun, the limit for idle connections applies.
        let limits = ListenerLimits(
            headerTimeout: octets.isEmpty ? .minutes(1) : .milliseconds(200),
            idleTimeout: octets.isEmpty ? .milliseconds(200) : .minutes(1))
        try await expectEnd(limits) { client async throws in try await client.send(octets) }
    }

    /// HPACK has no such field, so nothing after it can be decoded.
    @Test("A field without a name ends the connection")
    func fieldWithoutName() async throws {
        try await expectEnd { client async throws in
            await client.trySend(
                RawFrame(
                    .headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: 1,
                    RawFrame.block(FrameClient.goodHead + [("", "a")])
                ).octets)
        }
    }

    @Test("Pings do not keep an idle connection open")
    func pings() async throws {
        try await expectEnd(ListenerLimits(idleTimeout: .milliseconds(200))) { client async throws in
            try await client.send(RawFrame(.ping, [UInt8](repeating: 1, count: 8)))
        }
    }

    @Test("A body that is too slow is answered, and other streams continue")
    func slowBody() async throws {
        let limits = ListenerLimits(bodyTimeout: .milliseconds(200))
        try await HTTP2Tests.withBroker(limits) { broker, client, _ async throws in
            try await client.send(
                RawFrame(.headers, flags: RawFrame.endHeaders, stream: 1, RawFrame.block(FrameClient.goodHead)),
                RawFrame(.data, stream: 1, [97]))
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
