import NativeSSO
import PostgresClient
import PrivateCluster
import Testing

@testable import Registry

/// A support desk finds and ends the sessions of one user or device, and nothing else.
@Suite("The role of a support desk", .serialized, .timeLimit(.minutes(2))) struct SupportRoleTests {
    private static let role = "support_desk"

    /// A login role that is a member of `native_sso_support` alone.
    private static func desk(of database: PostgresFixture) async throws -> ConnectionPool {
        try await database.cluster.makeLogin(role: role, "IN ROLE native_sso_support")
        return ConnectionPool(
            try TestDatabase.configuration(database.cluster, database: database.name, user: role, connections: 1))
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

    @Test func findsAndEndsTheSessionsOfADeviceAndOfAUser() async throws {
        try await TestDatabase.withWorld { database, world in
            _ = try await database.run(SupportSQL.addElsewhere, [])
            let desk = try await Self.desk(of: database)
            try await ending {
                let live = try await desk.query(SupportSQL.find, []).map { try $0.text(0) }
                #expect(live.count == 2 && live.contains("\(world.sessionRowID) user {app-two} live"))
                let onDevice = try await desk.query(SupportSQL.endDevice, [.uuid(world.sessionRowID.octets)])
                #expect(try onDevice.map { try $0.text(0) } == [world.sessionRowID.description])
                #expect(try await desk.query(SupportSQL.end, []).count == 1)
                #expect(try await desk.query(SupportSQL.end, []).isEmpty)
                let ended = try await desk.query(SupportSQL.find, []).map { try $0.text(0) }
                #expect(ended.count == 2 && ended.allSatisfy { $0.hasSuffix(" support") })
                #expect(try await database.registry.rotate(world.rotation(generation: 1)).effect == .none)
                #expect(
                    try await Self.audit(database) == [
                        "sessions_found ticket 7 ann support_desk 2",
                        "session_ended support support_desk support_desk ticket 9",
                        "session_ended support support_desk support_desk ticket 8",
                        "sessions_found ticket 7 ann support_desk 2",
                    ])
            } with: {
                await desk.shutdown()
            }
        }
    }

    @Test("Neither all sessions, nor a look without a reason, nor anything else")
    func mayNot() async throws {
        try await TestDatabase.withWorld { database, _ in
            let desk = try await Self.desk(of: database)
            try await ending {
                for statement in SupportSQL.incomplete {
                    let state = try await desk.refusal(of: statement)
                    #expect(state?.code == "22023", "invalid_parameter_value: \(statement.text)")
                }
                for statement in RoleSQL.forbidden + SupportSQL.forbidden {
                    let state = try await desk.refusal(of: statement)
                    #expect(state?.code == "42501", "insufficient_privilege: \(statement.text)")
                }
                #expect(try await Self.audit(database) == [])
            } with: {
                await desk.shutdown()
            }
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

    static let endDevice = Statement("SELECT native_sso.support_end_sessions('ticket 9', p_on_device_of => $1)::text")
    static let addElsewhere = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, subject, device_digest, created_at, expires_at, last_used_at)
        SELECT gen_random_uuid(), issuer, sha256('elsewhere'), idp_issuer, subject, sha256('x'), created_at, expires_at,
            last_used_at
        FROM native_sso.session LIMIT 1
        """)

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
