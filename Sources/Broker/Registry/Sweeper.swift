package import NativeSSO
package import PostgresClient

/// Deletes records after their retention period.
///
/// It uses small transactions with pauses and skips locked rows, so no exchange or refresh waits for it. A stopped
/// sweep keeps its progress, and the next one continues. Only one sweep per database runs at a time.
package struct Sweeper: Sendable {
    private let database: any StatementExecutor
    private let batch: Int64
    private let pause: Duration

    /// - Parameters:
    ///   - batch: Rows examined per transaction, at most 1000.
    ///   - pause: The pause between two transactions.
    package init(database: any StatementExecutor, batch: Int64 = 500, pause: Duration = .milliseconds(50)) {
        self.database = database
        self.batch = batch
        self.pause = pause
    }

    /// Creates the audit partitions of the coming months, and sweeps once.
    /// - Parameter interval: Minimum time since the start of the last sweep by any broker.
    /// - Returns: `nil` if the last sweep is more recent, or another one is running.
    package func sweep(unlessWithin interval: Seconds) async throws(PostgresError) -> SweepReport? {
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

    /// The records that a sweep would delete now.
    package func prospect() async throws(PostgresError) -> SweepReport {
        var report = SweepReport()
        let counts = try await query(RetentionStatements.count, []) { row throws(PostgresError) in
            try RetentionStatements.parts.indices.map { index throws(PostgresError) in try row.int64(index) }
        }
        for (part, count) in zip(RetentionStatements.parts, counts.joined()) { report[keyPath: part.count] = count }
        report.isComplete = true
        return report
    }

    /// How much the database holds, from a sample of about 128 pages of each table.
    package func size() async throws(PostgresError) -> RegistrySize? {
        try await query(RetentionStatements.size, []) { row throws(PostgresError) in
            RegistrySize(sessions: try row.int64(0), grants: try row.int64(1), sweptAt: try row.int64(2))
        }.first
    }

    /// - Returns: Whether it has finished.
    private func sweep(_ statement: Statement, counting removed: (Int64) -> Void) async throws(PostgresError) -> Bool {
        while await rest() {
            let batches = try await query(statement, [.int64(batch)]) { row throws(PostgresError) in
                (lookedAt: try row.int64(0), removed: try row.int64(1))
            }
            // No row: another sweep holds the lock.
            guard let done = batches.first else { return false }
            removed(done.removed)
            if done.lookedAt < batch { return true }
        }
        return false
    }

    /// - Returns: `false` if cancelled.
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

/// How much the database holds.
package struct RegistrySize: Sendable {
    /// Sessions that have not ended.
    package let sessions: Int64
    /// Grants of such sessions that are not revoked.
    package let grants: Int64
    /// When the last sweep began, in seconds since 1970; 0: never.
    package let sweptAt: Int64
}
