-- The exchange: which calls get a grant. One current text, applied again when it changes. The rule stands here once, and once in
-- Swift (`refusal` in Decision.swift). A property test holds the two equal.
--
-- The condition of correctness: each writer that changes a fact of an exchange's judgement makes a new version of the login's
-- session row or grant row. `exchange` and `refresh` lock and write only the version that they judged. If a row moved, they judge
-- the call again.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

-- The single-use parts of calls: a client assertion, a DPoP proof, or both. `place` counts the calls from 1.
SELECT make_type('shown', $$
    place bigint, assertion bytea, assertion_expires_at timestamptz, proof bytea, proof_seconds bigint$$);

-- sid: SHA-256 of the claim. other_audience: `aud` of the id_token without the source client. jkt: the key that a DPoP proof showed;
-- NULL: none.
-- heeds_pin: whether the client has one key on each device, the first that it shows in an exchange. permitted: whether the request
-- checks passed; if not, the exchange looks and writes nothing. idle_seconds: longest time between two uses of the session.
-- grant_seconds: life of the grant; NULL: that of the session. first_sight_seconds: life of a session that begins with this
-- exchange; NULL: none may begin. grant_id, session_id: ids for the rows that the exchange may have to make; without a grant_id the
-- call is only judged. claims: what access tokens copy of the id_token.
SELECT make_type('exchange_call', $$
    request_id uuid, issuer text COLLATE "C", sid bytea, subject text COLLATE "C", source_client text COLLATE "C",
    other_audience text[], auth_time timestamptz, acr text, amr text[], issued_at timestamptz, client text COLLATE "C",
    allows_self_exchange boolean, device bytea, profile text, scope text[], audiences text[], jkt text COLLATE "C",
    heeds_pin boolean, permitted boolean, idle_seconds bigint, grant_seconds bigint, first_sight_seconds bigint,
    grant_id uuid, session_id uuid, claims text COLLATE "C", trace_id uuid$$);

-- What the exchange saw, and the grant that it recorded; NULL: none. token_covered: whether the id_token is from before the general end
-- of all sessions. generation: 0 where a call was only judged and no rule refuses.
SELECT make_type('exchange_answer', $$
    place bigint, seen_at timestamptz, assertion_used boolean, proof_used boolean, client_enabled boolean,
    source_group text, source_role text, target_group text, target_role text, scope_ceiling text[],
    other_audience_in_group boolean, session_id uuid, subject text, ended_at timestamptz, expires_at timestamptz,
    last_used_at timestamptz, has_auth_time boolean, iat_after timestamptz, auth_time_after timestamptz,
    device_blocked boolean, pinned_jkt text, needs_later_login boolean, account_disabled boolean, token_covered boolean,
    grant_id uuid, generation integer, grant_expires_at timestamptz$$);

-- Whether this is the first use of a client assertion. Its row belongs to the transaction of the grant: a rollback uses nothing up.
-- A use in another open transaction counts as a use, so no transaction waits here for another.
CREATE OR REPLACE FUNCTION use_client_assertion(p_digest bytea, p_expires_at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
BEGIN
    IF p_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('native_sso.assertion ' || encode(p_digest, 'hex'), 0)) THEN
        RETURN false;
    END IF;
    INSERT INTO used_proof (kind, digest, expires_at)
    VALUES ('client_assertion', p_digest, least(p_expires_at, now() + interval '2 hours'))
    ON CONFLICT (kind, digest) DO NOTHING;
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION use_client_assertion TO native_sso_broker;

-- The same for a DPoP proof. A proof is valid for less than an hour, so a stolen service password cannot leave rows for ever. The
-- sweep deletes the row an hour after that, because the brokers' clocks may differ.
CREATE OR REPLACE FUNCTION use_dpop_proof(p_digest bytea, p_seconds bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('native_sso.proof ' || encode(p_digest, 'hex'), 0)) THEN
        RETURN false;
    END IF;
    INSERT INTO used_proof (kind, digest, expires_at)
    VALUES ('dpop', p_digest, clock_timestamp() + make_interval(secs => least(p_seconds, 3600)))
    ON CONFLICT (kind, digest) DO NOTHING;
    RETURN FOUND;
END
$$;

