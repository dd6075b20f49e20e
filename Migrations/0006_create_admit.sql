-- Why: the decision of an exchange and its record in one call, run by the service, which may not read the tables. The
-- rules are those of `decide` in the NativeSSO room, and a property test holds the two equal.
-- plpgsql, not sql: its plans are kept for the connection, while a sql function of several tables is planned anew at each
-- call. A named type for the answer: PostgreSQL puts a row type of OUT parameters together anew at each call.
-- Locks: of one login, in this order, the row of session, shared, or new; the live row of sso_grant, or a new one; the
-- foreign keys' share of client. A touch of the session and a new device are left to whoever
-- has them locked already. Transactions of many calls do not wait for each other in a circle if each makes its refreshes
-- first, by grant_id, and then its exchanges, by issuer, sid and client, all as octets; except where a refresh and an
-- exchange of two grants cross, which the server ends as a deadlock or a lock timeout.
-- Old code: there is none.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE TYPE admission AS (
    seen_at timestamptz, client_enabled boolean,
    source_group text, source_role text,
    target_group text, target_role text, scope_ceiling text[],
    other_audience_in_group boolean,
    session_id uuid, subject text, ended_at timestamptz, expires_at timestamptz, last_used_at timestamptz,
    device_blocked boolean,
    grant_id uuid, generation integer, grant_expires_at timestamptz);

