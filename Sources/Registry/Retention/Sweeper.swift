public import NativeSSO
public import PostgresClient

/// Removes what is over and can no longer be referred to.
///
/// In small transactions with pauses between them, and never waiting for a row that somebody has: no exchange and no
/// refresh waits for it. Stopped at any moment it has done what it had done; the next sweep goes on. One at a time in a
/// database, however many brokers there are.
public struct Sweeper: Sendable {
    private let database: any StatementExecutor
    private let policy: RetentionPolicy
    private let batch: Int64
    private let pause: Duration

    /// - Parameters:
    ///   - batch: Rows looked at in one transaction, at most 1000.
    ///   - pause: Between two transactions.
    public init(
        database: any StatementExecutor, policy: RetentionPolicy, batch: Int64 = 500,
        pause: Duration = .milliseconds(50)
    ) {
        self.database = database
        self.policy = policy
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
        let parts: [(Statement, WritableKeyPath<SweepReport, Int64>)] = [
            (RetentionStatements.sessions, \.sessions), (RetentionStatements.grants, \.grants),
            (RetentionStatements.devices, \.devices), (RetentionStatements.proofs, \.proofs),
            (RetentionStatements.logouts, \.logouts),
        ]
        for (statement, count) in parts {
            guard try await sweep(statement, counting: { report[keyPath: count] += $0 }) else { return report }
        }
        report.isComplete = try await sweepAudit { report.auditMonths.append($0) }
        return report
    }

    /// What a sweep would remove now.
    public func prospect() async throws(PostgresError) -> SweepReport {
        var report = SweepReport()
        let counts = try await query(RetentionStatements.count, [.int64(policy.sessions.count)]) {
            row throws(PostgresError) in
            (try row.int64(0), try row.int64(1), try row.int64(2), try row.int64(3), try row.int64(4))
        }
        if let counts = counts.first {
            (report.sessions, report.grants, report.devices, report.proofs, report.logouts) = counts
        }
        report.auditMonths = try await query(
            RetentionStatements.audit, [.int64(policy.audit.count), .bool(false)],
            { row throws(PostgresError) in try row.text(0) })
        report.isComplete = true
        return report
    }

    /// - Returns: Whether it came to the end.
    private func sweep(
        _ statement: Statement, counting removed: (Int64) -> Void
    ) async throws(PostgresError) -> Bool {
        var after: [String]?
        while await rest() {
            let batches = try await query(
                statement,
                [after.map { .textArray($0) } ?? .null, .int64(batch), .int64(policy.sessions.count)]
            ) { row throws(PostgresError) in
                (lookedAt: try row.int64(0), removed: try row.int64(1), after: try row.optionalTextArray(2))
            }
            // None: another sweep holds the lock.
            guard let done = batches.first else { return false }
            removed(done.removed)
            if done.lookedAt < batch { return true }
            after = done.after
        }
        return false
    }

    private func sweepAudit(emptied: (String) -> Void) async throws(PostgresError) -> Bool {
        while await rest() {
            let months = try await query(
                RetentionStatements.audit, [.int64(policy.audit.count), .bool(true)],
                { row throws(PostgresError) in try row.text(0) })
            guard let month = months.first else { return true }
            emptied(month)
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