-- Uses the assertions up. Returns the places of those that were used before.
CREATE OR REPLACE FUNCTION used_assertions(p_shown shown[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY (
        SELECT s.place FROM unnest(p_shown) AS s
        WHERE s.assertion IS NOT NULL AND NOT use_client_assertion(s.assertion, s.assertion_expires_at));
END
$$;

-- The same for the proofs of calls whose assertion was not used before.
CREATE OR REPLACE FUNCTION used_proofs(p_shown shown[], p_assertion_used bigint[]) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY (
        SELECT s.place FROM unnest(p_shown) AS s
        WHERE s.proof IS NOT NULL AND s.place <> ALL (p_assertion_used) AND NOT use_dpop_proof(s.proof, s.proof_seconds));
END
$$;

-- Locks the bound keys of a device until the commit. Returns whether the client may bind this one there.
CREATE OR REPLACE FUNCTION pin_is_free(p_issuer text, p_device bytea, p_client text, p_jkt text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
    RETURN NOT EXISTS (
        SELECT FROM device d
        WHERE d.issuer = p_issuer AND d.device_digest = p_device AND (d.pinned_keys ->> p_client) <> p_jkt);
END
$$;

-- Binds a key to a client on a device, unless the client has one there. Returns the key that it has.
CREATE OR REPLACE FUNCTION pin_key(p_issuer text, p_device bytea, p_client text, p_jkt text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
    INSERT INTO device AS d (issuer, device_digest, first_seen_at, pinned_keys)
    VALUES (p_issuer, p_device, date_trunc('second', clock_timestamp()), jsonb_build_object(p_client, p_jkt))
    ON CONFLICT (issuer, device_digest) DO UPDATE SET pinned_keys = coalesce(d.pinned_keys, '{}') || excluded.pinned_keys
    WHERE (d.pinned_keys ->> p_client) IS NULL;
    RETURN (SELECT d.pinned_keys ->> p_client FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device);
END
$$;

CREATE OR REPLACE FUNCTION are_in_group(p_issuer text, p_group text, p_clients text[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM unnest(p_clients) AS other (client_id)
        WHERE NOT EXISTS (
            SELECT FROM sharing_group_member m
            WHERE m.issuer = p_issuer AND m.client_id = other.client_id AND m.group_id = p_group));
END
$$;

-- When reuse of a refresh token of this client was last detected in this session; NULL: never.
-- Returns a table, because PostgreSQL inlines a query only then. A call of a function in PL/pgSQL takes four times as long.
CREATE OR REPLACE FUNCTION reuse(p_session_id uuid, p_client text) RETURNS TABLE (last_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT max(g.revoked_at) FROM sso_grant g
    WHERE g.session_id = p_session_id AND g.client_id = p_client AND g.revoke_reason = 'refresh_token_reused'
$$;

-- Whether an exchange ends a run of refreshes in which tokens were spent. Inlined where it is used.
CREATE OR REPLACE FUNCTION is_spending(g sso_grant) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT g.generation = g.refreshed_generation AND g.generation - g.exchanged_generation >= 2
$$;

-- The spent generations when an exchange ends this run: those of the newest sixteen runs, so that no row grows. A token of a run
-- that was forgotten is refused as one that was never spent.
CREATE OR REPLACE FUNCTION spent_by_exchange(g sso_grant) RETURNS int4multirange LANGUAGE sql STABLE AS $$
    SELECT range_agg(newest.run) FROM (
        SELECT run
        FROM unnest(coalesce(g.spent, '{}') + int4multirange(int4range(g.exchanged_generation, g.generation - 1))) AS run
        ORDER BY run DESC LIMIT 16) AS newest
$$;

-- Ends the session of a call's name if it is idle, over its absolute lifetime, or from before the general end. What such an end asks of
-- later id_tokens is recorded with it.
CREATE OR REPLACE FUNCTION end_over(p_call exchange_call, p_now timestamptz, p_end general_end) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH ended AS (
        UPDATE session l SET
            ended_at = o.died_at, end_reason = o.reason,
            iat_after = CASE WHEN o.needs_login THEN l.iat_after ELSE greatest(l.iat_after, o.died_at) END,
            auth_time_after = CASE WHEN o.needs_login THEN greatest(l.auth_time_after, o.died_at) ELSE l.auth_time_after END
        FROM (
            SELECT h.session_id,
                CASE WHEN p_now >= h.expires_at THEN h.expires_at WHEN p_now >= h.idle_at THEN h.idle_at
                    ELSE p_end.began_until END AS died_at,
                CASE WHEN p_now >= h.expires_at THEN 'expired' WHEN p_now >= h.idle_at THEN 'idle' ELSE 'general_end' END AS reason,
                p_now >= h.expires_at AND h.auth_time IS NOT NULL AS needs_login
            FROM (
                SELECT h.session_id, h.expires_at, h.created_at, h.issued_at, h.auth_time,
                    h.last_used_at + make_interval(secs => p_call.idle_seconds) AS idle_at
                FROM session h
                WHERE h.issuer = p_call.issuer AND h.sid = p_call.sid AND coalesce(h.ended_at, 'infinity') = 'infinity'
                FOR NO KEY UPDATE) AS h
            WHERE p_now >= h.expires_at OR p_now >= h.idle_at
                OR is_covered(p_end, h.created_at, h.issued_at, h.auth_time)) AS o
        WHERE l.session_id = o.session_id
        RETURNING l.session_id, l.end_reason
    )
    INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason)
    SELECT clock_timestamp(), 'session_ended', p_call.request_id, e.session_id, e.end_reason FROM ended e;
END
$$;

-- Records the use of sessions. A session without a device value takes the one of this use. A session that another transaction has
-- locked is left out: the next use records it.
CREATE OR REPLACE FUNCTION touch_sessions(p_session_ids uuid[], p_devices bytea[], p_now timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE session l SET last_used_at = p_now, device_digest = coalesce(l.device_digest, k.device)
    FROM (
        SELECT h.at, h.session_id, due.device
        FROM unnest(p_session_ids, p_devices) WITH ORDINALITY AS due (session_id, device, place)
        CROSS JOIN LATERAL (
            SELECT h.ctid AS at, h.session_id FROM session h
            WHERE h.session_id = due.session_id AND h.ended_at IS NULL
                AND (h.last_used_at < p_now OR h.device_digest IS NULL)
            OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS h
        WHERE due.place BETWEEN 1 AND 1000) AS k
    WHERE l.ctid = k.at AND l.session_id = k.session_id;
END
$$;

-- Records the grants that have no row yet, and the sessions that begin with them. Returns the places of the calls that met an
-- existing row; NULL: none.
CREATE OR REPLACE FUNCTION begin_grants(p_calls exchange_call[], p_answers exchange_answer[], p_now timestamptz) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    v_sessions pg_catalog.uuid[];
    v_moved pg_catalog.int8[];
BEGIN
    -- Most new grants are in a live session. Even an INSERT of no rows would open the session table's indexes.
    IF EXISTS (SELECT FROM unnest(p_answers) AS m WHERE m.session_id = (p_calls[m.place]).session_id) THEN
        WITH sessions AS (
            INSERT INTO session AS l (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id, auth_time, acr,
                amr, issued_at, created_at, expires_at, last_used_at)
            SELECT k.session_id, (k.call).issuer, (k.call).sid, (k.call).issuer, (k.call).sid, (k.call).subject, (k.call).profile,
                (k.call).device, (k.call).source_client, (k.call).auth_time, (k.call).acr, (k.call).amr, (k.call).issued_at,
                p_now, k.expires_at, p_now
            FROM (SELECT m.*, p_calls[m.place] AS call FROM unnest(p_answers) AS m) AS k
            WHERE k.grant_id = (k.call).grant_id AND k.session_id = (k.call).session_id
            ON CONFLICT DO NOTHING
            RETURNING l.session_id
        )
        SELECT array_agg(s.session_id) INTO v_sessions FROM sessions s;
    END IF;
    WITH begun AS MATERIALIZED (
        SELECT m.*, p_calls[m.place] AS call FROM unnest(p_answers) AS m
        WHERE m.grant_id = (p_calls[m.place]).grant_id
    ), grants AS (
        INSERT INTO sso_grant AS g (
            grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope, audiences, auth_time,
            acr, amr, jkt, created_at, expires_at, replayed_before, claims)
        SELECT k.grant_id, k.session_id, (k.call).client, (k.call).source_client, (k.call).device, 1, p_now, (k.call).scope,
            (k.call).audiences, (k.call).auth_time, (k.call).acr, (k.call).amr, (k.call).jkt, p_now, k.grant_expires_at,
            CASE WHEN k.session_id <> (k.call).session_id
                THEN (SELECT e.last_at FROM reuse(k.session_id, (k.call).client) AS e) END, (k.call).claims
        FROM begun k
        WHERE k.session_id <> (k.call).session_id OR k.session_id = ANY (v_sessions)
        ON CONFLICT DO NOTHING
        RETURNING g.grant_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, trace_id)
        SELECT clock_timestamp(), 'exchange_granted', (k.call).request_id, (k.call).client, k.session_id, k.grant_id,
            (k.call).trace_id
        FROM begun k WHERE k.grant_id = ANY (ARRAY (SELECT g.grant_id FROM grants g))
    )
    SELECT array_agg(k.place) INTO v_moved FROM begun k WHERE k.grant_id <> ALL (ARRAY (SELECT g.grant_id FROM grants g));
    RETURN v_moved;
END
$$;

-- Judges exchanges, at most 1000, and answers each. In a turn it looks at the rows of the calls, judges, locks the sessions, and
-- writes.
CREATE OR REPLACE FUNCTION exchange(p_calls exchange_call[], p_shown shown[] DEFAULT NULL) RETURNS exchange_answer[]
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    v_now pg_catalog.timestamptz;
    v_end native_sso.general_end;
    v_assertion_used pg_catalog.int8[] := '{}';
    v_proof_used pg_catalog.int8[] := '{}';
    v_answers native_sso.exchange_answer[] := '{}';
    v_answered pg_catalog.int8[] := '{}';
    v_more native_sso.exchange_answer[];
    v_begins boolean;
    v_pins boolean;
    v_over pg_catalog.int4[];
    v_moved pg_catalog.int8[];
    v_due pg_catalog.uuid[];
    v_devices pg_catalog.bytea[];
    v_pin record;
    v_idle_turns integer := 0;
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'exchange runs with search_path = native_sso, pg_temp'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF p_shown IS NOT NULL THEN
        v_assertion_used := used_assertions(p_shown);
        v_proof_used := used_proofs(p_shown, v_assertion_used);
    END IF;
    -- An end that commits after this look covers what begins here, by its iat or its auth_time. What began in the second of the end
    -- is covered, so nothing begins in it.
    SELECT * INTO v_end FROM general_end e WHERE e.only_row;
    LOOP
        v_now := date_trunc('second', clock_timestamp());
        WITH judged AS MATERIALIZED (
            SELECT a.place, a.call, r.in_order, later.is_needed AS needs_later_login,
                -- Whether every check passed, and the judged version of the session is locked.
                CASE WHEN NOT r.in_order OR later.is_needed THEN false
                    WHEN l.is_open AND h.is_held IS NULL THEN false
                    WHEN (a.call).heeds_pin AND (a.call).jkt IS NOT NULL AND d.pinned_jkt IS NULL
                        THEN pin_is_free((a.call).issuer, (a.call).device, (a.call).client, (a.call).jkt)
                    ELSE true END AS is_granted, (a.call).grant_id IS NOT NULL AS is_asked,
                -- A session that is over ends in this turn. In the next turn another may begin under its name.
                r.in_order AND l.died_at IS NOT NULL AND l.is_open AS is_over,
                l.is_open IS NOT TRUE AS is_new,
                l.lacks_device
                    OR l.last_used_at < v_now - make_interval(secs => least(300, (a.call).idle_seconds / 4)) AS is_due,
                g.grant_at, g.version AS grant_version, g.repeats, coalesce(g.grant_id, (a.call).grant_id) AS grant_id,
                CASE WHEN g.grant_at IS NULL THEN 1 WHEN g.repeats THEN g.generation ELSE g.generation + 1 END AS generation,
                c.enabled AS client_enabled, s.group_id AS source_group, s.role AS source_role, t.group_id AS target_group,
                t.role AS target_role, t.scope_ceiling, r.others_in_group, l.session_id, l.subject, l.ended_at, l.expires_at,
                l.last_used_at, l.auth_time, l.iat_after, l.auth_time_after, d.is_blocked, d.pinned_jkt, u.is_disabled, r.is_token_covered
            FROM (SELECT unnest(p_calls) AS call, generate_subscripts(p_calls, 1) AS place) AS a
            -- The look: the same for every refusal, so that each takes the same time. OFFSET 0 makes each a look by a whole key.
            LEFT JOIN LATERAL (SELECT c.enabled FROM client c WHERE c.client_id = (a.call).client OFFSET 0) AS c ON true
            LEFT JOIN LATERAL (
                SELECT m.group_id, m.role FROM sharing_group_member m
                WHERE m.issuer = (a.call).issuer AND m.client_id = (a.call).source_client OFFSET 0) AS s ON true
            LEFT JOIN LATERAL (
                SELECT m.group_id, m.role, m.scope_ceiling::text[] AS scope_ceiling FROM sharing_group_member m
                WHERE m.issuer = (a.call).issuer AND m.client_id = (a.call).client OFFSET 0) AS t ON true
            LEFT JOIN LATERAL (
                SELECT d.blocked_at IS NOT NULL AS is_blocked,
                    CASE WHEN (a.call).heeds_pin THEN d.pinned_keys ->> (a.call).client END AS pinned_jkt
                FROM device d WHERE d.issuer = (a.call).issuer AND d.device_digest = (a.call).device OFFSET 0) AS d ON true
            -- The live session of the name, else the one that ended last.
            LEFT JOIN LATERAL (
                SELECT l.ctid AS at, l.xmin AS version, l.session_id, l.subject, l.ended_at IS NULL AS is_open,
                    coalesce(l.ended_at, CASE WHEN o.died_at IS NULL THEN c.died_at END) AS ended_at, l.expires_at, l.last_used_at,
                    l.auth_time, l.iat_after, l.auth_time_after, l.device_digest IS NULL AS lacks_device,
                    coalesce(l.ended_at, o.died_at, c.died_at) AS died_at
                FROM session l
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN v_now >= l.expires_at THEN l.expires_at
                        WHEN v_now >= l.last_used_at + make_interval(secs => (a.call).idle_seconds)
                            THEN l.last_used_at + make_interval(secs => (a.call).idle_seconds) END AS died_at) AS o
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN is_covered(v_end, l.created_at, l.issued_at, l.auth_time)
                        THEN v_end.began_until END AS died_at) AS c
                WHERE l.issuer = (a.call).issuer AND l.sid = (a.call).sid
                ORDER BY coalesce(l.ended_at, 'infinity') DESC LIMIT 1) AS l ON true
            -- Whether the IdP has disabled the user's account: looked up only where a session may begin, because that end ended
            -- every live session.
            LEFT JOIN LATERAL (
                SELECT o.disabled_at IS NOT NULL AS is_disabled FROM subject_logout o
                WHERE (l.session_id IS NULL OR l.died_at IS NOT NULL)
                    AND o.idp_issuer = (a.call).issuer AND o.subject = (a.call).subject OFFSET 0) AS u ON true
            -- THE RULE, in the order of `refusal` in Decision.swift.
            CROSS JOIN LATERAL (
                SELECT o.others_in_group, o.is_token_covered, coalesce(
                    a.place <> ALL (v_assertion_used) AND a.place <> ALL (v_proof_used) AND (a.call).permitted
                    AND c.enabled AND s.group_id = t.group_id AND s.role <> 'target' AND t.role <> 'source' AND o.others_in_group AND NOT o.is_token_covered
                    AND ((a.call).client <> (a.call).source_client OR (a.call).allows_self_exchange)
                    AND CASE WHEN l.session_id IS NULL
                        THEN (a.call).first_sight_seconds IS NOT NULL AND u.is_disabled IS NOT TRUE
                        ELSE (l.subject IS NULL OR l.subject = (a.call).subject)
                            -- The limits that earlier ends under this name set for an id_token.
                            AND satisfies_limits((a.call).issued_at, (a.call).auth_time, l.iat_after, l.auth_time_after)
                            -- Another session may begin under the name of a dead one.
                            AND (l.died_at IS NULL OR (a.call).first_sight_seconds IS NOT NULL AND u.is_disabled IS NOT TRUE
                                AND (l.ended_at IS NOT NULL
                                OR CASE WHEN v_now >= l.expires_at AND l.auth_time IS NOT NULL THEN (a.call).auth_time
                                    ELSE (a.call).issued_at END > l.died_at)) END
                    AND d.is_blocked IS NOT TRUE AND (d.pinned_jkt IS NULL OR d.pinned_jkt = (a.call).jkt)
                    AND (t.scope_ceiling IS NULL OR (a.call).scope <@ t.scope_ceiling), false) AS in_order
                FROM (SELECT cardinality((a.call).other_audience) = 0
                    OR are_in_group((a.call).issuer, s.group_id, (a.call).other_audience) AS others_in_group,
                    is_covered(v_end, v_now, (a.call).issued_at, (a.call).auth_time) AS is_token_covered) AS o
                OFFSET 0) AS r
            -- From here on an end of the session waits for the commit. A faster end has made another version.
            LEFT JOIN LATERAL (
                SELECT true AS is_held FROM session h
                WHERE h.ctid = l.at AND h.xmin = l.version AND r.in_order AND l.died_at IS NULL
                OFFSET 0 FOR SHARE) AS h ON true
            LEFT JOIN LATERAL (
                SELECT g.ctid AS grant_at, g.xmin AS version, g.grant_id, g.generation, g.replayed_before,
                    -- The same exchange within 10 s gets the same refresh token, unless that was used: the answer may be lost.
                    g.rotated_at > v_now - interval '10 seconds' AND g.generation > g.refreshed_generation
                    AND g.jkt IS NOT DISTINCT FROM (a.call).jkt AND g.source_client_id = (a.call).source_client
                    AND g.device_digest = (a.call).device AND g.scope <@ (a.call).scope AND g.scope @> (a.call).scope AND g.audiences = (a.call).audiences
                    AND g.auth_time IS NOT DISTINCT FROM (a.call).auth_time
                    AND g.acr IS NOT DISTINCT FROM (a.call).acr AND g.amr = (a.call).amr
                    AND g.claims IS NOT DISTINCT FROM (a.call).claims AS repeats
                FROM sso_grant g
                WHERE g.session_id = l.session_id AND g.client_id = (a.call).client AND g.revoked_at IS NULL
                    AND r.in_order AND l.died_at IS NULL
                OFFSET 0) AS g ON true
            -- After reuse of a refresh token the thief may have this id_token, too. Only a later login gets a grant.
            CROSS JOIN LATERAL (
                SELECT r.in_order AND l.session_id IS NOT NULL AND l.died_at IS NULL AND coalesce(
                    CASE WHEN g.grant_at IS NULL THEN (SELECT e.last_at FROM reuse(l.session_id, (a.call).client) AS e)
                        ELSE g.replayed_before END
                    >= coalesce((a.call).auth_time, '-infinity'), false) AS is_needed
                OFFSET 0) AS later
            -- BETWEEN tells the planner to expect few calls, so that it uses the keys.
            WHERE a.place BETWEEN 1 AND 1000 AND a.place <> ALL (v_answered)
        ), advanced AS (
            UPDATE sso_grant g SET
                generation = k.generation, exchanged_generation = k.generation,
                keyless_before = CASE WHEN g.jkt IS NULL THEN k.generation ELSE g.keyless_before END,
                spent = CASE WHEN is_spending(g) THEN spent_by_exchange(g) ELSE g.spent END,
                rotated_at = CASE WHEN k.repeats THEN g.rotated_at ELSE v_now END,
                source_client_id = (k.call).source_client, device_digest = (k.call).device, scope = (k.call).scope,
                audiences = (k.call).audiences, auth_time = (k.call).auth_time, acr = (k.call).acr, amr = (k.call).amr,
                jkt = (k.call).jkt, claims = (k.call).claims,
                expires_at = least(k.expires_at, v_now + make_interval(secs => (k.call).grant_seconds))
            FROM judged k WHERE k.is_granted AND k.is_asked AND g.ctid = k.grant_at AND g.xmin = k.grant_version
            RETURNING k.place, (k.call).request_id, g.client_id, g.session_id, g.grant_id, (k.call).trace_id
        ), audited AS (
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, trace_id)
            SELECT clock_timestamp(), 'exchange_granted', k.request_id, k.client_id, k.session_id, k.grant_id, k.trace_id
            FROM advanced k
        )
        SELECT
            array_agg(ROW (
                k.place, v_now, k.place = ANY (v_assertion_used), k.place = ANY (v_proof_used), coalesce(k.client_enabled, false),
                k.source_group, k.source_role, k.target_group, k.target_role, k.scope_ceiling, k.others_in_group,
                -- The values of a session that begins.
                CASE WHEN k.begins THEN (k.call).session_id ELSE k.session_id END,
                CASE WHEN k.begins THEN (k.call).subject ELSE k.subject END,
                CASE WHEN NOT k.begins THEN k.ended_at END, k.session_expires_at,
                CASE WHEN k.begins THEN v_now ELSE k.last_used_at END,
                CASE WHEN k.begins THEN (k.call).auth_time ELSE k.auth_time END IS NOT NULL, k.iat_after, k.auth_time_after,
                coalesce(k.is_blocked, false), k.pinned_jkt, k.needs_later_login, coalesce(k.is_disabled, false), k.is_token_covered,
                CASE WHEN k.may_write THEN k.grant_id END, CASE WHEN k.may_write THEN k.generation WHEN k.is_granted THEN 0 END,
                CASE WHEN k.may_write THEN least(k.session_expires_at, v_now + make_interval(secs => (k.call).grant_seconds)) END
            )::exchange_answer) FILTER (WHERE NOT k.is_over),
            bool_or(k.may_write AND k.grant_at IS NULL),
            bool_or(k.may_write AND (k.call).heeds_pin AND (k.call).jkt IS NOT NULL AND k.pinned_jkt IS NULL),
            array_agg(k.place) FILTER (WHERE k.is_over),
            array_agg(k.session_id) FILTER (WHERE k.may_write AND k.is_due AND NOT k.is_new),
            array_agg((k.call).device) FILTER (WHERE k.may_write AND k.is_due AND NOT k.is_new)
        INTO v_more, v_begins, v_pins, v_over, v_due, v_devices
        FROM (
            SELECT k.*, k.is_granted AND k.is_asked AS may_write, k.is_granted AND k.is_asked AND k.is_new AS begins,
                CASE WHEN k.is_granted AND k.is_asked AND k.is_new THEN v_now + make_interval(secs => (k.call).first_sight_seconds)
                    ELSE k.expires_at END AS session_expires_at
            FROM judged k) AS k
        -- Refused, only judged, written, to be begun, or to be ended. For the other calls a row moved since the look.
        WHERE CASE WHEN k.may_write THEN k.grant_at IS NULL OR k.place = ANY (ARRAY (SELECT u.place FROM advanced u))
            ELSE k.is_granted OR NOT k.in_order OR k.needs_later_login OR k.is_over END;

        IF v_over IS NOT NULL THEN
            PERFORM end_over(p_calls[over.place], v_now, v_end) FROM unnest(v_over) AS over (place);
        END IF;
        IF v_begins THEN
            v_moved := begin_grants(p_calls, v_more, v_now);
            IF v_moved IS NOT NULL THEN
                v_more := ARRAY (SELECT m FROM unnest(v_more) AS m WHERE m.place <> ALL (v_moved));
            END IF;
        END IF;
        IF v_pins THEN
            -- Only after the grant is recorded: a refusal binds no key.
            FOR v_pin IN
                SELECT (a.call).issuer, (a.call).device, (a.call).client, (a.call).jkt
                FROM (SELECT p_calls[m.place] AS call FROM unnest(v_more) AS m
                    WHERE m.grant_id IS NOT NULL AND m.pinned_jkt IS NULL) AS a
                WHERE (a.call).heeds_pin AND (a.call).jkt IS NOT NULL
            LOOP
                IF pin_key(v_pin.issuer, v_pin.device, v_pin.client, v_pin.jkt) <> v_pin.jkt THEN
                    RAISE EXCEPTION 'two calls show different keys for one device' USING ERRCODE = 'serialization_failure';
                END IF;
            END LOOP;
        END IF;
        IF v_due IS NOT NULL THEN
            PERFORM touch_sessions(v_due, v_devices, v_now);
        END IF;
        v_answers := v_answers || v_more;
        EXIT WHEN cardinality(v_answers) = cardinality(p_calls);
        v_idle_turns := CASE WHEN coalesce(cardinality(v_more), 0) = 0 THEN v_idle_turns + 1 ELSE 0 END;
        IF v_idle_turns = 3 THEN
            RAISE EXCEPTION 'the rows of an exchange do not stand still' USING ERRCODE = 'serialization_failure';
        END IF;
        v_answered := ARRAY (SELECT m.place FROM unnest(v_answers) AS m);
    END LOOP;
    RETURN v_answers;
END
$$;
GRANT EXECUTE ON FUNCTION exchange TO native_sso_broker;

-- The hand-off of a login to a web app. The types of calls and answers are those of `exchange`, so these functions stand in its file.

-- What the members of a group allow: the permission of the app, and whether the web app receives logins at this origin.
CREATE OR REPLACE FUNCTION handoff_permission(
    p_issuer text, p_app text, p_app_is_bound boolean, p_web text, p_origin text,
    OUT permission text, OUT takes_origin boolean, OUT is_given boolean)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    SELECT m.handoff INTO permission FROM sharing_group_member m WHERE m.issuer = p_issuer AND m.client_id = p_app;
    takes_origin := EXISTS (
        SELECT FROM sharing_group_member m
        WHERE m.issuer = p_issuer AND m.client_id = p_web AND p_origin = ANY (m.handoff_origins));
    is_given := takes_origin AND coalesce(permission = 'dpop' OR permission = 'bearer' AND NOT p_app_is_bound, false);
END
$$;

-- Judges the exchange of the app and that of the web app, and keeps the code if both are in order and the members allow the hand-off.
-- Neither gets a grant. `answers`: that of the app has place 1, that of the web app place 2. Whether the code is kept is the rule of
-- `refusal` in HandoffDecision.swift.
CREATE OR REPLACE FUNCTION make_web_handoff(
    p_app exchange_call, p_web exchange_call, p_shown shown[],
    p_code bytea, p_challenge bytea, p_origin text, p_audience text, p_token_expires_at timestamptz, p_key_is_current boolean,
    p_seconds bigint,
    OUT answers exchange_answer[], OUT permission text, OUT takes_origin boolean, OUT is_kept boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off SET jit = off AS $$
BEGIN
    p_app.grant_id := NULL;
    p_web.grant_id := NULL;
    answers := exchange(ARRAY[p_app, p_web], p_shown);
    SELECT p.permission, p.takes_origin, p.is_given INTO permission, takes_origin, is_kept
    FROM handoff_permission(p_app.issuer, p_app.client, p_app.jkt IS NOT NULL, p_web.client, p_origin) AS p;
    is_kept := is_kept AND (SELECT coalesce(bool_and(a.generation IS NOT DISTINCT FROM 0), false) FROM unnest(answers) AS a);
    IF is_kept THEN
        INSERT INTO web_handoff (
            code, challenge, origin, app_client_id, app_is_bound, client_id, audience, issuer, sid, subject, source_client_id,
            other_audience, auth_time, acr, amr, issued_at, token_expires_at, key_is_current, device_digest, profile, scope,
            claims, request_id, made_at, expires_at)
        VALUES (
            p_code, p_challenge, p_origin, p_app.client, p_app.jkt IS NOT NULL, p_web.client, p_audience, p_app.issuer, p_app.sid,
            p_app.subject, p_app.source_client, p_app.other_audience, p_app.auth_time, p_app.acr, p_app.amr, p_app.issued_at,
            p_token_expires_at, p_key_is_current, p_app.device, p_app.profile, p_web.scope, p_web.claims, p_app.request_id,
            date_trunc('second', clock_timestamp()), clock_timestamp() + make_interval(secs => least(p_seconds, 60)));
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, details, trace_id)
        SELECT clock_timestamp(), 'handoff_made', p_app.request_id, p_app.client, a.session_id,
            jsonb_build_object('web_client', p_web.client, 'source_client', p_app.source_client), p_app.trace_id
        FROM unnest(answers) AS a WHERE a.place = 1;
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION make_web_handoff TO native_sso_broker;

-- What a code stands for; no row: there is no such code.
CREATE OR REPLACE FUNCTION find_web_handoff(p_code bytea) RETURNS SETOF web_handoff
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
    SELECT * FROM web_handoff h WHERE h.code = p_code
$$;
GRANT EXECUTE ON FUNCTION find_web_handoff TO native_sso_broker;

-- Records the exchange of the web app, and uses the code up with it. A second call with the code waits here for the commit of the
-- first. `standing`: good, or what refuses the code: unknown, used, expired or withdrawn. A call that is refused leaves the code as
-- it is.
CREATE OR REPLACE FUNCTION redeem_web_handoff(
    p_code bytea, p_origin text, p_challenge bytea, p_call exchange_call, p_shown shown[],
    OUT answers exchange_answer[], OUT standing text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off SET jit = off AS $$
DECLARE
    v_handoff web_handoff;
BEGIN
    SELECT * INTO v_handoff FROM web_handoff h
    WHERE h.code = p_code AND h.client_id = p_call.client AND h.origin = p_origin AND h.challenge = p_challenge FOR UPDATE;
    standing := CASE
        WHEN NOT FOUND THEN 'unknown'
        WHEN v_handoff.redeemed_at IS NOT NULL THEN 'used'
        WHEN clock_timestamp() >= v_handoff.expires_at THEN 'expired'
        WHEN EXISTS (SELECT FROM general_end e WHERE is_covered(e, v_handoff.made_at, NULL, NULL)) THEN 'withdrawn'
        WHEN NOT EXISTS (SELECT FROM client c WHERE c.client_id = v_handoff.app_client_id AND c.enabled) OR NOT (
            SELECT p.is_given FROM handoff_permission(
                v_handoff.issuer, v_handoff.app_client_id, v_handoff.app_is_bound, v_handoff.client_id, v_handoff.origin) AS p)
            THEN 'withdrawn'
        ELSE 'good' END;
    p_call.permitted := p_call.permitted AND standing = 'good';
    answers := exchange(ARRAY[p_call], p_shown);
    IF answers[1].grant_id IS NOT NULL THEN
        UPDATE web_handoff h SET redeemed_at = clock_timestamp() WHERE h.code = p_code AND h.redeemed_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'a hand-off was redeemed under the lock of its row' USING ERRCODE = 'serialization_failure';
        END IF;
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, details, trace_id)
        VALUES (
            clock_timestamp(), 'handoff_redeemed', p_call.request_id, p_call.client, answers[1].session_id, answers[1].grant_id,
            jsonb_build_object('app', v_handoff.app_client_id, 'made_by', v_handoff.request_id), p_call.trace_id);
    END IF;
END
$$;
GRANT EXECUTE ON FUNCTION redeem_web_handoff TO native_sso_broker;
