import BrokerHarness
import Foundation

/// A fault that is planted in the functions of one database, by replacing text of their bodies.
struct RaceMutant: Sendable {
    struct Edit: Sendable {
        let function: String
        let text: String
        let replacement: String
    }

    let name: String
    let edits: [Edit]

    /// - Parameter edits: Function, text and replacement.
    private init(_ name: String, _ edits: (String, String, String)...) {
        self.name = name
        self.edits = edits.map { Edit(function: $0.0, text: $0.1, replacement: $0.2) }
    }

    private static let uncompared = ("guard_limits", "NEW.ended_at IS NULL AND EXISTS", "false AND EXISTS")
    /// Both conditions go: after a wait PostgreSQL 15.18 compares `ctid` anew, so that `xmin` alone is not missed there.
    private static let sessionVersion = "h.ctid = l.at AND h.xmin = l.version"
    private static let grantVersion = "g.ctid = k.grant_at AND g.xmin = k.grant_version"

    static let all = [
        RaceMutant("exchange-without-share", ("exchange", "FOR SHARE) AS h", ") AS h")),
        RaceMutant("refresh-without-share", ("refresh", "FOR SHARE) AS h", ") AS h")),
        // Liveness is read before the lock, and not looked at again.
        RaceMutant("exchange-without-session-version", ("exchange", sessionVersion, "h.session_id = l.session_id")),
        RaceMutant("refresh-without-session-version", ("refresh", sessionVersion, "h.session_id = g.session_id")),
        RaceMutant("exchange-without-grant-version", ("exchange", grantVersion, "g.grant_id = k.grant_id")),
        RaceMutant("refresh-without-grant-version", ("refresh", grantVersion, "g.grant_id = k.grant_id")),
        RaceMutant("revocation-without-grant-version", ("revoke_grant", " AND g.xmin = p_misuse.version", "")),
        RaceMutant(
            "reuse-leaves-session",
            ("revoke_grant", "IF p_misuse.verdict IN ('refresh_token_reused', 'proven') THEN", "IF false THEN")),
        RaceMutant("proof-spares-successor", ("revoke_grant", "IF p_misuse.verdict = 'proven' THEN", "IF false THEN")),
        RaceMutant(
            "spent-is-redelivered",
            (
                "refresh", "g.generation - 2\n                        THEN 'refresh_token_reused'",
                "g.generation - 3 THEN 'refresh_token_reused'"
            )),
        RaceMutant(
            "exchange-forgets-spent",
            ("exchange", "CASE WHEN is_spending(g) THEN spent_by_exchange(g) ELSE g.spent END", "g.spent")),
        RaceMutant(
            "end-passes-over-locked",
            (
                "end_sessions", "ORDER BY l.session_id FOR NO KEY UPDATE)",
                "ORDER BY l.session_id FOR NO KEY UPDATE SKIP LOCKED)"
            )),
        RaceMutant(
            "logout-without-lock",
            ("begin_logout", "PERFORM pg_advisory_xact_lock(logout_lock('sid', p_issuer, encode(p_sid, 'hex')));", "")),
        RaceMutant(
            "first-sight-without-user-lock",
            (
                "keep_logged_out",
                "PERFORM pg_advisory_xact_lock_shared(native_sso.logout_lock('sub', NEW.idp_issuer, NEW.subject));", ""
            )),
        RaceMutant("limits-not-compared", uncompared),
        RaceMutant(
            "limits-not-taken-over", uncompared,
            ("keep_logged_out", "greatest(v_iat_after, v_newest.iat_after)", "NULL"),
            ("keep_logged_out", "greatest(v_auth_time_after, v_newest.auth_time_after)", "NULL")),
    ]

    /// Replaces the functions. Throws if a text does not occur exactly once: the fault would be missing.
    func plant(in database: String, on cluster: BenchmarkCluster) async throws {
        for edit in edits {
            let definition = try await cluster.sql(
                """
                SELECT pg_get_functiondef(p.oid) FROM pg_proc p
                WHERE p.pronamespace = 'native_sso'::regnamespace AND p.proname = '\(edit.function)';
                """, database: database)
            try await cluster.sql(
                "SET search_path = native_sso, pg_temp; \(try edit.apply(to: definition));", database: database)
        }
    }
}

extension RaceMutant.Edit {
    func apply(to definition: String) throws -> String {
        let parts = definition.components(separatedBy: text)
        guard parts.count == 2 else {
            throw ManagedProcess.Failure(
                description: "\(function) has the text of a mutant \(parts.count - 1) times, not once: \(text)")
        }
        return parts.joined(separator: replacement)
    }
}
