import PostgresClient
import Synchronization

extension PostgresFixture {
    /// Makes a change, starts `attempt`, and commits as soon as `attempt` waits for the change, or has ended without
    /// waiting.
    ///
    /// - Parameter untilItReturns: Commit only after `attempt` has ended, however long it waits.
    /// - Returns: The result of `attempt`, and the statement in which it waited, if it did.
    func holding<Value: Sendable>(
        untilItReturns: Bool = false,
        _ change: @escaping @Sendable (borrowing Transaction) throws(PostgresError) -> Void,
        _ attempt: @escaping @Sendable () async throws -> Value
    ) async throws -> (value: Value, waiting: String?) {
        let (changes, isMade) = AsyncStream.makeStream(of: Void.self)
        let hasReturned = Flag()
        async let outcome = {
            for await _ in changes { break }
            defer { hasReturned.isSet.store(true, ordering: .releasing) }
            return try await attempt()
        }()
        let waiting = try await superuser.withTransaction(deadline: .seconds(20)) {
            transaction throws(PostgresError) -> String? in
            try change(transaction)
            isMade.yield()
            while !hasReturned.isSet.load(ordering: .acquiring) {
                // Otherwise the transaction would read its first snapshot of the statistics again.
                _ = try transaction.query(Self.forgetStatistics)
                guard !untilItReturns, let row = try transaction.query(Self.waiting).first else { continue }
                return try? row.text(0)
            }
            return nil
        }
        return (try await outcome, waiting)
    }

    private static let forgetStatistics = Statement("SELECT pg_stat_clear_snapshot()")
    /// The transactions that wait for this one.
    private static let waiting = Statement(
        """
        SELECT a.query FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.locktype = 'transactionid' AND l.transactionid = pg_current_xact_id()::xid AND NOT l.granted
        """)
}

private final class Flag: Sendable {
    let isSet = Atomic(false)
}
