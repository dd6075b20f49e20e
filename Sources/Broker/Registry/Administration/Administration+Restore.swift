package import NativeSSO
package import PostgresClient

/// Whether the database has what a journal outside it has.
extension StatementExecutor {
    /// Whether the database went back behind an event, and no operator has compared it with a journal since.
    package func lacks(_ request: UniqueID, at instant: UnixTime) async throws(PortError) -> Bool {
        try await one(RestoreStatements.lacks, [.uuid(request), try .instant(instant)], of: "lacks_event") {
            try $0.bool(0)
        }
    }
}

/// After a restore: what of a journal the database lost, and its repetition.
extension Administration {
    private static let batch = 1000

    package func known(_ requests: Set<UniqueID>) async throws(AdministrationError) -> Set<UniqueID> {
        Set(try await inBatches(requests, RestoreStatements.known) { try $0.uniqueID(0) })
    }

    /// Whether each session is alive; those that the database does not have are missing.
    package func liveness(ofSessions ids: Set<UniqueID>) async throws(AdministrationError) -> [UniqueID: Bool] {
        let rows = try await inBatches(ids, RestoreStatements.sessions) { (try $0.uniqueID(0), try $0.bool(1)) }
        return Dictionary(rows) { first, _ in first }
    }

    /// The same for grants. A grant that is revoked as late is alive as far as a reuse goes: the reuse revokes the grant that
    /// began since, and keeps others from beginning.
    /// - Parameter reused: The grants of these whose refresh token was reused.
    package func liveness(
        ofGrants ids: Set<UniqueID>, reused: Set<UniqueID>
    ) async throws(AdministrationError) -> [UniqueID: Bool] {
        let rows = try await inBatches(ids, RestoreStatements.grants) { row in
            (id: try row.uniqueID(0), isLive: try row.bool(1), isLate: try row.bool(2))
        }
        return Dictionary(rows.map { ($0.id, $0.isLive || $0.isLate && reused.contains($0.id)) }) { first, _ in first }
    }

    /// Whether the database has a logout, or a later one of the same session and user.
    package func has(_ logout: LogoutRecord) async throws(AdministrationError) -> Bool {
        let instant: PostgresValue
        do throws(PortError) { instant = try .instant(logout.issuedAt) } catch { throw .corrupt(column: "issued_at") }
        return try await rows(
            RestoreStatements.logout,
            [.text(logout.issuer.string)] + logout.names + [instant, .text(logout.cause.rawValue)]
        ) { try $0.bool(0) } == [true]
    }

    /// Repeats a logout: its sessions end, and later logins are compared with it.
    package func repeatEnd(_ logout: LogoutRecord) async throws(PortError) {
        _ = try await PostgresLogoutRegistry(database: pool, atOnce: 1).end(logout)
    }

    /// Ends sessions and revokes grants, in batches.
    /// - Parameters:
    ///   - mayReturn: The sessions of these that an app ended: a later id_token of the same login begins anew.
    ///   - reused: The grants of these whose refresh token was reused: only a later login begins another.
    package func end(
        _ sessions: Set<UniqueID>, mayReturn: Set<UniqueID>, grants: Set<UniqueID>, reused: Set<UniqueID>,
        _ act: AdministrativeAct
    ) async throws(AdministrationError) {
        for (ids, returns) in [(sessions.subtracting(mayReturn), false), (sessions.intersection(mayReturn), true)] {
            for batch in Self.batches(ids) {
                _ = try await end(batch, reason: "operator", sameLoginMayReturn: returns, act)
            }
        }
        for batch in Self.batches(grants.subtracting(reused)) { _ = try await revoke(batch, act) }
        for grant in grants.intersection(reused) {
            _ = try await rows(RestoreStatements.revokeReused, [.uuid(grant), .uuid(act.requestID)]) { _ in }
        }
    }

    /// Records that an operator has compared the database with a journal: brokers serve again.
    package func recordRestoreCheck(lost: Int, _ act: AdministrativeAct) async throws(AdministrationError) {
        _ = try await rows(
            AdministrativeAct.record, act.parameters([(.restoreChecked, [("lost", String(lost))])])
        ) { _ in }
    }

    private static func batches(_ ids: Set<UniqueID>) -> [[UniqueID]] {
        let sorted = ids.sorted { ($0.high, $0.low) < ($1.high, $1.low) }
        return stride(from: 0, to: sorted.count, by: batch).map { Array(sorted[$0...].prefix(batch)) }
    }

    private func inBatches<Value: Sendable>(
        _ ids: Set<UniqueID>, _ statement: Statement, _ decode: @Sendable (Row) throws -> Value
    ) async throws(AdministrationError) -> [Value] {
        var found: [Value] = []
        for batch in Self.batches(ids) {
            found += try await rows(statement, [.uuidArray(batch.map(\.octets))], decode)
        }
        return found
    }
}

enum RestoreStatements {
    /// $1 request, $2 its instant.
    static let lacks = Statement("SELECT native_sso.lacks_event($1, $2)")
    /// $1 requests.
    static let known = Statement("SELECT DISTINCT request_id FROM native_sso.audit_event WHERE request_id = ANY ($1)")
    /// $1 sessions.
    static let sessions = Statement(
        """
        SELECT session_id, ended_at IS NULL AND expires_at > now() FROM native_sso.session WHERE session_id = ANY ($1)
        """)
    /// $1 grants.
    static let grants = Statement(
        """
        SELECT g.grant_id, g.revoked_at IS NULL AND g.expires_at > now() AND s.ended_at IS NULL AND s.expires_at > now(),
            coalesce(g.revoke_reason = 'refresh_token_late', false) AND s.ended_at IS NULL AND s.expires_at > now()
        FROM native_sso.sso_grant g JOIN native_sso.session s USING (session_id) WHERE g.grant_id = ANY ($1)
        """)
    /// $1 grant, $2 act.
    static let revokeReused = Statement("SELECT native_sso.revoke_reused($1, $2)")
    /// $1 issuer, $2 SHA-256 of the sid or NULL, $3 subject or NULL, $4 instant, $5 cause.
    static let logout = Statement(
        """
        SELECT ($2::bytea IS NULL OR EXISTS (
                SELECT FROM native_sso.session s WHERE s.idp_issuer = $1 AND s.idp_sid = $2 AND s.ended_at IS NOT NULL
                    AND s.auth_time_after >= $4::timestamptz))
            AND ($3::text IS NULL OR EXISTS (
                SELECT FROM native_sso.subject_logout o WHERE o.idp_issuer = $1 AND o.subject = $3
                    AND CASE $5::text WHEN 'account_enabled' THEN o.enabled_at
                        WHEN 'account_disabled' THEN greatest(o.disabled_at, o.enabled_at)
                        ELSE greatest(o.issued_at, o.without_sid_issued_at) END >= $4::timestamptz))
        """)
}
