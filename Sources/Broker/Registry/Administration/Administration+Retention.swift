import NativeSSO
import PostgresClient

extension Administration {
    /// How long records are kept.
    public func retention() async throws(AdministrationError) -> RetentionPolicy {
        let found = try await rows(RetentionStatements.policy) { try RetentionPolicy($0) }
        guard let policy = found.first else { throw .notFound("the row of the table retention") }
        return policy
    }

    /// Changes how long records are kept. A shorter period deletes records in the next sweep.
    /// - Parameters:
    ///   - sessionDays: `nil`: as it was.
    ///   - auditDays: The same.
    /// - Returns: What holds now.
    @discardableResult
    public func setRetention(
        sessionDays: Int32?, auditDays: Int32?, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> RetentionPolicy {
        try await change(
            RetentionStatements.setPolicy, [sessionDays, auditDays].map { $0.map(PostgresValue.int32) ?? .null },
            as: .retentionSet, act,
            details: { [("session_days", "\($0.sessionDays)"), ("audit_days", "\($0.auditDays)")] },
            orElse: .notFound("the row of the table retention")
        ) { row throws(PostgresError) in try RetentionPolicy(row) }
    }

    /// What ``sweep(_:)`` would remove now.
    public func sweepable() async throws(AdministrationError) -> SweepReport {
        try await Self.database { () async throws(PostgresError) in try await Sweeper(database: pool).prospect() }
    }

    /// Sweeps now, and records how much went.
    /// - Returns: `nil` where another sweep is running.
    public func sweep(_ act: AdministrativeAct) async throws(AdministrationError) -> SweepReport? {
        try await Self.database { () async throws(PostgresError) in
            guard let report = try await Sweeper(database: pool).sweep(unlessWithin: 0) else { return nil }
            let details = report.counts.map { ($0.name, "\($0.count)") }
            _ = try await pool.query(AdministrativeAct.record, act.parameters(kind: .swept, details: details))
            return report
        }
    }

    private static func database<Value: Sendable>(
        _ call: () async throws(PostgresError) -> Value
    ) async throws(AdministrationError) -> Value {
        do throws(PostgresError) {
            return try await call()
        } catch {
            throw .database(error)
        }
    }
}

extension RetentionPolicy {
    fileprivate init(_ row: Row) throws(PostgresError) {
        self.init(sessionDays: try row.int32(0), auditDays: try row.int32(1))
    }
}
