import BrokerTesting
import NativeSSO
import PostgresClient
import Testing

/// Constraints guard the invariants. The tests try to break them as the superuser, past the program's statements.
@Suite("Guards of the schema", .serialized)
struct SchemaGuardTests {
    /// A refused statement leaves it as it was.
    private static let unchanged = Task {
        let database = try await TestDatabase.shared()
        for statement in GuardSQL.world { try await database.run(statement, []) }
        return database
    }

    @Test("The triggers refuse to revive sessions and grants or to move a family", arguments: GuardSQL.refused)
    func refuses(attempt: Statement) async throws {
        let database = try await Self.unchanged.value
        let state = try await database.superuser.refusal(of: attempt)
        #expect(state?.isConstraintViolation == true, "\(state?.code ?? "was allowed"): \(attempt.text)")
    }

    /// Not an error: the caller learns that it recorded nothing, and reads the present state.
    @Test("A login with the sid of a logged-out session adds no row")
    func addsNothing() async throws {
        try await TestDatabase.withFixture { database in
            for statement in GuardSQL.world { try await database.run(statement, []) }
            let before = try await database.run(GuardSQL.sessions, []).map { try $0.text(0) }
            #expect(try await database.run(GuardSQL.secondLogin, []).isEmpty)
            #expect(try await database.run(GuardSQL.sessions, []).map { try $0.text(0) } == before)
        }
    }

    @Test("Rotation and revocation are allowed")
    func allows() async throws {
        try await TestDatabase.withFixture { database in
            for statement in GuardSQL.world { try await database.run(statement, []) }
            for attempt in GuardSQL.allowed {
                #expect(try await database.run(attempt, []).count == 1, "\(attempt.text)")
            }
        }
    }
}

enum GuardSQL {
    static let world = [
        Statement(
            """
            INSERT INTO native_sso.client (
                client_id, authentication, enabled, grants, allowed_scope, default_scope, audiences,
                issues_refresh_token, issues_id_token, allows_self_exchange, dpop, accepted_acr)
            SELECT name, 'none', true, '{}', '{}', '{}', '{x}', true, false, false, 'off', '{}'
            FROM unnest('{app-one,app-two}'::text[]) AS name
            """),
        Statement(
            """
            INSERT INTO native_sso.client (
                client_id, authentication, enabled, grants, allowed_scope, default_scope, audiences,
                issues_refresh_token, issues_id_token, allows_self_exchange, dpop, accepted_acr)
            SELECT name, method, true, '{}', '{}', '{}', '{x}', true, false, false, 'off', '{}'
            FROM (VALUES ('server', 'client_secret_basic'), ('signer', 'private_key_jwt')) AS clients (name, method)
            """),
        Statement(
            "INSERT INTO native_sso.client_secret (client_id, slot, digest) VALUES ('server', 1, sha256('first'))"),
        Statement(
            """
            INSERT INTO native_sso.session (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at, ended_at,
                end_reason)
            SELECT id, 'https://idp', native_sso.own_sid(id), 'https://idp', native_sso.own_sid(id), 'user', now(), now() + interval '1 day', now(),
                ended, CASE WHEN ended IS NOT NULL THEN 'logout' END
            FROM (VALUES ('00000000-0000-7000-8000-000000000001'::uuid, NULL::timestamptz),
                ('00000000-0000-7000-8000-000000000002', now())) AS sessions (id, ended)
            """),
        Statement(
            """
            INSERT INTO native_sso.sso_grant (
                grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope,
                audiences, amr, created_at, expires_at, revoked_at, revoke_reason)
            SELECT id, '00000000-0000-7000-8000-000000000001', 'app-one', 'app-one', decode(repeat('ab', 32), 'hex'), 5,
                now(), '{}', '{}', '{}', now(), now() + interval '1 day', revoked,
                CASE WHEN revoked IS NOT NULL THEN 'operator' END
            FROM (VALUES ('00000000-0000-7000-8000-00000000000a'::uuid, NULL::timestamptz),
                ('00000000-0000-7000-8000-00000000000b', now())) AS grants (id, revoked)
            """),
        Statement(
            """
            INSERT INTO native_sso.audit_event (occurred_at, kind) VALUES (now(), 'session_ended')
            """),
    ]

