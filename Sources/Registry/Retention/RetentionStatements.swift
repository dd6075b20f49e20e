import PostgresClient

enum RetentionStatements {
    /// $1 seconds that must have gone by since the last sweep was begun.
    static let begin = Statement("SELECT native_sso.begin_sweep($1)")
    /// $1 months that ended so many seconds ago, $2 whether to empty the oldest or to name all.
    static let audit = Statement("SELECT * FROM native_sso.sweep_audit($1, $2)")
    /// $1 seconds.
    static let count = Statement(
        """
        SELECT sessions, grants, devices, proofs, native_sso.count_sweepable_logouts($1)
        FROM native_sso.count_sweepable($1)
        """)

    // A batch each: $1 where to go on, $2 how many rows to look at, $3 seconds.
    static let sessions = Statement("SELECT looked_at, removed, after FROM native_sso.sweep_sessions($1, $2, $3)")
    static let grants = Statement("SELECT looked_at, removed, after FROM native_sso.sweep_grants($1, $2, $3)")
    static let devices = Statement("SELECT looked_at, removed, after FROM native_sso.sweep_devices($1, $2, $3)")
    static let proofs = Statement("SELECT looked_at, removed, after FROM native_sso.sweep_proofs($1, $2, $3)")

    static let logouts = Statement("SELECT looked_at, removed, after FROM native_sso.sweep_logouts($1, $2, $3)")

    static let all = [begin, audit, count, sessions, grants, devices, proofs, logouts]
}
