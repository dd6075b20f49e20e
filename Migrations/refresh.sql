-- The refresh: what a presented refresh token shows, and what becomes of its family. One current text, applied again
-- whenever it changes.
--
-- With p the generation that is presented by the family's own client and with its key, g the family's current generation, and x the
-- generation that the last exchange made (a run begins there, and refreshes go on with it; spent are the generations of earlier runs
-- whose successors were presented):
--
--   presented                  | what it shows                                            | what becomes of it
--   p = g                      | the holder                                               | goes on
--   p = g - 1 >= x, in grace   | the answer was lost, or the app asked twice at once      | the same successor, nothing written
--   p = g - 1 >= x, later      | the answer was lost for long, or a copy: no proof        | late: revoked; an exchange helps
--   x <= p <= g - 2            | p and its successor were both presented: two holders     | reused: revoked; a later login helps
--   p < x, spent               | the same; no exchange washes it off                      | reused
--   p < x, not spent           | an exchange took its place: another part of the app, or  | superseded: refused, nothing written;
--                              | the same after a lost answer                             | an exchange helps
--   p > g                      | the database lost writes                                 | revoked
--   after late, p = g > x      | the holder of the successor did not come late: two       | reused, and with it the family that
--   after late, spent          | as above                                                 | began since, unless its login is later
--   after late, else           | asks for the lost answer again                           | refused, nothing written
--
-- Two processes of one app that hold the same token are two holders too: an app keeps one token, in one place. No rule here can tell a
-- thief who has id_token and device value and exchanges instead of refreshing: only DPoP or the end of the session stops them.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

SELECT make_type('advancement', $$
    seen_at timestamptz, effect text, client_id text, generation integer, rotated_at timestamptz, revoked_at timestamptz,
    grant_expires_at timestamptz, scope text[], audiences text[], auth_time timestamptz, acr text, amr text[], sid text,
    session_id uuid, subject text, ended_at timestamptz, expires_at timestamptz, last_used_at timestamptz,
    client_enabled boolean, shares_login boolean, scope_ceiling text[], device_blocked boolean, jkt text,
    proof_used boolean, refreshed_generation integer, exchanged_generation integer, was_spent boolean, came_late boolean,
    assertion_used boolean$$);

SELECT make_type('advance_call', $$
    grant_id uuid, generation integer, client text COLLATE "C", scope text[], allowed_scope text[], idle_seconds bigint$$);

CREATE OR REPLACE FUNCTION advance(
    p_request_id uuid, p_grant_id uuid, p_generation integer, p_client text,
    -- NULL: all that the grant holds.
    p_scope text[], p_allowed_scope text[],
    p_grace_seconds bigint, p_idle_seconds bigint,
    -- The grace of a chain that is bound to a key; whether its own client may show another one.
    p_bound_grace_seconds bigint DEFAULT 0, p_may_change_key boolean DEFAULT false,
    -- See exchange.sql.
    p_jkt jwk_thumbprint DEFAULT NULL, p_proof bytea DEFAULT NULL, p_proof_seconds bigint DEFAULT NULL,
    p_assertion bytea DEFAULT NULL, p_assertion_expires_at timestamptz DEFAULT NULL)
