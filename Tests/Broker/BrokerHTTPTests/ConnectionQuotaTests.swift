@testable import BrokerHTTP
@testable import HTTPServer
import BrokerTesting
import Foundation
import Testing

@Suite("Connection limits", .timeLimit(.minutes(1)))
struct ConnectionQuotaTests {
    /// Whether a request on a new connection is answered.
    private func isServed(_ broker: TestBroker, from source: String) async throws -> Bool {
        try await RawClient.connect(to: broker.ports.public, from: source) { client async throws in
            await client.trySend(Requests.post("x=1"))
            return await client.lastAnswer() != nil
        }
    }

    /// Opens a connection and uses it, so that the broker has accepted it.
    private func holding(
        _ broker: TestBroker, from source: String, _ body: () async throws -> Void
    ) async throws {
        try await RawClient.connect(to: broker.ports.public, from: source) { client async throws in
            try await client.send(Requests.post("x=1"))
            #expect(try await client.answer()?.status == 400)
            try await body()
        }
    }

    @Test("A connection over the limit is closed at once and counted; a closed one makes room")
    func total() async throws {
        try await TestBroker.run(TestBroker.Options(limits: ListenerLimits(connections: 2))) { broker async throws in
            try await holding(broker, from: "127.0.0.1") { () async throws in
                try await holding(broker, from: "127.0.0.2") { () async throws in
                    #expect(try await !isServed(broker, from: "127.0.0.3"))
                    #expect(broker.metrics.text.contains("native_sso_connections 2\n"))
                    #expect(broker.metrics.text.contains("native_sso_connections_refused_total 1\n"))
                }
                while try await !isServed(broker, from: "127.0.0.3") { await Task.yield() }
            }
        }
    }

    @Test("One address cannot take all connections")
    func perAddress() async throws {
        let limits = ListenerLimits(connections: 10, connectionsPerAddress: 2)
        try await TestBroker.run(TestBroker.Options(limits: limits)) { broker async throws in
            try await holding(broker, from: "127.0.0.1") { () async throws in
                try await holding(broker, from: "127.0.0.1") { () async throws in
                    for _ in 0..<3 { #expect(try await !isServed(broker, from: "127.0.0.1")) }
                    #expect(try await isServed(broker, from: "127.0.0.2"))
                    #expect(broker.metrics.text.contains("native_sso_connections_refused_for_address_total 3\n"))
                    #expect(broker.metrics.text.contains("native_sso_connections_refused_total 0\n"))
                }
                while try await !isServed(broker, from: "127.0.0.1") { await Task.yield() }
            }
        }
    }

    @Test("A trusted proxy may use all connections")
    func proxies() async throws {
        let limits = ListenerLimits(connections: 10, connectionsPerAddress: 1)
        var options = TestBroker.Options(limits: limits)
        options.trustedProxies = TrustedProxies(blocks: [try #require(AddressBlock("127.0.0.1"))])
        try await TestBroker.run(options) { broker async throws in
            try await holding(broker, from: "127.0.0.1") { () async throws in
                #expect(try await isServed(broker, from: "127.0.0.1"))
                try await holding(broker, from: "127.0.0.2") { () async throws in
                    #expect(try await !isServed(broker, from: "127.0.0.2"))
                }
            }
        }
    }

    @Test("A listener does not take the socket of a live listener, with or without its lock")
    func unixSocketInUse() async throws {
        let path = "/tmp/native-sso-test-\(UUID().uuidString)"
        var options = TestBroker.Options()
        options.publicSocket = path
        defer { unlink(path + ".lock") }
        try await TestBroker.run(options) { broker async throws in
            var status = stat()
            #expect(stat(path, &status) == 0)
            // For its owner and group alone.
            #expect(status.st_mode & 0o777 == 0o660)
            await expectNoStart(options, "another process listens there, and holds \(path).lock")
            // A listener without the lock: the lock file is not where the new one looks.
            #expect(rename(path + ".lock", path + ".away") == 0)
            await expectNoStart(options, "another process answers there")
            unlink(path + ".away")
            #expect(try await isAnswered(on: path))
            #expect(link(path, path + ".left") == 0)
        }
        // The listener's own socket goes with it. One that a killed listener has left is replaced.
        #expect(access(path, F_OK) != 0)
        #expect(rename(path + ".left", path) == 0)
        try await TestBroker.run(options) { _ async throws in #expect(try await isAnswered(on: path)) }
        // Any other file stays.
        #expect(FileManager.default.createFile(atPath: path, contents: Data("dear".utf8)))
        await expectNoStart(options, "there is a file of that name that is no socket")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "dear")
        unlink(path)
    }

    @Test("A broker that cannot bind its socket leaves the other broker's socket alone")
    func unixSocketTakenBetween() throws {
        let path = "/tmp/native-sso-test-\(UUID().uuidString)"
        defer { unlink(path + ".lock") }
        let claim = try UnixSocketClaim(path: path)
        // Another process without the lock takes the path before the binding.
        #expect(FileManager.default.createFile(atPath: path, contents: nil))
        claim.release()
        #expect(access(path, F_OK) == 0)
        unlink(path)
        // The same after the binding.
        let second = try UnixSocketClaim(path: path)
        #expect(FileManager.default.createFile(atPath: path + ".bound", contents: nil))
        #expect(rename(path + ".bound", path) == 0)
        second.didBind()
        #expect(FileManager.default.createFile(atPath: path + ".other", contents: nil))
        #expect(rename(path + ".other", path) == 0)
        second.release()
        #expect(access(path, F_OK) == 0)
        unlink(path)
    }

    private func expectNoStart(
        _ options: TestBroker.Options, _ why: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let path = options.publicSocket ?? ""
        await #expect(sourceLocation: sourceLocation) {
            try await TestBroker.run(options) { _ async throws in }
        } throws: { error in
            (error as? ListenError)?.description == "it cannot listen on unix:\(path): \(why)"
        }
    }

    private func isAnswered(on path: String) async throws -> Bool {
        try await RawClient.connect(socket: path) { client async throws in
            try await client.send(Requests.post(Requests.exchange))
            return try await client.answer()?.status == 200
        }
    }
}
