import PostgresClient

/// Rows written directly, past the statements under test.
enum FixtureSQL {
    static let putClient = Statement(
        """
        INSERT INTO native_sso.client (
            client_id, authentication, enabled, grants, allowed_scope, default_scope, audiences, issues_refresh_token,
            issues_id_token, allows_self_exchange, dpop, accepted_acr)
        VALUES ($1, 'none', $2, '{refresh_token}', '{openid}', '{}', '{https://api.example.com}', true, false, false,
            'off', '{}')
        ON CONFLICT (client_id) DO UPDATE SET enabled = excluded.enabled
        """)
    static let putGroup = Statement(
        "INSERT INTO native_sso.sharing_group (group_id, issuer) VALUES ($1, $2) ON CONFLICT DO NOTHING")
    static let putMember = Statement(
        """
        INSERT INTO native_sso.sharing_group_member (
            group_id, issuer, client_id, role, scope_ceiling, handoff, handoff_origins)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (issuer, client_id) DO UPDATE SET
            group_id = excluded.group_id, role = excluded.role, scope_ceiling = excluded.scope_ceiling,
            handoff = excluded.handoff, handoff_origins = excluded.handoff_origins
        """)
    static let forgetGaps = Statement("DELETE FROM native_sso.service_gap")
    /// $1 and $2 seconds before now.
    static let putGap = Statement(
        """
        INSERT INTO native_sso.service_gap
        SELECT now() - make_interval(secs => $1::bigint), now() - make_interval(secs => $2::bigint)
        """)
    /// $1 seconds before now; NULL: always now.
    static let putCount = Statement(
        """
        UPDATE native_sso.service_count
        SET counted_at = coalesce(now() - make_interval(secs => $1::bigint), 'infinity')
        """)
    static let passHandoffLife = Statement("UPDATE native_sso.web_handoff SET expires_at = now()")
    static let removeMember = Statement(
        "DELETE FROM native_sso.sharing_group_member WHERE client_id = $1 AND issuer = $2")
    static let putSession = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id, created_at,
            expires_at, last_used_at, ended_at, end_reason, auth_time, iat_after, auth_time_after)
        VALUES ($1, $2, sha256($3::text::bytea), $2, sha256($3::text::bytea), $4, $5, $6, $7, now() - interval '200 days',
            date_trunc('second', now()) + make_interval(secs => $8::bigint),
            date_trunc('second', now()) - make_interval(secs => $9::bigint),
            CASE WHEN $10 THEN now() END, CASE WHEN $10 THEN 'logout' END, $11, $12, $13)
        """)
    /// As an end does it: a new session takes its limits from those before.
    static let limitSession = Statement(
        """
        UPDATE native_sso.session SET iat_after = greatest(iat_after, $2), auth_time_after = greatest(auth_time_after, $3)
        WHERE session_id = $1
        """)
    static let putDevice = Statement(
        """
        INSERT INTO native_sso.device (issuer, device_digest, first_seen_at, blocked_at, pinned_keys)
        VALUES ($1, $2, now(), CASE WHEN $3 THEN now() END, jsonb_object($4::text[], $5::text[]))
        ON CONFLICT (issuer, device_digest) DO UPDATE SET
            blocked_at = excluded.blocked_at, pinned_keys = excluded.pinned_keys
        """)
    static let putGrant = Statement(
        """
        INSERT INTO native_sso.sso_grant (
            grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, revoked_at,
            revoke_reason, created_at, expires_at, scope, audiences, auth_time, acr, amr, jkt, exchanged_generation,
            refreshed_generation, spent, keyless_before, claims)
        VALUES ($1, $2, $3, $4, $5, $6::integer, date_trunc('second', now()) - make_interval(secs => $7::bigint),
            CASE WHEN $8 THEN now() END,
            CASE WHEN NOT $8 THEN NULL WHEN $17 THEN 'refresh_token_reused' WHEN $18 THEN 'refresh_token_late'
                ELSE 'operator' END, now() - interval '200 days',
            date_trunc('second', now()) + make_interval(secs => $9::bigint), $10, $11, $12, $13, $14, $15, $16::integer,
            CASE WHEN $16::integer = $6::integer THEN 0 ELSE $6::integer END, $19::text::int4multirange, $20, $21)
        """)
    static let disable = Statement(
        """
        INSERT INTO native_sso.subject_logout (idp_issuer, subject, disabled_at, recorded_at) VALUES ($1, $2, now(), now())
        """)
    static let putUsedProof = Statement(
        "INSERT INTO native_sso.used_proof (kind, digest, expires_at) VALUES ($1, $2, now() + interval '1 minute')")
    static let counts = Statement(
        """
        SELECT (SELECT count(*) FROM native_sso.session), (SELECT count(*) FROM native_sso.sso_grant),
            (SELECT count(*) FROM native_sso.sso_grant WHERE revoked_at IS NULL),
            (SELECT count(*) FROM native_sso.device), (SELECT count(*) FROM native_sso.audit_event),
            (SELECT count(*) FROM native_sso.used_proof)
        """)
    /// Every row of every table but the audit and the used proofs.
    static let digest = Statement(
        """
        SELECT coalesce(sum(hashtextextended(t, 0)), 0)::text FROM (
            SELECT 'session ' || x::text FROM native_sso.session x
            UNION ALL SELECT 'grant ' || x::text FROM native_sso.sso_grant x
            UNION ALL SELECT 'device ' || x::text FROM native_sso.device x
            UNION ALL SELECT 'handoff ' || x::text FROM native_sso.web_handoff x
            UNION ALL SELECT 'client ' || x::text FROM native_sso.client x
            UNION ALL SELECT 'secret ' || x::text FROM native_sso.client_secret x
            UNION ALL SELECT 'client key ' || x::text FROM native_sso.client_key x
            UNION ALL SELECT 'member ' || x::text FROM native_sso.sharing_group_member x
            UNION ALL SELECT 'key ' || x::text FROM native_sso.signing_key x
        ) AS rows (t)
        """)
    static let serviceProcesses = Statement(
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'sso_service' AND datname = current_database()")
}