RETURNS native_sso.advancement
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    v_now pg_catalog.timestamptz;
    v_effect pg_catalog.text;
    v_misuse pg_catalog.text;
    v_grant_at pg_catalog.tid;
    v_client_id pg_catalog.text;
    v_source_client_id pg_catalog.text;
    v_device_digest pg_catalog.bytea;
    v_generation integer;
    v_refreshed_generation integer;
    v_exchanged_generation integer;
    v_spent pg_catalog.int4multirange;
    v_was_spent boolean := false;
    v_revoke_reason pg_catalog.text;
    v_came_late boolean := false;
    v_other_id pg_catalog.uuid;
    v_rotated_at pg_catalog.timestamptz;
    v_revoked_at pg_catalog.timestamptz;
    v_grant_expires_at pg_catalog.timestamptz;
    v_scope pg_catalog.text[];
    v_audiences pg_catalog.text[];
    v_auth_time pg_catalog.timestamptz;
    v_acr pg_catalog.text;
    v_amr pg_catalog.text[];
    v_session_id pg_catalog.uuid;
    v_issuer pg_catalog.text;
    v_idp_issuer pg_catalog.text;
    v_sid pg_catalog.text;
    v_subject pg_catalog.text;
    v_ended_at pg_catalog.timestamptz;
    v_expires_at pg_catalog.timestamptz;
    v_last_used_at pg_catalog.timestamptz;
    v_client_enabled boolean;
    v_shares_login boolean;
    v_scope_ceiling pg_catalog.text[];
    v_device_blocked boolean;
    v_jkt native_sso.jwk_thumbprint;
    v_proof_used boolean := false;
    v_assertion_used boolean := false;
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'advance runs with search_path = native_sso, pg_temp' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF p_assertion IS NOT NULL THEN
        v_assertion_used := NOT use_client_assertion(p_assertion, p_assertion_expires_at);
    END IF;
    IF p_proof IS NOT NULL AND NOT v_assertion_used THEN
        v_proof_used := NOT use_dpop_proof(p_proof, p_proof_seconds);
    END IF;
    FOR v_attempt IN 1..10 LOOP
        v_effect := 'none';
        SELECT g.ctid, g.client_id, g.source_client_id, g.device_digest, g.generation, g.rotated_at, g.revoked_at,
            g.expires_at, g.scope, g.audiences, g.auth_time, g.acr, g.amr, g.session_id, g.jkt, g.refreshed_generation,
            -- Only exchanges know where a run begins, and what they made since is a run of one.
            CASE WHEN g.generation > g.refreshed_generation THEN g.generation ELSE g.exchanged_generation END,
            g.spent, g.revoke_reason
        INTO v_grant_at, v_client_id, v_source_client_id, v_device_digest, v_generation, v_rotated_at, v_revoked_at,
            v_grant_expires_at, v_scope, v_audiences, v_auth_time, v_acr, v_amr, v_session_id, v_jkt, v_refreshed_generation,
            v_exchanged_generation, v_spent, v_revoke_reason
        FROM sso_grant g WHERE g.grant_id = p_grant_id;
        IF FOUND AND v_generation = p_generation AND v_client_id = p_client AND v_revoked_at IS NULL THEN
            -- It may go on: whoever ends the session waits, or was faster and is waited for.
            SELECT l.issuer, l.idp_issuer, l.sid, l.subject, l.ended_at, l.expires_at, l.last_used_at
            INTO v_issuer, v_idp_issuer, v_sid, v_subject, v_ended_at, v_expires_at, v_last_used_at
            FROM session l
            WHERE l.session_id = v_session_id AND l.ended_at IS NULL AND l.expires_at > clock_timestamp()
            FOR SHARE;
        ELSE
            v_idp_issuer := NULL;
        END IF;
        IF v_idp_issuer IS NULL THEN
            -- Whatever is over stays so: no lock is needed to refuse it.
            SELECT l.issuer, l.idp_issuer, l.sid, l.subject, l.ended_at, l.expires_at, l.last_used_at
            INTO v_issuer, v_idp_issuer, v_sid, v_subject, v_ended_at, v_expires_at, v_last_used_at
            FROM session l WHERE l.session_id = v_session_id;
        END IF;
        -- After the wait; now() would be when the transaction began.
        v_now := date_trunc('second', clock_timestamp());
        IF v_idp_issuer IS NULL THEN
            -- There is no such grant, or it went with its session since the look.
            v_client_id := NULL;
            EXIT;
        END IF;
        SELECT c.enabled INTO v_client_enabled FROM client c WHERE c.client_id = v_client_id;
        -- Both in one look.
        SELECT t.role <> 'source' AND coalesce((
            SELECT s.role <> 'target' FROM sharing_group_member s
            WHERE s.issuer = v_idp_issuer AND s.client_id = v_source_client_id AND s.group_id = t.group_id), false),
            t.scope_ceiling
        INTO v_shares_login, v_scope_ceiling
        FROM sharing_group_member t WHERE t.issuer = v_idp_issuer AND t.client_id = v_client_id;
        v_shares_login := coalesce(v_shares_login, false);
        SELECT d.blocked_at IS NOT NULL INTO v_device_blocked
        FROM device d WHERE d.issuer = v_issuer AND d.device_digest = v_device_digest;
        v_device_blocked := coalesce(v_device_blocked, false);
        v_was_spent := v_spent IS NOT NULL AND v_spent @> p_generation;
        v_came_late := v_revoke_reason IS NOT DISTINCT FROM 'refresh_token_late';
        EXIT WHEN v_revoked_at IS NOT NULL AND NOT v_came_late OR v_proof_used OR v_assertion_used;
        -- Before all that shows misuse: whoever has not the key revokes nothing.
        EXIT WHEN v_jkt IS NOT NULL AND (
            p_jkt IS NULL OR v_jkt <> p_jkt AND NOT (p_may_change_key AND v_client_id = p_client));

        IF v_came_late THEN
            EXIT WHEN v_client_id <> p_client
                OR NOT (v_was_spent OR p_generation BETWEEN v_exchanged_generation AND v_generation - 2
                    OR p_generation = v_generation AND p_generation > v_exchanged_generation);
            -- Now there is proof. Exchanges that are under way are waited for, and those that come see it.
            PERFORM FROM session l WHERE l.session_id = v_session_id FOR NO KEY UPDATE;
            v_now := date_trunc('second', clock_timestamp());
            UPDATE sso_grant g SET revoke_reason = 'refresh_token_reused'
            WHERE g.grant_id = p_grant_id AND g.revoke_reason = 'refresh_token_late';
            IF NOT FOUND THEN
                v_effect := NULL;
                CONTINUE;
            END IF;
            v_effect := 'revoked';
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, reason)
            VALUES (
                clock_timestamp(), 'grant_revoked', p_request_id, v_client_id, v_session_id, p_grant_id, 'refresh_token_reused');
            -- The chain that began since goes with it, but one of a login that came after.
            UPDATE sso_grant g SET revoked_at = v_now, revoke_reason = 'refresh_token_reused'
            WHERE g.session_id = v_session_id AND g.client_id = v_client_id AND g.revoked_at IS NULL
                AND coalesce(g.auth_time <= v_revoked_at, true)
            RETURNING g.grant_id INTO v_other_id;
            IF FOUND THEN
                INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, reason)
                VALUES (
                    clock_timestamp(), 'grant_revoked', p_request_id, v_client_id, v_session_id, v_other_id,
                    'refresh_token_reused');
            ELSE
                UPDATE sso_grant g SET replayed_before = greatest(g.replayed_before, v_revoked_at)
                WHERE g.session_id = v_session_id AND g.client_id = v_client_id AND g.revoked_at IS NULL;
            END IF;
            EXIT;
        END IF;

        v_misuse := CASE
            WHEN v_client_id <> p_client THEN 'refresh_token_foreign_client'
            WHEN p_generation > v_generation THEN 'state_regressed'
            WHEN v_was_spent OR p_generation BETWEEN v_exchanged_generation AND v_generation - 2 THEN 'refresh_token_reused'
            WHEN p_generation = v_generation - 1 AND p_generation >= v_exchanged_generation
                    AND v_now >= v_rotated_at + make_interval(
                        secs => CASE WHEN v_jkt IS NULL THEN p_grace_seconds ELSE p_bound_grace_seconds END)
                THEN 'refresh_token_late'
            END;
        IF v_misuse IS NOT NULL THEN
            UPDATE sso_grant g SET revoked_at = v_now, revoke_reason = v_misuse
            WHERE g.ctid = v_grant_at AND g.grant_id = p_grant_id AND g.generation = v_generation
                AND g.revoked_at IS NULL;
            IF NOT FOUND THEN
                -- Changed since the look: look again.
                v_effect := NULL;
                CONTINUE;
            END IF;
            v_effect := 'revoked';
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, reason)
            VALUES (
                clock_timestamp(), 'grant_revoked', p_request_id, v_client_id, v_session_id, p_grant_id, v_misuse);
            EXIT;
        END IF;

        EXIT WHEN p_generation < v_generation
            OR v_now >= v_grant_expires_at
            OR NOT coalesce(v_client_enabled, false) OR NOT v_shares_login
            OR v_ended_at IS NOT NULL OR v_now >= v_expires_at
            OR v_now >= v_last_used_at + make_interval(secs => p_idle_seconds)
            OR v_device_blocked
            OR p_scope IS NOT NULL AND NOT (p_scope <@ v_scope AND p_scope <@ p_allowed_scope)
            OR NOT coalesce(p_scope, v_scope) && p_allowed_scope;
        -- Apart: a condition with a query in it is a query altogether.
        IF v_scope_ceiling IS NOT NULL THEN
            EXIT WHEN NOT p_scope <@ v_scope_ceiling
                OR NOT EXISTS (
                    SELECT FROM unnest(coalesce(p_scope, v_scope)) AS held (token)
                    WHERE held.token = ANY (p_allowed_scope) AND held.token = ANY (v_scope_ceiling));
        END IF;

        IF v_jkt IS NULL AND p_jkt IS NOT NULL AND NOT p_may_change_key THEN
            -- The chain takes this key, and so does the device: no exchange takes it from either.
            v_jkt := pin_key(v_issuer, v_device_digest, v_client_id, p_jkt);
            EXIT WHEN v_jkt <> p_jkt;
            v_jkt := NULL;
        END IF;
        UPDATE sso_grant g SET
            generation = g.generation + 1, refreshed_generation = g.generation + 1, rotated_at = v_now,
            jkt = coalesce(p_jkt, g.jkt)
        WHERE g.ctid = v_grant_at AND g.grant_id = p_grant_id AND g.generation = p_generation AND g.revoked_at IS NULL;
        IF NOT FOUND THEN
            -- Another refresh of the same token was faster: look again.
            v_effect := NULL;
            CONTINUE;
        END IF;
        v_effect := 'advanced';
        IF v_last_used_at < v_now - make_interval(secs => least(300, p_idle_seconds / 4)) THEN
            UPDATE session l SET last_used_at = v_now
            WHERE l.session_id = (
                SELECT k.session_id FROM session k
                WHERE k.session_id = v_session_id AND k.last_used_at < v_now AND k.ended_at IS NULL
                FOR NO KEY UPDATE SKIP LOCKED);
        END IF;
        EXIT;
    END LOOP;
    IF v_effect IS NULL THEN
        RAISE EXCEPTION 'the chain does not stand still' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN ROW (
        v_now, v_effect, v_client_id, v_generation, v_rotated_at, v_revoked_at, v_grant_expires_at, v_scope,
        v_audiences, v_auth_time, v_acr, v_amr, v_sid, v_session_id, v_subject, v_ended_at, v_expires_at,
        v_last_used_at, v_client_enabled, v_shares_login, v_scope_ceiling, v_device_blocked, v_jkt,
        v_proof_used,
        v_refreshed_generation, v_exchanged_generation, v_was_spent, v_came_late, v_assertion_used)::advancement;
