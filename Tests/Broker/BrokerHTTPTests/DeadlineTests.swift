@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import NIOCore
import NativeSSO
import StrictCoding
import RegistryConformance
import Testing

/// Deadlines are short here, and each test waits for their effect.
@Suite("Slow clients", .timeLimit(.minutes(1)))
struct DeadlineTests {
    @Test(
        "H-20 a header or body that does not end is answered at the timeout",
        arguments: [
            ("P", "http_header_timeout"), ("POST /token HTTP/1.1\r\nHost: a\r\nX-A: b", "http_header_timeout"),
            ("\r\n", "http_header_timeout"),
            ("POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n1", "http_body_timeout"),
            ("POST /token HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1", "http_body_timeout"),
        ])
    func expired(octets: String, reason: String) async throws {
        // The other deadline is far away.
        let isHeader = reason == "http_header_timeout"
        let limits = ListenerLimits(
            headerTimeout: isHeader ? .milliseconds(50) : .minutes(1),
            bodyTimeout: isHeader ? .minutes(1) : .milliseconds(50))
        try await TestBroker.run(TestBroker.Options(limits: limits)) { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send(octets)
                let answer = try #require(try await client.answer())
                #expect(answer.status == 408)
                #expect(answer.error == "invalid_request")
                #expect(answer.closes)
                #expect(try await client.answer() == nil)
            }
            #expect(broker.log.requests.map { $0.string("reason") } == [reason])
            #expect(broker.domain.registry.admissions.isEmpty)
        }
    }

    @Test("A slow body gets no more time than a stalled one")
    func trickle() async throws {
        let limits = ListenerLimits(bodyTimeout: .milliseconds(100))
        try await TestBroker.run(TestBroker.Options(limits: limits)) { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send("POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 60000\r\n\r\n")
                let (channel, pace) = (client.channel, TimeAmount.milliseconds(10))
                let trickle = channel.eventLoop.scheduleRepeatedTask(initialDelay: pace, delay: pace) { _ in
                    channel.writeAndFlush(ByteBuffer(string: "a"), promise: nil)
                }
                defer { trickle.cancel() }
                #expect(try await client.answer()?.status == 408)
            }
        }
    }

    @Test("An idle connection is closed without an answer, before and between requests")
    func idle() async throws {
        let limits = ListenerLimits(idleTimeout: .seconds(3))
        try await TestBroker.run(TestBroker.Options(limits: limits)) { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                #expect(try await client.answer() == nil)
            }
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send(Requests.post(Requests.exchange))
                #expect(try await client.answer()?.status == 200)
                #expect(try await client.answer() == nil)
            }
            #expect(broker.log.requests.count == 1)
        }
    }

    @Test("No client deadline runs while the broker prepares an answer")
    func ourTime() async throws {
        let gate = Gate()
        let limits = ListenerLimits(headerTimeout: .milliseconds(50), bodyTimeout: .milliseconds(50))
        try await TestBroker.run(TestBroker.Options(limits: limits, gate: gate)) { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send(Requests.post(Requests.exchange) + "POST /tok")
                await gate.arrivals(1)
                // Meanwhile another connection reaches its own deadline: by then those of the first would have passed.
                try await RawClient.connect(to: broker.ports.public) { other async throws in
                    try await other.send("POST /tok")
                    #expect(try await other.answer()?.status == 408)
                }
                gate.open()
                #expect(try await client.answer()?.status == 200)
                #expect(try await client.answer()?.status == 408)
            }
        }
    }

    @Test("H-21 a client that does not read is cut off at the write timeout, and no other client notices")
    func slowReader() async throws {
        let limits = ListenerLimits(idleTimeout: .minutes(1), writeTimeout: .milliseconds(100))
        try await TestBroker.run(TestBroker.Options(limits: limits)) { broker async throws in
            try await RawClient.connect(to: broker.ports.public, readsNothing: true) { client async throws in
                // Requests until both directions are full; the broker then waits for its own write.
                let batch = String(repeating: Requests.post("x=1"), count: 200)
                let sending = Task { [channel = client.channel] in
                    while channel.isActive {
                        do { try await channel.writeAndFlush(ByteBuffer(string: batch)) } catch { return }
                    }
                }
                // The broker resets the connection: the write fails. Nothing else ends this task.
                await sending.value
                #expect(try await broker.answer(Requests.exchange)?.status == 200)
            }
        }
    }

    @Test("After the last answer the client has a bounded time to close")
    func linger() async throws {
        let limits = ListenerLimits(lingerTimeout: .milliseconds(50))
        try await TestBroker.run(TestBroker.Options(limits: limits)) { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                try await client.send("BAD\r\n\r\n")
                #expect(try await client.answer()?.status == 400)
                #expect(try await client.answer() == nil)
                // The client's side is still open. Once the broker has closed, writing fails in the end.
                while (try? await client.channel.writeAndFlush(ByteBuffer(string: "more"))) != nil {
                    await Task.yield()
                }
            }
        }
    }

    @Test("A large request that is refused early still gets its answer, not a reset")
    func earlyRefusal() async throws {
        try await TestBroker.run { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { client async throws in
                let head = "POST /token HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n"
                try await client.send(head)
                try await client.send([UInt8](repeating: 97, count: 2_000_000))
                let answer = try #require(try await client.answer())
                #expect(answer.status == 413)
            }
        }
    }
}
