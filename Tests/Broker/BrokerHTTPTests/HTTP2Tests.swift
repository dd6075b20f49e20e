@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOCore
import NativeSSO
import NIOHPACK
import StrictCoding
import Testing

@Suite("HTTP/2", .timeLimit(.minutes(1)))
struct HTTP2Tests {
    static func withBroker(
        _ limits: ListenerLimits = ListenerLimits(), gate: Gate? = nil,
        _ body: (TestBroker, FrameClient, TestCertificate) async throws -> Void
    ) async throws {
        let certificate = try TestCertificate.current()
        let options = TestBroker.Options(limits: limits, identity: try CurrentTLSIdentity(certificate), gate: gate)
        try await TestBroker.run(options) { broker async throws in
            try await FrameClient.connect(to: broker.ports.public, certificate) { client async throws in
                try await body(broker, client, certificate)
            }
        }
    }

    @Test("A Host that equals the authority says nothing else, and the answer has no connection-specific fields")
    func exchange() async throws {
        try await Self.withBroker { _, client, _ async throws in
            let head = FrameClient.goodHead + [("host", "sso.example.test")]
            try await client.post(Requests.exchangeBody, on: 1, head: head)
            let answer = try #require(try await client.answer(1))
            #expect(answer.status == 200 && !answer.fields.contains(name: "connection"))
            #expect(answer.fields["content-length"] == [String(answer.body.count)])
        }
    }

    static let heads: [(String, [(String, String)], String)] = [
        ("an empty authority", changed(":authority", ""), "http_host"),
        ("an authority with userinfo", changed(":authority", "user@sso.example.test"), "http_host"),
        ("two hosts", changed(":authority", nil) + [("host", "a"), ("host", "b")], "http_host"),
        ("another scheme", changed(":scheme", "ftp"), "http_malformed"),
        ("a value that begins with a space", FrameClient.goodHead + [("x-a", " a")], "http_malformed"),
        ("a value that ends with a tab", FrameClient.goodHead + [("x-a", "a\t")], "http_malformed"),
    ]

    private static func changed(_ name: String, _ value: String?) -> [(String, String)] {
        FrameClient.goodHead.compactMap { field in
            field.0 == name ? value.map { (name, $0) } : field
        }
    }

    @Test("HTTP/2 heads follow the rules of HTTP/1.1", arguments: heads)
    func rules(_ row: (name: String, head: [(String, String)], reason: String)) async throws {
        try await Self.withBroker { broker, client, _ async throws in
            try await client.post("a=b", on: 1, head: row.head)
            #expect(try await client.answer(1)?.status == 400, "\(row.name)")
            #expect(broker.log.requests.map { $0.string("reason") } == [row.reason])
            // The connection still works.
            try await client.post(Requests.exchangeBody, on: 3)
            #expect(try await client.answer(3)?.status == 200)
        }
    }

    private static let malformed: [(String, String)] = [
        ("Content-Type", "a"), ("te", "gzip"), ("x-a", "a\r\nb: c"), (":path", "/token"), (":status", "200"),
        (":made-up", "a"), ("content-length", "2"), ("content-length", "9999"),
    ]
    static let malformedHeads: [[(String, String)]] =
        [changed(":method", nil), changed(":method", nil) + [(":method", "POST")]]
        + malformed.map { FrameClient.goodHead + [$0] }

    /// Behind a proxy, the streams of one connection belong to many clients.
    @Test("A malformed request ends only its own stream", arguments: malformedHeads)
    func forbidden(_ head: [(String, String)]) async throws {
        try await Self.withBroker { broker, client, _ async throws in
            try await client.post(Requests.exchangeBody, on: 1, head: head)
            await Self.expectReset(client, 1)
            try await client.post(Requests.exchangeBody, on: 3)
            #expect(try await client.answer(3)?.status == 200)
            Self.expectMalformed(1, broker)
            #expect(broker.metrics.text.contains("native_sso_http2_errors_total 1\n"))
        }
    }

