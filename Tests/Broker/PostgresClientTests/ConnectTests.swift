import Glibc
import PostgresClient
import PrivateCluster
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(1))) struct ConnectTests {
    /// The events and the error of a call if no server is usable.
    private func refusal(
        _ configuration: PostgresConfiguration, engine: Engine = .pool
    ) async -> (error: PostgresError?, events: [ConnectionEvent]) {
        let events = Events()
        let executor = engine.start(configuration) { events.append($0) }
        while events.all.isEmpty { await Task.yield() }
        let error = await failure { () throws(PostgresError) in
            try await executor.waitUntilConnected(within: .milliseconds(10))
        }
        await executor.shutdown()
        return (error, events.all)
    }

    @Test func wrongPasswordIsToldByItsStateAndNeverShown() async throws {
        let cluster = try await PrivateCluster.shared
        var configuration = try PostgresConfiguration(
            uri: cluster.superuserURI, password: PostgresPassword("open-sesame"))
        configuration.connectTimeout = .seconds(20)
        var shown = "\(configuration) \(String(reflecting: configuration))"
        dump(configuration, to: &shown)
        let (error, events) = await refusal(configuration)
        #expect(error == .unavailable(.connectFailed))
        #expect(
            events.first
                == .connectFailed(
                    server: "127.0.0.1:\(cluster.port)", reason: .connectFailed, state: SQLState("28P01"),
                    message: "connection to server at \"127.0.0.1\", port \(cluster.port) failed: "
                        + "FATAL:  28P01: password authentication failed for user \"postgres\""))
        shown += "\(String(describing: error)) \(events)"
        #expect(!shown.contains("sesame"))
        #expect(shown.contains("****"))
    }

    @Test func passwordDoesNotBelongInTheURI() {
        #expect(throws: PostgresConfigurationError.passwordInURI) {
            try PostgresConfiguration(uri: "postgresql://me:sesame@127.0.0.1/db")
        }
        #expect(throws: PostgresConfigurationError.malformedURI) {
            try PostgresConfiguration(uri: "postgresql://me:sesame@[127.0.0.1/db")
        }
    }

    @Test(arguments: Engine.allCases)
    func exhaustedConnectionLimitIsAnOutageWithItsState(engine: Engine) async throws {
        let cluster = try await PrivateCluster.shared
        let role = "limited_\(engine)"
        try await cluster.psql("DROP ROLE IF EXISTS \(role); CREATE ROLE \(role) CONNECTION LIMIT 0;")
        try await cluster.allowLogin(role: role)
        let (error, events) = await refusal(try cluster.configuration(user: role), engine: engine)
        #expect(error == .unavailable(.connectFailed))
        guard case .connectFailed(_, _, let state, _) = events.first else { return #expect(events.isEmpty) }
        #expect(state == SQLState("53300"))
        #expect(events.count < 20, "it retries with growing pauses")
    }

    @Test(arguments: Engine.allCases)
    func databaseThatTakesNoWritesIsNotUsed(engine: Engine) async throws {
        let cluster = try await PrivateCluster.shared
        try await cluster.withDatabase { database in
            try await cluster.psql("ALTER DATABASE \(database) SET default_transaction_read_only = on")
            let (error, events) = await refusal(try cluster.configuration(database: database), engine: engine)
            #expect(error == .unavailable(.notWritable))
            guard case .connectFailed(_, .notWritable, nil, nil) = events.first else { return #expect(events.isEmpty) }
        }
    }

    @Test(arguments: Engine.allCases)
    func nextHostIsTriedWhenOneIsDeadOrSilent(engine: Engine) async throws {
        let cluster = try await PrivateCluster.shared
        let silent = try SilentServer()
        let events = Events()
        var configuration = try PostgresConfiguration(
            uri: "postgresql://postgres@127.0.0.1:1,127.0.0.1:\(silent.port),127.0.0.1:\(cluster.port)/postgres",
            password: PostgresPassword(cluster.password))
        configuration.connectTimeout = .seconds(1)
        let began = ContinuousClock.now
        let executor = engine.start(configuration) { events.append($0) }
        try await executor.waitUntilConnected(within: .seconds(20))
        #expect(ContinuousClock.now - began >= .seconds(1))
        await executor.shutdown()
        let connected = ConnectionEvent.connected(server: "127.0.0.1:\(cluster.port)")
        let before = events.all.prefix { $0 != connected }
        #expect(
            before.contains(
                .connectFailed(
                    server: "127.0.0.1:1", reason: .connectFailed, state: nil,
                    message: "connection to server at \"127.0.0.1\", port 1 failed: Connection refused"))
                && before.contains(
                    .connectFailed(
                        server: "127.0.0.1:\(silent.port)", reason: .deadlineExceeded, state: nil, message: nil))
        )
        #expect(events.all.contains(connected))
    }

    @Test func sessionHasItsLimitsFromTheFirstStatementOn() async throws {
        let row = try await withPool { pool, _ in
            try await pool.query(
                Statement(
                    """
                    SELECT current_setting('lock_timeout'), current_setting('statement_timeout'),
                        current_setting('idle_in_transaction_session_timeout'),
                        current_setting('default_transaction_isolation'), current_setting('application_name')
                    """))
        }[0]
        #expect(try (0..<5).map { try row.text($0) } == ["1s", "3s", "5s", "read committed", "native-sso"])
    }

    @Test func sessionHasTheSettingsThatItWasGiven() async throws {
        let odd = #"a\ b \\c  -c work_mem=64kB '"d"#
        let row = try await withPool {
            $0.sessionSettings = ["search_path": "pg_catalog, pg_temp", "test.odd": odd]
        } _: { pool, _ in
            try await pool.query(Statement("SELECT current_setting('search_path'), current_setting('test.odd')"))
        }[0]
        #expect(try row.text(0) == "pg_catalog, pg_temp")
        #expect(try row.text(1) == odd)
    }
}

/// Collects events from any thread.
final class Events: Sendable {
    private let events = Mutex<[ConnectionEvent]>([])
    func append(_ event: ConnectionEvent) { events.withLock { $0.append(event) } }
    var all: [ConnectionEvent] { events.withLock { $0 } }
}

/// The kernel accepts connections, but the server never answers.
final class SilentServer {
    let port: UInt16
    private let descriptor: Int32

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let failed = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) != 0 || getsockname(descriptor, $0, &length) != 0
                    || listen(descriptor, 8) != 0
            }
        }
        try #require(!failed)
        port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
