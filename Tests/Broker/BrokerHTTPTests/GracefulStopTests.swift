import BrokerTesting
import Dispatch
import Glibc
import NIOCore
import NIOPosix
import NativeSSO
import StrictCoding
import Synchronization
import Testing

@testable import BrokerHTTP
@testable import HTTPServer

@Suite("A graceful stop", .timeLimit(.minutes(1)))
struct GracefulStopTests {
    @Test(
        "A stop answers requests in flight, ends idle connections, refuses new ones and is told by /readyz",
        arguments: [false, true])
    func inFlight(onInheritedSocket isInherited: Bool) async throws {
        let gate = Gate()
        var options = TestBroker.Options(gate: gate)
        if isInherited { options.inheritedSocket = try Self.listeningSocket() }
        try await TestBroker.run(options) { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { busy async throws in
                try await RawClient.connect(to: broker.ports.public) { idle async throws in
                    try await busy.send(Requests.post(Requests.exchange))
                    await gate.arrivals(1)
                    await broker.stop()
                    // The idle connection ends: the stop has reached the listener.
                    #expect(try await idle.answer() == nil)
                    await #expect(throws: (any Error).self) {
                        try await RawClient.connect(to: broker.ports.public) { _ in }
                    }
                    let health = try #require(try await broker.internalAnswer(Requests.get("/readyz")))
                    #expect(health.status == 503)
                    #expect(health.text.contains(#"{"name":"process","status":"failed","reason":"draining"}"#))
                    #expect(try await broker.internalAnswer(Requests.get("/livez"))?.status == 200)
                    gate.open()
                    let answer = try #require(try await busy.answer())
                    #expect(answer.status == 200)
                    #expect(answer.closes)
                    #expect(try await busy.answer() == nil)
                }
            }
        }
    }

    /// On a free port of loopback, as a service manager opens it.
    private static func listeningSocket() throws -> CInt {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try SocketAddress(ipAddress: "127.0.0.1", port: 0).withSockAddr { address, size in
            try #require(bind(descriptor, address, socklen_t(size)) == 0)
        }
        try #require(listen(descriptor, 16) == 0)
        return descriptor
    }

    @Test("Connections that arrive during a stop are answered or closed")
    func storm() async throws {
        for _ in 0..<5 {
            try await TestBroker.run { broker async throws in
                await withTaskGroup(of: Void.self) { group in
                    for index in 0..<100 {
                        group.addTask {
                            if index == 50 { await broker.stop() }
                            let answer = try? await RawClient.connect(to: broker.ports.public) { client async throws in
                                await client.trySend(Requests.post(Requests.exchange))
                                return await client.lastAnswer()
                            }
                            if let answer { #expect(answer.status == 200) }
                        }
                    }
                }
            }
        }
    }

    @Test("Requests that exceed the drain timeout are cut off")
    func cutOff() async throws {
        let gate = Gate()
        let options = TestBroker.Options(drainTimeout: .milliseconds(300), gate: gate)
        try await TestBroker.run(options) { broker async throws in
            try await RawClient.connect(to: broker.ports.public) { busy async throws in
                try await busy.send(Requests.post(Requests.exchange))
                await gate.arrivals(1)
                await broker.stop()
                await #expect(busy.lastAnswer() == nil)
            }
        }
    }

    @Test("A pass through the event loops ends only when each has run a task, as the watchdog needs it")
    func hungEventLoop() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        var options = TestBroker.Options()
        options.eventLoopGroup = group
        try await TestBroker.run(options) { broker async throws in
            let server = try #require(broker.server)
            await server.passEventLoops()
            let loops = Array(group.makeIterator())
            let (hangs, begins) = AsyncStream.makeStream(of: Void.self)
            let release = DispatchSemaphore(value: 0)
            loops[1].execute {
                begins.finish()
                release.wait()
            }
            for await _ in hangs {}
            let passed = Mutex(false)
            async let pass: Void = {
                await server.passEventLoops()
                passed.withLock { $0 = true }
            }()
            try await loops[0].submit {}.get()
            #expect(!passed.withLock { $0 })
            release.signal()
            await pass
            #expect(passed.withLock { $0 })
        }
        try await group.shutdownGracefully()
    }
}
