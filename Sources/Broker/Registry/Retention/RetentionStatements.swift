import PostgresClient

enum RetentionStatements {
    /// $1 seconds that must have gone by since the last sweep was begun.
    static let begin = Statement("SELECT native_sso.begin_sweep($1)")
    /// What a sweep would remove, in the order of ``parts``.
    static let count = Statement(
        """
        SELECT (SELECT count(*) FROM native_sso.dead_session), (SELECT count(*) FROM native_sso.dead_grant),
            (SELECT count(*) FROM native_sso.dead_device),
            (SELECT count(*) FROM native_sso.dead_proof) + (SELECT count(*) FROM native_sso.dead_code),
            (SELECT count(*) FROM native_sso.dead_logout), (SELECT count(*) FROM native_sso.dead_audit_month)
        """)
    /// A batch each: $1 how many rows to look at.
    static let parts: [(statement: Statement, count: any WritableKeyPath<SweepReport, Int64> & Sendable)] = [
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_sessions($1)"), \.sessions),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_grants($1)"), \.grants),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_devices($1)"), \.devices),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_proofs($1)"), \.proofs),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_logouts($1)"), \.logouts),
        (Statement("SELECT looked_at, removed FROM native_sso.sweep_audit($1)"), \.auditMonths),
    ]

    static let policy = Statement("SELECT session_days, audit_days FROM native_sso.retention")
    static let setPolicy = Statement(
        """
        UPDATE native_sso.retention SET session_days = coalesce($1, session_days), audit_days = coalesce($2, audit_days)
        RETURNING session_days, audit_days
        """)

    static let all = [begin, count, policy, setPolicy] + parts.map(\.statement)
}
