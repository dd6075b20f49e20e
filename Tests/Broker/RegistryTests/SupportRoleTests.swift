import NativeSSO
import PostgresClient
import PrivateCluster
import Testing

@testable import Registry

/// A support desk finds and ends the sessions of one user or device, and nothing else.
@Suite("The role of a support desk", .serialized, .timeLimit(.minutes(2))) struct SupportRoleTests {
    /// Runs as a login role that is a member of `native_sso_support` alone.
    private static func withDesk(
        _ body: @Sendable (PostgresFixture, World, ConnectionPool) async throws -> Void
    ) async throws {
        try await TestDatabase.withFixture { database in
            let world = try await World.make(in: database)
            try await database.cluster.makeLogin(role: "support_desk", "IN ROLE native_sso_support")
            let desk = ConnectionPool(
                try TestDatabase.configuration(
                    database.cluster, database: database.name, user: "support_desk", connections: 1))
            try await ending {
                try await body(database, world, desk)
            } with: {
                await desk.shutdown()
            }
        }
    }

    private static func audit(_ database: PostgresFixture) async throws -> [String] {
        try await database.run(
            Statement(
                """
                SELECT concat_ws(' ', kind, reason, actor, details ->> 'database_user', coalesce(details ->> 'why', details ->> 'sessions'))
                FROM native_sso.audit_event WHERE session_id IS NOT NULL OR kind = 'sessions_found' ORDER BY occurred_at
                """), []
        ).map { try $0.text(0) }
    }

    @Test func findsAndEndsTheSessionsOfAUser() async throws {
        try await Self.withDesk { database, world, desk in
            let found = try await desk.query(SupportSQL.find, [])
            #expect(try found.map { try $0.text(0) } == ["\(world.sessionRowID) user {app-two} live"])
            let ended = try await desk.query(SupportSQL.end, [])
            #expect(try ended.map { try $0.text(0) } == [world.sessionRowID.description])
            #expect(try await desk.query(SupportSQL.end, []).isEmpty)
            #expect(
                try await desk.query(SupportSQL.find, []).map { try $0.text(0) }.first?.hasSuffix("support") == true)
            #expect(try await database.registry.rotate(world.rotation(generation: 1)).grant?.session.endedAt != nil)
            #expect(
                try await Self.audit(database) == [
                    "sessions_found ticket 7 ann support_desk 1",
                    "session_ended support support_desk support_desk ticket 8",
                    "sessions_found ticket 7 ann support_desk 1",
                ])
        }
    }

    /// The device of a session, and no session on another one.
    @Test func findsAndEndsTheSessionsOfADevice() async throws {
        try await Self.withDesk { database, world, desk in
            _ = try await database.registry.admit(world.firstAdmission(sid: "sid-2"))
            _ = try await database.run(
                Statement(
                    """
                    INSERT INTO native_sso.session (
                        session_id, issuer, sid, idp_issuer, subject, device_digest, created_at, expires_at, last_used_at)
                    SELECT gen_random_uuid(), issuer, sha256('elsewhere'), idp_issuer, subject, sha256('x'), created_at, expires_at,
                        last_used_at FROM native_sso.session LIMIT 1
                    """), [])
            let ended = try await desk.query(
                Statement("SELECT native_sso.support_end_sessions('ticket 9', p_on_device_of => $1)::text"),
                [.uuid(world.sessionRowID)])
            #expect(ended.count == 2)
            let live = try await database.run(
                Statement("SELECT count(*) FROM native_sso.session WHERE ended_at IS NULL"), [])
            #expect(try live.map { try $0.int64(0) } == [1])
        }
    }

    @Test("Neither all sessions, nor a look without a reason", arguments: SupportSQL.incomplete)
    func needsOneUserOrDeviceAndAReason(statement: Statement) async throws {
        try await Self.withDesk { database, _, desk in
            let state = try await desk.refusal(of: statement)
            #expect(state?.code == "22023", "invalid_parameter_value: \(statement.text)")
            #expect(try await Self.audit(database) == [])
        }
    }

    @Test("Nothing else", arguments: RoleSQL.forbidden + SupportSQL.forbidden)
    func mayNot(statement: Statement) async throws {
        try await Self.withDesk { _, _, desk in
            let state = try await desk.refusal(of: statement)
            #expect(state?.code == "42501", "insufficient_privilege: \(statement.text)")
        }
    }
}

enum SupportSQL {
    static let find = Statement(
        """
        SELECT concat_ws(' ', session_id, subject, clients, coalesce(end_reason, 'live'))
        FROM native_sso.support_find_sessions('ticket 7', 'https://idp.example.com', 'user', p_actor => 'ann')
        """)
    static let end = Statement(
        "SELECT native_sso.support_end_sessions('ticket 8', 'https://idp.example.com', 'user')::text")

    static let incomplete = [
        Statement("SELECT native_sso.support_find_sessions('ticket')"),
        Statement("SELECT native_sso.support_find_sessions('ticket', 'https://idp.example.com')"),
        Statement("SELECT native_sso.support_find_sessions('ticket', NULL, 'user')"),
        Statement(
            "SELECT native_sso.support_find_sessions('ticket', 'https://idp.example.com', 'user', gen_random_uuid())"),
        Statement("SELECT native_sso.support_find_sessions('', 'https://idp.example.com', 'user')"),
        Statement("SELECT native_sso.support_end_sessions(NULL, 'https://idp.example.com', 'user')"),
        Statement("SELECT native_sso.support_end_sessions('ticket')"),
    ]

    static let forbidden = [
        Statement("SELECT count(*) FROM native_sso.client"),
        Statement("SELECT count(*) FROM native_sso.client_secret"),
        Statement("SELECT count(*) FROM native_sso.signing_key"),
        Statement("SELECT native_sso.supported_ids('https://idp.example.com', 'user', NULL, true)"),
        Statement("SELECT native_sso.revoke_own_grant(NULL, 'app-two', NULL)"),
        Statement("SELECT native_sso.end_signed_out(NULL, 'app-two', '{}', '{}')"),
        Statement("SELECT native_sso.is_grant_live(NULL, 'app-two', now(), 1)"),
        Statement("SET ROLE native_sso_admin"),
    ]
}