-- Every look-up is by the whole of a unique key, all of it known before the look: then there is one plan to choose, and it
-- is right for a table of any size. A join could choose half a key while a table is small, and keep that plan. For the
-- same reason no sequential scan: the plan of a small table must not outlive its smallness.
CREATE FUNCTION admit(
    p_request_id uuid, p_issuer text, p_sid text, p_subject text, p_source_client text, p_other_audience text[],
    p_client text, p_allows_self_exchange boolean, p_device bytea, p_profile text, p_scope text[], p_audiences text[],
    p_auth_time timestamptz, p_acr text, p_amr text[],
    -- Longest time between two uses of the session; life of the grant (NULL: the session's); life of a session that this
    -- exchange may bring in (NULL: it may not).
    p_idle_seconds bigint, p_grant_seconds bigint, p_first_sight_seconds bigint,
    -- Whether all that only the broker can judge is in order. If not: look, write nothing.
    p_permitted boolean,
    p_grant_id uuid, p_session_id uuid)
RETURNS admission
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_now timestamptz;
    v_client_enabled boolean;
    v_source_group text;
    v_source_role text;
    v_target_group text;
    v_target_role text;
    v_scope_ceiling text[];
    v_other_audience_in_group boolean;
    v_session_id uuid;
    v_subject text;
    v_ended_at timestamptz;
    v_expires_at timestamptz;
    v_last_used_at timestamptz;
    v_device_blocked boolean;
    v_device_known boolean;
    v_admitted boolean;
    v_holds_session boolean := false;
    v_grant_id uuid;
    v_generation integer;
    v_grant_expires_at timestamptz;
BEGIN
    FOR v_attempt IN 1..3 LOOP
        -- Not now(): that is when the transaction began, which may hold many calls and have waited for others since.
        v_now := date_trunc('second', clock_timestamp());
        SELECT c.enabled INTO v_client_enabled FROM client c WHERE c.client_id = p_client;
        v_client_enabled := coalesce(v_client_enabled, false);
        -- Both in one look: whoever moves the two from one group to another does so at once.
        SELECT s.group_id, s.role, t.group_id, t.role, t.scope_ceiling
        INTO v_source_group, v_source_role, v_target_group, v_target_role, v_scope_ceiling
        FROM (SELECT) AS one
        LEFT JOIN sharing_group_member s ON s.issuer = p_issuer AND s.client_id = p_source_client
        LEFT JOIN sharing_group_member t ON t.issuer = p_issuer AND t.client_id = p_client;
        v_other_audience_in_group := true;
        IF p_other_audience <> '{}' THEN
            v_other_audience_in_group := NOT EXISTS (
                SELECT FROM unnest(p_other_audience) AS other (client_id)
                WHERE NOT EXISTS (
                    SELECT FROM sharing_group_member m
                    WHERE m.issuer = p_issuer AND m.client_id = other.client_id AND m.group_id = v_source_group));
        END IF;
        SELECT d.blocked_at IS NOT NULL INTO v_device_blocked
        FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device;
        v_device_known := FOUND;
        v_device_blocked := coalesce(v_device_blocked, false);
        SELECT l.session_id, l.subject, l.ended_at, l.expires_at, l.last_used_at
        INTO v_session_id, v_subject, v_ended_at, v_expires_at, v_last_used_at
        FROM session l WHERE l.issuer = p_issuer AND l.sid = p_sid;

        v_admitted := coalesce(
            p_permitted
            AND v_client_enabled
            AND v_source_group = v_target_group AND v_source_role <> 'target' AND v_target_role <> 'source'
            AND v_other_audience_in_group
            AND (p_client <> p_source_client OR p_allows_self_exchange)
            AND CASE WHEN v_session_id IS NULL
                THEN p_first_sight_seconds IS NOT NULL
                ELSE v_subject = p_subject AND v_ended_at IS NULL AND v_now < v_expires_at
                    AND v_now < v_last_used_at + make_interval(secs => p_idle_seconds)
                END
            AND NOT v_device_blocked
            AND (v_scope_ceiling IS NULL OR p_scope <@ v_scope_ceiling),
            false);
        EXIT WHEN NOT v_admitted;
        IF v_session_id IS NOT NULL THEN
            -- From here on whoever ends the session waits until this exchange is committed. Who was faster is waited for
            -- here, and seen by another look.
            PERFORM FROM session l WHERE l.session_id = v_session_id AND l.ended_at IS NULL FOR SHARE;
            v_holds_session := FOUND;
            EXIT WHEN v_holds_session;
            CONTINUE;
        END IF;

        -- First sight. Somebody else may be first, or a logout may have come before: then look again.
        INSERT INTO session AS l (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id,
            auth_time, acr, amr, created_at, expires_at, last_used_at)
        VALUES (
            p_session_id, p_issuer, p_sid, p_issuer, p_sid, p_subject, p_profile, p_device, p_source_client,
            p_auth_time, p_acr, p_amr, v_now, v_now + make_interval(secs => p_first_sight_seconds), v_now)
        ON CONFLICT (issuer, sid) DO NOTHING
        RETURNING l.session_id, l.subject, l.expires_at, l.last_used_at
        INTO v_session_id, v_subject, v_expires_at, v_last_used_at;
        v_holds_session := FOUND;
        EXIT WHEN v_holds_session;
    END LOOP;

    IF v_admitted THEN
        IF NOT v_holds_session THEN
            RAISE EXCEPTION 'the session of an exchange comes and goes' USING ERRCODE = 'serialization_failure';
        END IF;

        IF v_last_used_at < v_now - make_interval(secs => least(300, p_idle_seconds / 4)) THEN
            UPDATE session l SET last_used_at = v_now
            WHERE l.session_id = (
                SELECT k.session_id FROM session k
                WHERE k.session_id = v_session_id AND k.last_used_at < v_now AND k.ended_at IS NULL
                FOR NO KEY UPDATE SKIP LOCKED);
        END IF;
        IF NOT v_device_known
            AND pg_try_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0))
        THEN
            INSERT INTO device (issuer, device_digest, first_seen_at) VALUES (p_issuer, p_device, v_now)
            ON CONFLICT DO NOTHING;
        END IF;

        v_grant_expires_at := least(v_expires_at, v_now + make_interval(secs => p_grant_seconds));
        -- The live grant goes on; that is cheaper than INSERT ... ON CONFLICT, and nearly always so.
        UPDATE sso_grant g SET
            generation = g.generation + 1, rotated_at = v_now,
            source_client_id = p_source_client, device_digest = p_device, scope = p_scope, audiences = p_audiences,
            auth_time = p_auth_time, acr = p_acr, amr = p_amr, expires_at = v_grant_expires_at
        WHERE g.session_id = v_session_id AND g.client_id = p_client AND g.revoked_at IS NULL
        RETURNING g.grant_id, g.generation INTO v_grant_id, v_generation;
        IF NOT FOUND THEN
            INSERT INTO sso_grant AS g (
                grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope,
                audiences, auth_time, acr, amr, created_at, expires_at)
            VALUES (
                p_grant_id, v_session_id, p_client, p_source_client, p_device, 1, v_now, p_scope,
                p_audiences, p_auth_time, p_acr, p_amr, v_now, v_grant_expires_at)
            ON CONFLICT (session_id, client_id) WHERE revoked_at IS NULL DO UPDATE SET
                generation = g.generation + 1, rotated_at = excluded.rotated_at,
                source_client_id = excluded.source_client_id, device_digest = excluded.device_digest,
                scope = excluded.scope, audiences = excluded.audiences,
                auth_time = excluded.auth_time, acr = excluded.acr, amr = excluded.amr,
                expires_at = excluded.expires_at
            RETURNING g.grant_id, g.generation INTO v_grant_id, v_generation;
        END IF;

        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id)
        VALUES (clock_timestamp(), 'exchange_granted', p_request_id, p_client, v_session_id, v_grant_id);
    END IF;
    RETURN ROW (
        v_now, v_client_enabled, v_source_group, v_source_role, v_target_group, v_target_role, v_scope_ceiling,
        v_other_audience_in_group, v_session_id, v_subject, v_ended_at, v_expires_at, v_last_used_at, v_device_blocked,
        v_grant_id, v_generation, v_grant_expires_at)::admission;
END
$$;
GRANT EXECUTE ON FUNCTION admit TO native_sso_broker;
