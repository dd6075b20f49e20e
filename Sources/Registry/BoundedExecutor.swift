public import PostgresClient

/// A part of a pool, for those who share it: however many of their statements are to be run, connections are left for the pool's
/// other users, if it has more than this part.
///
/// Nobody is turned away here. Those who share it let in only so many themselves, each with a deadline, and so nobody waits long.
public struct BoundedExecutor: StatementExecutor {
    private let database: any StatementExecutor
    private let turnstile: Turnstile

    /// - Parameter atOnce: Statements at one time; at least one.
    public init(_ database: any StatementExecutor, atOnce: Int) {
        self.database = database
        turnstile = Turnstile(width: atOnce, queue: .max)
    }

    public func query(_ statement: Statement, _ parameters: [PostgresValue]) async throws(PostgresError) -> [Row] {
        _ = await turnstile.enter()
        defer { turnstile.leave() }
        return try await database.query(statement, parameters)
    }
}
