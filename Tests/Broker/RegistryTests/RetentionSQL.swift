import PostgresClient

/// Rows of every age, written directly.
enum RetentionSQL {
    /// $1 how many: sessions that expired 100 days ago, each with a revoked and a live grant.
    static let addDead = Statement(
        """
        WITH added AS (
            INSERT INTO native_sso.session (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
            SELECT ('00000000-0000-7000-9000-' || lpad(n::text, 12, '0'))::uuid, 'https://idp.example.com',
                sha256(('dead-' || n)::bytea), 'https://idp.example.com', sha256(('dead-' || n)::bytea), 'user', now() - interval '190 days', now() - interval '100 days',
                now() - interval '100 days'
            FROM generate_series(1, $1::bigint) AS n
            RETURNING session_id
        )
        INSERT INTO native_sso.sso_grant
        SELECT gen_random_uuid(), session_id, 'app-two', 'app-one', sha256('device'), 1, now(), '{}', '{}', NULL, NULL, '{}',
            NULL, now(), now(), revoked, CASE WHEN revoked IS NOT NULL THEN 'operator' END
        FROM added, (VALUES (NULL::timestamptz), (now())) AS each (revoked)
        """)
    /// A session that expired 100 days ago, with an id of a year far from now.
    static let addFuture = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, created_at, expires_at, last_used_at)
        VALUES ('fffffff0-0000-7000-9000-000000000000', 'https://idp.example.com', sha256('future'),
            'https://idp.example.com', sha256('future'), 'user', now() - interval '190 days',
            now() - interval '100 days', now() - interval '100 days')
        """)
    /// Sessions that are over, but not for long enough: $1 sid, $2 days since it expired, $3 days since it was ended.
    static let addSession = Statement(
        """
        INSERT INTO native_sso.session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, device_digest, created_at, expires_at, last_used_at,
            ended_at, end_reason)
        SELECT ('00000000-0000-7000-a000-' || substr(md5($1), 1, 12))::uuid, 'https://idp.example.com',
            sha256($1::bytea), 'https://idp.example.com', sha256($1::bytea), 'user', sha256($1::bytea), now() - interval '200 days',
            now() - make_interval(days => $2), now() - interval '200 days', now() - make_interval(days => $3),
            CASE WHEN $3 IS NOT NULL THEN 'logout' END
        """)
    /// $1 session, $2 days since it was revoked.
    static let addRevokedGrant = Statement(
        """
        INSERT INTO native_sso.sso_grant
        SELECT gen_random_uuid(), session_id, 'app-two', 'app-one', sha256('device'), 1, now(), '{}', '{}', NULL, NULL, '{}',
            NULL, now(), now(), now() - make_interval(days => $2), 'operator'
        FROM native_sso.session WHERE sid = sha256($1::text::bytea)
        """)
    /// A grant that has bound the key of a device: $1 session, $2 device value, $3 key, $4 days since it was revoked.
    static let addBoundGrant = Statement(
        """
        INSERT INTO native_sso.sso_grant
        SELECT gen_random_uuid(), session_id, 'app-two', 'app-one', sha256($2::text::bytea), 1, now(), '{}', '{}', NULL, NULL,
            '{}', $3, now(), now() + interval '30 days', now() - make_interval(days => $4),
            CASE WHEN $4 IS NOT NULL THEN 'operator' END
        FROM native_sso.session WHERE sid = sha256($1::text::bytea)
        """)
    /// Turns all revoked grants into replayed ones, past the rule that a revoked grant never changes.
    static let replay = Statement(
        """
        WITH gone AS (DELETE FROM native_sso.sso_grant WHERE revoked_at IS NOT NULL RETURNING *)
        INSERT INTO native_sso.sso_grant
        SELECT gen_random_uuid(), session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope,
            audiences, auth_time, acr, amr, jkt, created_at, expires_at, revoked_at, 'refresh_token_reused' FROM gone
        """)
    /// What sweep_grants looks for.
    static let sweepablePlan = Statement(
        """
        EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)
        SELECT g.grant_id FROM native_sso.dead_grant g ORDER BY g.revoked_at LIMIT 1000
        """)
    /// $1 of whose device value, $2 days since it was first seen, $3 whether it is blocked.
    static let addDevice = Statement(
        """
        INSERT INTO native_sso.device (issuer, device_digest, first_seen_at, blocked_at, pinned_keys)
        VALUES ('https://idp.example.com', sha256($1::text::bytea), now() - make_interval(days => $2),
            CASE WHEN $3 THEN now() END, jsonb_build_object('app-two', repeat('k', 43)))
        """)
    static let addProofs = Statement(
        """
        INSERT INTO native_sso.used_proof (kind, digest, expires_at)
        VALUES ('dpop', sha256('old'), now() - interval '2 hours'), ('dpop', sha256('new'), now() - interval '1 minute')
        """)
    static let sessions = Statement("SELECT sid FROM native_sso.session")
    static let deadSessions = Statement(
        "SELECT count(*) FROM native_sso.session WHERE session_id::text LIKE '00000000-0000-7000-9000-%'")
    static let devices = Statement(
        """
        SELECT name FROM native_sso.device, unnest('{forgotten,fresh,blocked,live,second,revoked,unbound}'::text[]) AS name
        WHERE device_digest = sha256(name::bytea) ORDER BY name
        """)
    static let grants = Statement("SELECT count(*), count(revoked_at) FROM native_sso.sso_grant")
    static let proofs = Statement("SELECT count(*) FROM native_sso.used_proof")

    static let retainSessions = Statement("UPDATE native_sso.retention SET session_days = $1")
    static let retainAudit = Statement("UPDATE native_sso.retention SET audit_days = $1")
    static let cursor = Statement("SELECT after_issuer || encode(after_device, 'hex') FROM native_sso.sweep")
    static let sweepDevicesByOne = Statement("SELECT removed FROM native_sso.sweep_devices(1)")
    /// The arguments and results of the sweep functions that the service may call.
    static let sweepInterface = Statement(
        """
        SELECT DISTINCT pg_get_function_arguments(p.oid) || ': '
            || (SELECT string_agg(a.attname || ' ' || format_type(a.atttypid, NULL), ', ' ORDER BY a.attnum)
                FROM pg_type t JOIN pg_attribute a ON a.attrelid = t.typrelid WHERE t.oid = p.prorettype)
        FROM pg_proc p
        WHERE p.pronamespace = 'native_sso'::regnamespace AND p.proname LIKE 'sweep\\_%'
            AND has_function_privilege('native_sso_broker', p.oid, 'EXECUTE')
        """)

    static let addOldMonths = Statement(
        """
        DO $$ BEGIN
            CREATE TABLE native_sso.audit_event_p2020_01 PARTITION OF native_sso.audit_event
                FOR VALUES FROM ('2020-01-01Z') TO ('2020-02-01Z');
            CREATE TABLE native_sso.audit_event_p2020_02 PARTITION OF native_sso.audit_event
                FOR VALUES FROM ('2020-02-01Z') TO ('2020-03-01Z');
            INSERT INTO native_sso.audit_event (occurred_at, kind)
            VALUES ('2020-01-15Z', 'old'), ('2020-02-15Z', 'old'), (now(), 'new');
            ALTER TABLE native_sso.audit_event_p2020_01 OWNER TO native_sso_admin;
            ALTER TABLE native_sso.audit_event_p2020_02 OWNER TO native_sso_admin;
        END $$
        """)
    static let auditKinds = Statement("SELECT kind FROM native_sso.audit_event")
    static let dropComingMonth = Statement(
        """
        DO $$ BEGIN
            EXECUTE 'DROP TABLE native_sso.audit_event_p'
                || to_char(date_trunc('month', now() AT TIME ZONE 'UTC') + interval '3 months', 'YYYY_MM');
        END $$
        """)
    static let preparedMonths = Statement(
        """
        SELECT count(*) FROM pg_inherits JOIN pg_class ON oid = inhrelid
        WHERE inhparent = 'native_sso.audit_event'::regclass
            AND relname > 'audit_event_p' || to_char(now() AT TIME ZONE 'UTC', 'YYYY_MM')
        """)

    static let waiting = Statement("SELECT count(*) FROM pg_locks WHERE NOT granted")

    // Parts of a sweep, as a sweeper runs them.
    static let sweepSessions = Statement("SELECT removed FROM native_sso.sweep_sessions(1000)")
    static let sweepGrants = Statement("SELECT removed FROM native_sso.sweep_grants(1000)")
    static let sweepDevices = Statement("SELECT removed FROM native_sso.sweep_devices(1000)")
    static let sweepProofsFirst = Statement("SELECT removed FROM native_sso.sweep_proofs(1000)")
    static let sweepAudit = Statement("SELECT removed FROM native_sso.sweep_audit(1000)")
    static let prepareMonths = Statement("SELECT native_sso.prepare_audit_partitions()")

    static let holdDead = Statement("SELECT session_id FROM native_sso.session WHERE sid = sha256('dead-1') FOR UPDATE")
    static let killService = Statement(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = 'sso_service' AND datname = current_database()"
    )
}
