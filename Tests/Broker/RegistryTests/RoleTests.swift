import PostgresClient
import Testing

@testable import Registry

@Suite("The service's role", .serialized)
struct RoleTests {
    private static let shared = Task { try await TestDatabase.shared() }

    @Test(
        "The role cannot access tables with sessions, devices, grants or the audit",
        arguments: RoleSQL.forbidden + RoleSQL.ofSupport)
    func mayNotRead(statement: Statement) async throws {
        let database = try await Self.shared.value
        let state = try await database.service.refusal(of: statement)
        #expect(state?.code == "42501", "insufficient_privilege: \(statement.text)")
    }

    /// They run as the owner of the tables. Under the caller's search_path they could call the caller's functions.
    @Test(
        "The hot calls refuse every other search_path",
        arguments: ["public, native_sso", "pg_temp, native_sso", "\"native_sso, pg_temp\"", ""],
        [ExchangeStatement.statement, RefreshStatement.statement])
    func needsItsSearchPath(path: String, statement: Statement) async throws {
        let database = try await Self.shared.value
        var configuration = try TestDatabase.configuration(
            database.cluster, database: database.name, user: TestDatabase.serviceRole, connections: 1
        ).forHotCalls()
        configuration.sessionSettings["search_path"] = path
        let pool = ConnectionPool(configuration)
        let parameters = Set(statement.text.matches(of: /\$[0-9]+/).map(\.output)).count
        let state = try await pool.refusal(of: statement, Array(repeating: .null, count: parameters))
        #expect(state?.code == "55000", "object_not_in_prerequisite_state under \(path)")
        await pool.shutdown()
    }

    /// A body names the schema only where it is parsed under the caller's search_path: the variables of the hot calls, which
    /// look at the path afterwards; triggers, which an owner's statement fires; and functions that these or a view call.
    @Test("No function names the schema that its search_path names already")
    func bodiesNameNoSchema() async throws {
        let database = try await Self.shared.value
        let named = try await database.run(RoleSQL.functionsThatNameTheSchema, []).map { try $0.text(0) }
        #expect(
            named == [
                "count_registry_change", "exchange", "guard_limits", "guard_session", "idp_session_limits",
                "is_selected", "keep_logged_out", "refresh", "sweep_limit",
            ])
    }
}

enum RoleSQL {
    /// Names in literals, as those of locks, do not count.
    static let functionsThatNameTheSchema = Statement(
        """
        SELECT p.proname::text FROM pg_proc p
        WHERE p.pronamespace = 'native_sso'::regnamespace
            AND regexp_replace(p.prosrc, '''[^'']*''|--[^\\n]*', '', 'g') ~ 'native_sso\\.'
        ORDER BY p.proname COLLATE "C"
        """)

    static let forbidden = [
        Statement("SELECT count(*) FROM native_sso.session"),
        Statement("SELECT count(*) FROM native_sso.device"),
        Statement("SELECT count(*) FROM native_sso.sso_grant"),
        Statement("SELECT count(*) FROM native_sso.audit_event"),
        Statement("SELECT count(*) FROM native_sso.used_proof"),
        Statement("DELETE FROM native_sso.used_proof"),
        Statement("SELECT count(*) FROM native_sso.web_handoff"),
        Statement("UPDATE native_sso.web_handoff SET redeemed_at = NULL"),
        Statement("DELETE FROM native_sso.web_handoff"),
        Statement("INSERT INTO native_sso.client_secret (client_id, slot, digest) VALUES ('x', 1, sha256('x'))"),
        Statement("DELETE FROM native_sso.client_key"),
        Statement("UPDATE native_sso.session SET ended_at = NULL, end_reason = NULL"),
        Statement("DELETE FROM native_sso.audit_event"),
        Statement("INSERT INTO native_sso.scope VALUES ('openid', false)"),
        Statement("UPDATE native_sso.client SET enabled = true"),
        Statement("SELECT native_sso.end_sessions('{}', 'operator', 'me', '{}')"),
        Statement("SELECT native_sso.record_administration('x', 'me', NULL, '{}')"),
        Statement("SELECT count(*) FROM native_sso.subject_logout"),
        Statement("DELETE FROM native_sso.subject_logout"),
        Statement("SELECT * FROM native_sso.register_session('https://idp.example.com', sha256('x'), 'user')"),
        Statement("SELECT count(*) FROM native_sso.retention"),
        Statement("UPDATE native_sso.retention SET audit_days = 30"),
        Statement("UPDATE native_sso.database_acceptance SET accepted_at = now()"),
        Statement("SELECT count(*) FROM native_sso.sweep"),
        Statement("UPDATE native_sso.sweep SET begun_at = 'infinity'"),
        Statement("SELECT count(*) FROM native_sso.dead_device"),
        Statement("SELECT count(*) FROM native_sso.subject_prefix"),
        Statement("UPDATE native_sso.subject_prefix SET prefix = ''"),
        Statement("SELECT count(*) FROM native_sso.relayed_code"),
        Statement("SELECT native_sso.erase_kept_answers(1)"),
        Statement("CREATE TABLE native_sso.mine (x int)"),
    ]

    /// What only a support desk may do.
    static let ofSupport = [
        Statement("SELECT native_sso.support_find_sessions('x', 'https://idp.example.com', 'user')"),
        Statement("SELECT native_sso.support_end_sessions('x', 'https://idp.example.com', 'user')"),
        Statement("SELECT native_sso.support_explain_request('x', gen_random_uuid())"),
    ]

    static let allowed = [
        Statement("SELECT count(*) FROM native_sso.client"),
        Statement("SELECT count(*) FROM native_sso.client_secret"),
        Statement("SELECT count(*) FROM native_sso.client_key"),
        Statement("SELECT count(*) FROM native_sso.sharing_group_member"),
        Statement("SELECT count(*) FROM native_sso.scope"),
        Statement("SELECT count(*) FROM native_sso.signing_key"),
        Statement("SELECT count(*) FROM native_sso.idp_key"),
        Statement("SELECT count(*) FROM native_sso.schema_migration"),
    ]
}
