import PostgresClient
import PrivateCluster

/// An advisory lock. Statements of a test wait for it, so the test decides how long a call takes.
struct Gate {
    /// Waits in the server until the gate is open.
    static let pass = Statement("SELECT 1 FROM pg_advisory_xact_lock(7)")
    /// The same, whatever the lock timeout of the session.
    static let passPatiently = Statement(
        "DO $$ BEGIN SET LOCAL lock_timeout = 0; PERFORM pg_advisory_xact_lock(7); END $$")
    /// The same for a second gate.
    static let passSecond = Statement("SELECT 1 FROM pg_advisory_xact_lock(8)")

    private let pool: ConnectionPool
    private let key: Int64

    /// - Parameter cluster: The cluster of the database; `nil`: the shared one.
    init(database: String, key: Int64 = 7, cluster: PrivateCluster? = nil) async throws {
        let home = if let cluster { cluster } else { try await PrivateCluster.shared }
        pool = try await home.pool(database: database, size: 1)
        self.key = key
        _ = try await pool.query(Statement("SELECT 1 FROM pg_advisory_lock($1)"), .int64(key))
    }

    func open() async throws { _ = try await pool.query(Statement("SELECT pg_advisory_unlock($1)"), .int64(key)) }

    /// Returns when that many statements wait at the gate.
    func untilBlocked(_ count: Int64) async throws {
        while try await pool.query(Self.blocked).count < count {}
    }

    /// Ends the sessions that wait at the gate.
    func terminateBlocked() async throws {
        _ = try await pool.query(
            Statement(
                """
                SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database AS here ON here.oid = database
                WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
                """))
    }

    /// The backends that wait at the gate; `pg_locks` shows those of other databases too.
    private static let blocked = Statement(
        """
        SELECT pid FROM pg_locks JOIN pg_database AS here ON here.oid = database
        WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted
        """)

    func close() async { await pool.shutdown() }
}

/// Runs `body` with a closed gate in the database.
func withGate<Value>(
    _ database: String, key: Int64 = 7, cluster: PrivateCluster? = nil, _ body: (Gate) async throws -> Value
) async throws -> Value {
    let gate = try await Gate(database: database, key: key, cluster: cluster)
    return try await ending {
        try await body(gate)
    } with: {
        await gate.close()
    }
}

/// Limits that no test reaches.
func patient(_ configuration: inout PostgresConfiguration) {
    configuration.callDeadline = .seconds(20)
    configuration.lockTimeout = .seconds(20)
    configuration.statementTimeout = .seconds(20)
}
