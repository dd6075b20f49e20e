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
        let begun = try await database.query(RetentionStatements.begin, [.int64(interval.count)])
        guard try begun.first?.bool(0) == true else { return nil }
        _ = try await database.query(AuditStatements.preparePartitions, [])
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
        guard let counts = try await database.query(RetentionStatements.count, []).first else { return report }
        for (index, part) in RetentionStatements.parts.enumerated() {
            report[keyPath: part.count] = try counts.int64(index)
        }
        report.isComplete = true
        return report
    }

    /// How much the database holds, from a sample of about 128 pages of each table.
    package func size() async throws(PostgresError) -> RegistrySize? {
        guard let row = try await database.query(RetentionStatements.size, []).first else { return nil }
        return RegistrySize(sessions: try row.int64(0), grants: try row.int64(1), sweptAt: try row.int64(2))
    }

    /// - Returns: Whether it has finished.
    private func sweep(_ statement: Statement, counting removed: (Int64) -> Void) async throws(PostgresError) -> Bool {
        while await rest() {
            // No row: another sweep holds the lock.
            guard let done = try await database.query(statement, [.int64(batch)]).first else { return false }
            removed(try done.int64(1))
            if try done.int64(0) < batch { return true }
        }
        return false
    }

    /// - Returns: `false` if cancelled.
    private func rest() async -> Bool {
        try? await Task.sleep(for: pause)
        return !Task.isCancelled
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