    static let secondLogin = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
        SELECT gen_random_uuid(), issuer, sid, issuer, sid, 'user', now(), now(), now() FROM native_sso.session
        WHERE ended_at IS NOT NULL
        RETURNING 1
        """)
    static let sessions = Statement("SELECT x::text FROM native_sso.session x ORDER BY session_id")

    static let refused = [
        Statement("UPDATE native_sso.session SET ended_at = NULL, end_reason = NULL WHERE ended_at IS NOT NULL"),
        Statement("UPDATE native_sso.session SET ended_at = now() WHERE ended_at IS NULL"),
        Statement("UPDATE native_sso.session SET subject = 'other' WHERE ended_at IS NULL"),
        Statement("UPDATE native_sso.session SET subject = NULL WHERE ended_at IS NULL"),
        Statement("UPDATE native_sso.session SET sid = sha256('other') WHERE ended_at IS NULL"),
        Statement("UPDATE native_sso.session SET sid = 'other' WHERE ended_at IS NULL"),
        Statement("UPDATE native_sso.session SET issuer = 'other' WHERE ended_at IS NULL"),
        Statement("UPDATE native_sso.session SET expires_at = expires_at + interval '1 s' WHERE ended_at IS NULL"),
        Statement(
            """
            UPDATE native_sso.sso_grant SET revoked_at = NULL, revoke_reason = NULL WHERE revoked_at IS NOT NULL
            """),
        Statement("UPDATE native_sso.sso_grant SET generation = 6 WHERE revoked_at IS NOT NULL"),
        Statement("UPDATE native_sso.sso_grant SET generation = 4 WHERE revoked_at IS NULL"),
        Statement("UPDATE native_sso.sso_grant SET generation = 7 WHERE revoked_at IS NULL"),
        Statement("UPDATE native_sso.sso_grant SET client_id = 'app-two' WHERE revoked_at IS NULL"),
        Statement(
            """
            UPDATE native_sso.sso_grant SET session_id = '00000000-0000-7000-8000-000000000002'
            WHERE revoked_at IS NULL
            """),
        Statement(
            """
            INSERT INTO native_sso.sso_grant
            SELECT gen_random_uuid(), session_id, client_id, source_client_id, device_digest, 1, now(), scope, audiences,
                NULL, NULL, amr, NULL, now(), expires_at
            FROM native_sso.sso_grant WHERE revoked_at IS NULL
            """),
        Statement("UPDATE native_sso.sso_grant SET revoked_at = now() WHERE revoked_at IS NULL"),
        Statement("UPDATE native_sso.sso_grant SET device_digest = '' WHERE revoked_at IS NULL"),
        Statement("UPDATE native_sso.sso_grant SET jkt = 'short' WHERE revoked_at IS NULL"),
        Statement("UPDATE native_sso.sso_grant SET claims = repeat('x', 2049) WHERE revoked_at IS NULL"),
        Statement("UPDATE native_sso.client SET copied_claims = '{a,b,c,d,e,f,g,h,i}'"),
        Statement(
            """
            INSERT INTO native_sso.sso_grant
            SELECT gen_random_uuid(), session_id, client_id, source_client_id, device_digest, 0, now(), scope, audiences,
                NULL, NULL, amr, NULL, now(), expires_at, now(), 'operator'
            FROM native_sso.sso_grant WHERE revoked_at IS NULL
            """),
        Statement(
            """
            INSERT INTO native_sso.session (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
            SELECT gen_random_uuid(), issuer, sha256('new'), issuer, sha256('new'), 'user', now(), now() + interval '401 days', now()
            FROM native_sso.session LIMIT 1
            """),
        Statement(
            """
            INSERT INTO native_sso.session (
                session_id, issuer, sid, idp_issuer, idp_sid, created_at, expires_at, last_used_at)
            SELECT gen_random_uuid(), issuer, sha256('new'), issuer, sha256('new'), now(), now(), now() FROM native_sso.session LIMIT 1
            """),
        Statement("UPDATE native_sso.audit_event SET kind = 'nothing'"),
        Statement("DELETE FROM native_sso.audit_event"),
        Statement("UPDATE native_sso.client SET authentication = 'none' WHERE client_id = 'server'"),
        Statement("UPDATE native_sso.client SET authentication = 'private_key_jwt' WHERE client_id = 'server'"),
        Statement("INSERT INTO native_sso.client_secret (client_id, slot, digest) VALUES ('app-one', 1, sha256('x'))"),
        Statement("INSERT INTO native_sso.client_secret (client_id, slot, digest) VALUES ('server', 1, sha256('x'))"),
        Statement("INSERT INTO native_sso.client_secret (client_id, slot, digest) VALUES ('server', 3, sha256('x'))"),
        Statement("INSERT INTO native_sso.client_secret (client_id, slot, digest) VALUES ('server', 2, 'secret')"),
        Statement("INSERT INTO native_sso.client_secret VALUES ('app-one', 'none', 1, sha256('x'))"),
        Statement(
            """
            INSERT INTO native_sso.client_key (client_id, kid, public_jwk)
            VALUES ('app-one', 'k', '{"kty": "EC", "alg": "ES256"}')
            """),
        Statement(
            """
            INSERT INTO native_sso.client_key (client_id, kid, public_jwk)
            VALUES ('server', 'k', '{"kty": "EC", "alg": "ES256"}')
            """),
        Statement(
            """
            INSERT INTO native_sso.client_key (client_id, kid, public_jwk) VALUES ('signer', 'k', '{"alg": "ES256"}')
            """),
        Statement(
            "INSERT INTO native_sso.client_key (client_id, kid, public_jwk) VALUES ('signer', 'k', '{\"kty\": \"EC\"}')"
        ),
        Statement(
            """
            INSERT INTO native_sso.client_key (client_id, kid, public_jwk)
            VALUES ('signer', 'k', '{"kty": "RSA", "alg": "RS256", "oth": []}')
            """),
        Statement("UPDATE native_sso.client SET default_scope = '{openid}'"),
        Statement("UPDATE native_sso.retention SET session_days = 89"),
        Statement("UPDATE native_sso.retention SET audit_days = 29"),
        Statement(
            """
            INSERT INTO native_sso.idp_key (
                issuer, thumbprint, kid, algorithm, public_jwk, first_seen_at, last_seen_at, tag)
            VALUES ('https://idp', repeat('a', 43), '1', '', '{"kty": "EC", "d": "x"}', now(), now(), repeat('t', 43))
            """),
        Statement("UPDATE native_sso.client SET refresh_token_seconds = 34560001"),
        Statement("DELETE FROM native_sso.general_end"),
        Statement("TRUNCATE native_sso.general_end"),
    ]

    static let allowed = [
        Statement(
            """
            INSERT INTO native_sso.client_secret (client_id, slot, digest) VALUES ('server', 2, sha256('second'))
            RETURNING 1
            """),
        Statement(
            """
            INSERT INTO native_sso.client_key (client_id, kid, public_jwk)
            VALUES ('signer', 'k', '{"kty": "EC", "alg": "ES256"}') RETURNING 1
            """),
        Statement("UPDATE native_sso.sso_grant SET generation = 6 WHERE revoked_at IS NULL RETURNING 1"),
        Statement(
            """
            UPDATE native_sso.sso_grant SET revoked_at = now(), revoke_reason = 'operator'
            WHERE revoked_at IS NULL RETURNING 1
            """),
        Statement("UPDATE native_sso.session SET expires_at = now() WHERE ended_at IS NULL RETURNING 1"),
        Statement(
            """
            UPDATE native_sso.session SET ended_at = now(), end_reason = 'logout' WHERE ended_at IS NULL RETURNING 1
            """),
    ]
}