    private static func expectReset(_ client: FrameClient, _ stream: UInt32) async {
        let reset = await #expect(throws: FrameClient.Reset.self) { try await client.answer(stream) }
        #expect(reset?.code == 1)  // PROTOCOL_ERROR
    }

    /// Each in the log, with its own request id.
    private static func expectMalformed(_ count: Int, _ broker: TestBroker) {
        let lines = broker.log.requests.filter { $0.string("reason") == "http_malformed" }
        #expect(lines.count == count)
        #expect(Set(lines.compactMap { $0.string("request_id") }).count == count)
        #expect(broker.metrics.text.contains(#"native_sso_refusals_total{reason="http_malformed"} \#(count)"# + "\n"))
    }

    @Test("Malformed requests leave others alone; too many end the connection")
    func manyMalformed() async throws {
        let gate = Gate()
        try await Self.withBroker(gate: gate) { broker, client, _ async throws in
            try await client.post(Requests.exchangeBody, on: 1)
            await gate.arrivals(1)
            #expect(broker.metrics.text.contains("native_sso_requests_in_flight 1\n"))
            for stream: UInt32 in [3, 5] {
                try await client.post("a=b", on: stream, head: FrameClient.goodHead + [("connection", "close")])
                await Self.expectReset(client, stream)
            }
            gate.open()
            #expect(try await client.answer(1)?.status == 200)
            for stream in stride(from: UInt32(7), to: 107, by: 2) {
                await client.trySend(
                    RawFrame(
                        .headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: stream,
                        RawFrame.block(FrameClient.goodHead + [("connection", "close")])
                    ).octets)
            }
            #expect(await client.isEnded())
        }
    }

    @Test("Fields after the body are refused")
    func trailers() async throws {
        try await Self.withBroker { broker, client, _ async throws in
            try await client.begin(1)
            try await client.send(
                RawFrame(.data, stream: 1, Array(Requests.exchangeBody.utf8)),
                RawFrame(
                    .headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: 1,
                    RawFrame.block([("authorization", "Basic YXBwLXR3bzo=")])))
            #expect(try await client.answer(1)?.status == 400)
            #expect(broker.log.requests.map { $0.string("reason") } == ["http_trailers"])
        }
    }

    @Test("A body over the limit is refused early, and its stream is reset")
    func largeBody() async throws {
        let limits = ListenerLimits(bodySize: 1000, streamLingerTimeout: .milliseconds(50))
        try await Self.withBroker(limits) { broker, client, _ async throws in
            try await client.begin(1)
            try await client.send(RawFrame(.data, stream: 1, [UInt8](repeating: 97, count: 1001)))
            #expect(try await client.answer(1)?.status == 413)
            let reset = try #require(await client.frame(.reset))
            #expect(reset.stream == 1 && reset.payload == [0, 0, 0, 0])
            // At once, if the header states the length.
            try await client.begin(3, [("content-length", "1001")])
            #expect(try await client.answer(3)?.status == 413)
            try await client.post("grant_type=password", on: 5)
            #expect(try await client.answer(5)?.status == 400)
        }
    }

    /// Behind a proxy, the other streams belong to other clients.
    @Test("Late frames for an answered stream end no other stream")
    func moreAfterAnswer() async throws {
        let gate = Gate()
        let limits = ListenerLimits(streamLingerTimeout: .seconds(30))
        try await Self.withBroker(limits, gate: gate) { broker, client, _ async throws in
            try await client.post(Requests.exchangeBody, on: 1)
            await gate.arrivals(1)
            try await client.begin(3, [("expect", "the worst")])
            #expect(try await client.answer(3)?.status == 417)
            try await client.send(
                RawFrame(.data, stream: 3, Array("a=b".utf8)),
                RawFrame(
                    .headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: 3, RawFrame.block([("x", "y")])))
            try await client.post("grant_type=password", on: 5)
            #expect(try await client.answer(5)?.status == 400)
            gate.open()
            #expect(try await client.answer(1)?.status == 200)
            #expect(broker.metrics.text.contains("native_sso_http2_errors_total 0\n"))
        }
    }

