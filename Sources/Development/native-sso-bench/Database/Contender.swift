import PostgresClient

/// A way to send a hot statement to PostgreSQL from many callers at once.
enum Contender: String, CaseIterable, Sendable {
    /// The reference: PostgreSQL's own, in C, a connection for each caller.
    case pgbench
    /// Our connections, one call at a time on each.
    case pool
    /// Ours, too: many calls at a time on each of two connections, with one commit for all of them. What the broker does.
    case lanes

    /// Connections of the pool: twice the broker's default.
    static let poolSize = 16

    /// `nil` for what is not ours.
    func executor(_ configuration: PostgresConfiguration) async throws -> MeasuredExecutor? {
        switch self {
        case .pgbench: return nil
        case .pool:
            let pool = ConnectionPool(configuration)
            try await pool.waitUntilConnected(within: .seconds(10))
            return MeasuredExecutor(executor: pool) { await pool.shutdown() }
        case .lanes:
            let lanes = BatchingLanes(configuration)
            try await lanes.waitUntilConnected(within: .seconds(10))
            return MeasuredExecutor(executor: lanes) { await lanes.shutdown() }
        }
    }
}

/// An executor and how it is closed.
struct MeasuredExecutor: Sendable {
    let executor: any StatementExecutor
    let shutdown: @Sendable () async -> Void
}

/// Rows that one round of one contender has for itself: each caller its own part, round and round.
struct PopulationBlock: Sendable {
    let first: Int
    let callers: Int
    static let rowsPerCaller = 160

    var range: Range<Int> { first..<first + callers * Self.rowsPerCaller }

    func firstRow(ofCaller caller: Int) -> Int { first + caller * Self.rowsPerCaller }
}

/// What was counted in the middle of a round, when everybody was warm.
struct Window: Sendable {
    var operations: Double
    var seconds: Double
    /// Nanoseconds.
    var client: Int64
    var server: Int64
    /// Processors that others kept busy.
    var elsewhere: Double
}