END
$$;
GRANT EXECUTE ON FUNCTION advance TO native_sso_broker;

CREATE OR REPLACE FUNCTION advance_batch(p_calls native_sso.advance_call[], OUT answer native_sso.advancement, OUT place bigint)
RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER ROWS 10 AS $$
DECLARE
    v_now pg_catalog.timestamptz;
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'advance_batch runs with search_path = native_sso, pg_temp'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    v_now := date_trunc('second', clock_timestamp());
    RETURN QUERY
    WITH looked AS MATERIALIZED (
        SELECT a.place, a.idle_seconds, g.*, l.sid, l.subject, l.session_expires_at, l.last_used_at, t.scope_ceiling
        FROM unnest(p_calls) WITH ORDINALITY
            AS a (grant_id, generation, client, scope, allowed_scope, idle_seconds, place)
        CROSS JOIN LATERAL (
            SELECT g.ctid AS grant_at, g.grant_id, g.client_id, g.source_client_id, g.device_digest, g.generation,
                g.rotated_at, g.revoked_at, g.expires_at, g.scope, g.audiences, g.auth_time, g.acr, g.amr, g.session_id,
                g.refreshed_generation,
                CASE WHEN g.generation > g.refreshed_generation THEN g.generation ELSE g.exchanged_generation END
                    AS exchanged_generation
            FROM sso_grant g
            WHERE g.grant_id = a.grant_id AND g.generation = a.generation AND g.client_id = a.client
                AND g.jkt IS NULL AND v_now < g.expires_at
                AND CASE WHEN a.scope IS NULL THEN g.scope && a.allowed_scope
                    ELSE a.scope <@ g.scope AND a.scope <@ a.allowed_scope AND a.scope && a.allowed_scope END
            OFFSET 0) AS g
        CROSS JOIN LATERAL (SELECT FROM client c WHERE c.client_id = a.client AND c.enabled OFFSET 0) AS c
        CROSS JOIN LATERAL (
            SELECT l.issuer, l.idp_issuer, l.sid, l.subject, l.expires_at AS session_expires_at, l.last_used_at
            FROM session l
            WHERE l.session_id = g.session_id AND l.ended_at IS NULL AND v_now < l.expires_at
                AND v_now < l.last_used_at + make_interval(secs => a.idle_seconds)
            OFFSET 0 FOR SHARE SKIP LOCKED) AS l
        CROSS JOIN LATERAL (
            SELECT t.group_id, t.scope_ceiling::text[] AS scope_ceiling FROM sharing_group_member t
            WHERE t.issuer = l.idp_issuer AND t.client_id = a.client AND t.role <> 'source'
            OFFSET 0) AS t
        CROSS JOIN LATERAL (
            SELECT FROM sharing_group_member s
            WHERE s.issuer = l.idp_issuer AND s.client_id = g.source_client_id AND s.group_id = t.group_id
                AND s.role <> 'target'
            OFFSET 0) AS s
        LEFT JOIN LATERAL (
            SELECT d.blocked_at FROM device d WHERE d.issuer = l.issuer AND d.device_digest = g.device_digest
            OFFSET 0) AS d ON true
        WHERE a.place BETWEEN 1 AND 1000
            -- Not above: there the index of the live grants could be chosen, and be read from end to end.
            AND g.revoked_at IS NULL
            AND d.blocked_at IS NULL
            AND (t.scope_ceiling IS NULL
                OR coalesce(a.scope <@ t.scope_ceiling, true) AND EXISTS (
                    SELECT FROM unnest(coalesce(a.scope, g.scope)) AS held (token)
                    WHERE held.token = ANY (a.allowed_scope) AND held.token = ANY (t.scope_ceiling)))
    ), advanced AS (
        UPDATE sso_grant g SET
            generation = g.generation + 1, refreshed_generation = g.generation + 1, rotated_at = v_now
        FROM looked k
        WHERE g.ctid = k.grant_at AND g.grant_id = k.grant_id AND g.generation = k.generation AND g.revoked_at IS NULL
            AND g.jkt IS NULL
        RETURNING k.*
    ), touched AS (
        UPDATE session l SET last_used_at = v_now
        FROM advanced k
        CROSS JOIN LATERAL (
            SELECT h.ctid AS session_at, h.session_id FROM session h
            WHERE h.session_id = k.session_id AND h.last_used_at < v_now AND h.ended_at IS NULL
            OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS h
        WHERE k.last_used_at < v_now - make_interval(secs => least(300, k.idle_seconds / 4))
            AND l.ctid = h.session_at AND l.session_id = h.session_id
    )
    SELECT ROW (
        v_now, 'advanced', k.client_id, k.generation, k.rotated_at, NULL, k.expires_at, k.scope,
        k.audiences, k.auth_time, k.acr, k.amr, k.sid, k.session_id, k.subject, NULL, k.session_expires_at,
        k.last_used_at, true, true, k.scope_ceiling, false, NULL, false, k.refreshed_generation,
        k.exchanged_generation, false, false, false)::advancement, k.place
    FROM advanced k;
END
$$;
GRANT EXECUTE ON FUNCTION advance_batch TO native_sso_broker;
