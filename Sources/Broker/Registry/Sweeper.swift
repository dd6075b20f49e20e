public import NativeSSO
public import PostgresClient

/// Removes what is over and can no longer be referred to.
///
/// In small transactions with pauses between them, and never waiting for a row that somebody has: no exchange and no
/// refresh waits for it. A sweep that was stopped keeps what it had done, and the next one goes on where it stopped. One at a
/// time in a database, however many brokers there are.
public struct Sweeper: Sendable {
    private let database: any StatementExecutor
    private let batch: Int64
    private let pause: Duration

    /// - Parameters:
    ///   - batch: Rows looked at in one transaction, at most 1000.
    ///   - pause: Between two transactions.
    public init(database: any StatementExecutor, batch: Int64 = 500, pause: Duration = .milliseconds(50)) {
        self.database = database
        self.batch = batch
        self.pause = pause
    }

    /// Prepares the coming months of the audit, and sweeps once.
    /// - Parameter interval: Sweep only if the last sweep, by whomever, was begun at least so long ago.
    /// - Returns: `nil` where it was not, or where another is at it now.
    public func sweep(unlessWithin interval: Seconds) async throws(PostgresError) -> SweepReport? {
        guard
            try await query(
                RetentionStatements.begin, [.int64(interval.count)], { row throws(PostgresError) in try row.bool(0) })
                == [true]
        else {
            return nil
        }
        _ = try await query(AuditStatements.preparePartitions, []) { _ in }
        var report = SweepReport()
        for part in RetentionStatements.parts {
            guard try await sweep(part.statement, counting: { report[keyPath: part.count] += $0 }) else {
                return report
            }
        }
        report.isComplete = true
        return report
    }

    /// What a sweep would remove now.
    public func prospect() async throws(PostgresError) -> SweepReport {
        var report = SweepReport()
        let counts = try await query(RetentionStatements.count, []) { row throws(PostgresError) in
            try RetentionStatements.parts.indices.map { index throws(PostgresError) in try row.int64(index) }
        }
        for (part, count) in zip(RetentionStatements.parts, counts.joined()) { report[keyPath: part.count] = count }
        report.isComplete = true
        return report
    }

    /// - Returns: Whether it came to the end.
    private func sweep(
        _ statement: Statement, counting removed: (Int64) -> Void
    ) async throws(PostgresError) -> Bool {
        while await rest() {
            let batches = try await query(statement, [.int64(batch)]) { row throws(PostgresError) in
                (lookedAt: try row.int64(0), removed: try row.int64(1))
            }
            // None: another sweep holds the lock.
            guard let done = batches.first else { return false }
            removed(done.removed)
            if done.lookedAt < batch { return true }
        }
        return false
    }

    /// - Returns: `false` where it is to stop.
    private func rest() async -> Bool {
        try? await Task.sleep(for: pause)
        return !Task.isCancelled
    }

    private func query<Value: Sendable>(
        _ statement: Statement, _ parameters: [PostgresValue], _ decode: (Row) throws(PostgresError) -> Value
    ) async throws(PostgresError) -> [Value] {
        try await database.query(statement, parameters).map(decode)
    }
}
