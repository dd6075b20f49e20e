import BrokerHarness

/// What an operator, or time, does to a login.
extension Fixture {
    private func session(_ login: Login) -> String { "issuer = '\(issuer)' AND sid = sha256('\(login.sid)')" }

    func end(_ login: Login) async throws {
        try await sql.rows(
            """
            SELECT native_sso.end_sessions(array_agg(session_id), 'test', 'test', NULL)
            FROM native_sso.session WHERE \(session(login))
            """)
    }

    /// Its absolute end has come.
    func expire(_ login: Login) async throws {
        try await sql.rows(
            "UPDATE native_sso.session SET expires_at = now() - interval '1 second' WHERE \(session(login))")
    }

    /// Nobody used it for 30 days. Its id_token is not later than that: a later one would begin another session.
    func idle(_ login: Login) async throws {
        try await sql.rows(
            """
            UPDATE native_sso.session SET last_used_at = date_trunc('second', now()) - interval '30 days'
            WHERE \(session(login))
            """)
    }

    /// As if an earlier session of its name had ended just now, and id_tokens from before the end did not count.
    func outdateTokens(of login: Login) async throws {
        try await sql.rows("UPDATE native_sso.session SET iat_after = now() WHERE \(session(login))")
    }

    func blockDevice(of login: Login) async throws {
        try await sql.rows(
            """
            INSERT INTO native_sso.device (issuer, device_digest, first_seen_at, blocked_at)
            SELECT issuer, device_digest, now(), now() FROM native_sso.session WHERE \(session(login))
            ON CONFLICT (issuer, device_digest) DO UPDATE SET blocked_at = excluded.blocked_at
            """)
    }

    func expire(_ family: TokenFamily) async throws {
        try await sql.rows(
            "UPDATE native_sso.sso_grant SET expires_at = now() - interval '1 second' WHERE \(grant(family))")
    }

    func revoke(_ family: TokenFamily) async throws {
        try await sql.rows(
            "UPDATE native_sso.sso_grant SET revoked_at = now(), revoke_reason = 'test' WHERE \(grant(family))")
    }

    /// As in a database that was restored.
    func delete(_ family: TokenFamily) async throws {
        try await sql.rows("DELETE FROM native_sso.sso_grant WHERE \(grant(family))")
    }

    /// Its successor was made longer ago than the grace lasts.
    func outliveGrace(_ family: TokenFamily) async throws {
        try await sql.rows(
            "UPDATE native_sso.sso_grant SET rotated_at = rotated_at - interval '1 hour' WHERE \(grant(family))")
    }

    /// Moves an app to another group of the issuer.
    func move(_ client: String, to group: String) async throws {
        try await sql.rows(
            "UPDATE native_sso.sharing_group_member SET group_id = '\(group)' WHERE client_id = '\(client)'")
    }

    /// `generation|revoke_reason` of its row.
    func state(of family: TokenFamily) async throws -> String {
        try await sql.row("SELECT generation, revoke_reason FROM native_sso.sso_grant WHERE \(grant(family))")
    }

    private func grant(_ family: TokenFamily) -> String {
        """
        client_id = '\(Self.target)' AND session_id = (
            SELECT session_id FROM native_sso.session WHERE \(session(family.login)))
        """
    }

    /// A digest of each table, without the audit and the times of the last sighting of IdP keys.
    func digest() async throws -> [String] {
        let rows =
            Self.tables.map { "SELECT '\($0)' AS origin, t::text AS row FROM native_sso.\($0) t" }
            + ["SELECT 'idp_key', thumbprint || issuer || coalesce(revoked_at::text, '') FROM native_sso.idp_key"]
        return try await sql.rows(
            """
            SELECT origin, sum(hashtextextended(row, 0)) FROM (\(rows.joined(separator: " UNION ALL "))) AS all_rows
            GROUP BY origin ORDER BY origin
            """)
    }

    static let tables = [
        "client", "client_key", "client_secret", "scope", "sharing_group", "sharing_group_member", "session", "device",
        "sso_grant", "relayed_code", "used_proof", "signing_key", "schema_migration", "subject_logout", "retention",
        "database_acceptance", "subject_prefix", "registry_serial", "web_handoff", "suspended_provider", "general_end",
    ]

    /// The reason that a log has for a request; waits until it is written.
    func loggedReason(of requestID: String) async throws -> String {
        try await eventually("request \(requestID) is logged") {
            let line = try brokers.flatMap { try $0.logLines(with: requestID) }.last
            return line?.firstMatch(of: /"reason":"([^"]*)"/).map { String($0.output.1) }
        }
    }

    /// The reasons that the audit has for refused requests; waits until it has all of them.
    func auditedReasons(of requestIDs: [String]) async throws -> [String: String] {
        guard !requestIDs.isEmpty else { return [:] }
        let ids = requestIDs.map { "'\($0)'" }.joined(separator: ",")
        return try await eventually("\(requestIDs.count) requests are audited") {
            let rows = try await sql.rows(
                "SELECT request_id, reason FROM native_sso.audit_event WHERE request_id IN (\(ids))")
            let reasons = rows.map { (String($0.prefix(36)), String($0.dropFirst(37))) }
            let found = Dictionary(reasons) { first, _ in first }
            return found.count == requestIDs.count ? found : nil
        }
    }
}
