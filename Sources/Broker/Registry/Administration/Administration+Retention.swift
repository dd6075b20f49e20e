import NativeSSO
import PostgresClient

extension Administration {
    package func retention() async throws(AdministrationError) -> RetentionPolicy {
        let found = try await rows(RetentionStatements.policy) { try RetentionPolicy($0) }
        guard let policy = found.first else { throw .notFound("the row of the table retention") }
        return policy
    }

    /// Changes how long records are kept. A shorter period deletes records in the next sweep.
    /// - Parameters:
    ///   - sessionDays: `nil`: no change.
    ///   - auditDays: `nil`: no change.
    /// - Returns: The policy after the change.
    @discardableResult
    package func setRetention(
        sessionDays: Int32?, auditDays: Int32?, _ act: AdministrativeAct
    ) async throws(AdministrationError) -> RetentionPolicy {
        let setting = Change(
            RetentionStatements.setPolicy, [sessionDays, auditDays].map { $0.map(PostgresValue.int32) ?? .null },
            as: .retentionSet,
            details: { [("session_days", "\($0.sessionDays)"), ("audit_days", "\($0.auditDays)")] },
            orElse: .notFound("the row of the table retention")
        ) { row throws(PostgresError) in try RetentionPolicy(row) }
        return try await change(setting, act)
    }

    /// The records that ``sweep(_:)`` would delete now.
    package func sweepable() async throws(AdministrationError) -> SweepReport {
        try await Self.database { () async throws(PostgresError) in try await Sweeper(database: pool).prospect() }
    }

    /// Sweeps now, and records the counts in the audit.
    /// - Returns: `nil` if another sweep is running.
    package func sweep(_ act: AdministrativeAct) async throws(AdministrationError) -> SweepReport? {
        try await Self.database { () async throws(PostgresError) in
            guard let report = try await Sweeper(database: pool).sweep(unlessWithin: 0) else { return nil }
            let details = report.counts.map { ($0.name, "\($0.count)") }
            _ = try await pool.query(AdministrativeAct.record, act.parameters([(.swept, details)]))
            return report
        }
    }
}

/// How long records are kept after their end. Only administrators can read and change it; see the table `retention`.
package struct RetentionPolicy: Sendable, Hashable {
    /// For sessions with their grants, revoked grants, unused devices, and global logouts of users.
    package let sessionDays: Int32
    /// For audit events, counted from the end of their month.
    package let auditDays: Int32

    fileprivate init(_ row: Row) throws(PostgresError) {
        sessionDays = try row.int32(0)
        auditDays = try row.int32(1)
    }
}

/// The records that a sweep deleted or would delete.
package struct SweepReport: Sendable, Hashable {
    /// Sessions, including their grants.
    package internal(set) var sessions: Int64 = 0
    /// Revoked grants of remaining sessions.
    package internal(set) var grants: Int64 = 0
    package internal(set) var devices: Int64 = 0
    /// Used DPoP proofs, relayed codes, and codes of hand-offs.
    package internal(set) var proofs: Int64 = 0
    /// Records of users' global logouts.
    package internal(set) var logouts: Int64 = 0
    /// Emptied audit partitions.
    package internal(set) var auditMonths: Int64 = 0
    /// `false` if the sweep was stopped or another one intervened.
    package internal(set) var isComplete = false

    package var isEmpty: Bool { counts.allSatisfy { $0.count == 0 } }

    /// The counts, named as in the log and the audit.
    package var counts: [(name: String, count: Int64)] {
        [
            ("sessions", sessions), ("grants", grants), ("devices", devices), ("proofs", proofs), ("logouts", logouts),
            ("audit_months", auditMonths),
        ]
    }
}

enum RetentionStatements {
    /// $1 minimum seconds since the start of the last sweep.
    static let begin = Statement("SELECT native_sso.begin_sweep($1)")
    /// The number of deletable records, in the order of ``parts``.
    static let count = Statement(
        """
        SELECT (SELECT count(*) FROM native_sso.dead_session), (SELECT count(*) FROM native_sso.dead_grant),
            (SELECT count(*) FROM native_sso.dead_device),
            (SELECT count(*) FROM native_sso.dead_proof) + (SELECT count(*) FROM native_sso.dead_code)
                + (SELECT count(*) FROM native_sso.dead_web_handoff),
            (SELECT count(*) FROM native_sso.dead_logout), (SELECT count(*) FROM native_sso.dead_audit_month)
        """)
    /// One batch each; $1 maximum rows to examine.
    static let parts: [(statement: Statement, count: any WritableKeyPath<SweepReport, Int64> & Sendable)] = [
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_sessions($1)"), \.sessions),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_grants($1)"), \.grants),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_devices($1)"), \.devices),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_proofs($1)"), \.proofs),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_logouts($1)"), \.logouts),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_audit($1)"), \.auditMonths),
    ]

    static let size = Statement("SELECT sessions, grants, swept_at FROM native_sso.registry_size()")
    static let policy = Statement("SELECT session_days, audit_days FROM native_sso.retention")
    static let setPolicy = Statement(
        """
        UPDATE native_sso.retention SET session_days = coalesce($1, session_days), audit_days = coalesce($2, audit_days)
        RETURNING session_days, audit_days
        """)
}