    @Test("A client that expects 100 Continue receives it")
    func expectation() async throws {
        try await Self.withBroker { broker, client, _ async throws in
            try await client.begin(1, [("expect", "100-continue")])
            #expect(await client.frame(.headers)?.stream == 1)
            try await client.end(1, Requests.exchangeBody)
            #expect(await client.frame(.data)?.flags == RawFrame.endStream)
        }
    }

    @Test("A stop answers the requests it has and announces that it takes no more")
    func stop() async throws {
        let gate = Gate()
        try await Self.withBroker(gate: gate) { broker, client, _ async throws in
            try await client.post(Requests.exchangeBody, on: 1)
            await gate.arrivals(1)
            await broker.stop()
            #expect(await client.frame(.goAway)?.payload.prefix(4) == [0x7F, 0xFF, 0xFF, 0xFF])
            #expect(await client.frame(.goAway)?.payload == [0, 0, 0, 1, 0, 0, 0, 0])
            gate.open()
            let answer = try await client.answer(1)
            #expect(answer?.status == 200)
            #expect(await client.isEnded())
        }
    }

    /// Stops the broker while the body of stream 1 is still to come, and reads the first GOAWAY.
    private static func stopAwaitingBody(_ broker: TestBroker, _ client: FrameClient) async throws {
        try await client.begin(1)
        try await client.ping()
        await broker.stop()
        #expect(await client.frame(.goAway)?.payload.prefix(4) == [0x7F, 0xFF, 0xFF, 0xFF])
    }

    @Test("A request in transit when the stop is announced is answered, even without its body yet")
    func onItsWayAtStop() async throws {
        let limits = ListenerLimits(bodyTimeout: .seconds(30), idleGrace: .seconds(30))
        try await Self.withBroker(limits) { broker, client, _ async throws in
            try await Self.stopAwaitingBody(broker, client)
            try await client.post(Requests.exchangeBody, on: 3)
            #expect(try await client.answer(3)?.status == 200)
            try await client.end(1, "grant_type=password")
            #expect(try await client.answer(1)?.status == 400)
            #expect(broker.metrics.text.contains("native_sso_http2_errors_total 0\n"))
        }
    }

    @Test("A stream that opens too late is ignored and ends no request")
    func tooLateAtStop() async throws {
        let limits = ListenerLimits(bodyTimeout: .seconds(30), idleGrace: .milliseconds(1))
        try await Self.withBroker(limits) { broker, client, _ async throws in
            try await Self.stopAwaitingBody(broker, client)
            #expect(await client.frame(.goAway)?.payload == [0, 0, 0, 1, 0, 0, 0, 0])
            try await client.post(Requests.exchangeBody, on: 3)
            let incomplete = RawFrame.block([(":method", "POST")])
            try await client.send(
                RawFrame(.headers, flags: RawFrame.endHeaders | RawFrame.endStream, stream: 5, incomplete))
            try await client.begin(7)
            try await client.send(RawFrame(.reset, stream: 7, [0, 0, 0, 8]))
            try await client.end(1, "grant_type=password")
            #expect(try await client.answer(1)?.status == 400)
            #expect(await client.isEnded())
            #expect(broker.log.requests.count == 1)
            #expect(broker.metrics.text.contains("native_sso_http2_errors_total 0\n"))
        }
    }

    @Test("An error during a stop ends the connection soon, even while a body is awaited")
    func errorAtStop() async throws {
        let limits = ListenerLimits(
            bodyTimeout: .hours(1), lingerTimeout: .milliseconds(50), idleGrace: .milliseconds(1))
        try await Self.withBroker(limits) { broker, client, _ async throws in
            try await Self.stopAwaitingBody(broker, client)
            #expect(await client.frame(.goAway)?.payload == [0, 0, 0, 1, 0, 0, 0, 0])
            try await client.send(RawFrame(.settings, [0, 2, 0, 0, 0, 2]))
            #expect(await client.isEnded())
            #expect(broker.metrics.text.contains("native_sso_http2_errors_total 1\n"))
        }
    }
}
