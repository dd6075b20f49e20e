-- The refresh: what a presented refresh token shows, and what becomes of its grant. The rule stands here once, and once in Swift
-- (`refusal` in RefreshDecision.swift). A property test holds the two equal.
--
-- The tokens of a grant are numbered: its generations. An exchange begins a run, and refreshes go on with it. Of earlier runs the
-- grant keeps the spent generations: their successors, made by refreshes, were themselves presented. With
--   p  the generation that the grant's own client presents, with the key that the grant asks for,
--   g  the current generation, and
--   x  the generation of the last exchange:
--
--   presented                  | what it shows                                        | what the broker does
--   ---------------------------|------------------------------------------------------|---------------------------------------------
--   p = g                      | the holder                                           | issues g + 1
--   p = g - 1 >= x, in grace   | the answer was lost, or two requests at once         | sends g again, and writes nothing
--   p = g - 1 >= x, later      | the answer was lost long ago, or a copy: no proof    | late: revokes the grant; an exchange helps
--   x <= p <= g - 2            | p was used, and its successor, too: two holders      | reused: revokes; only a later login helps
--   p < x, spent               | the same; an exchange does not wash it off           | reused
--   p < x, not spent           | another exchange took its place: another part of the | superseded: refuses, and writes nothing;
--                              | app, or the same that lost the answer                | an exchange helps
--   p = g - 1 >= x, unanswered | no answer with g could be made                       | sends g again, until g is presented
--   p = g - 1 >= x, gap        | no broker could answer in the grace period           | sends g again, until 2 min after the gap
--   p = g - 1 >= x, in a gap   | the same, and no broker has counted since            | cannot tell: writes nothing
--   p > g                      | the database lost writes                             | revokes the grant
--   after late: p = g > x      | the holder of the successor is not who came late     | reused: also revokes the grant that began
--   after late: p spent        | two holders                                          | since, unless its login came later
--   after late: other p        | asks for the lost answer once more                   | refuses, and writes nothing
--
-- Unanswered: the signature failed after the commit, and `mark_unanswered` moved the beginning of the grace period to the end of
-- the grant.
--
-- Gap: see the table service_gap. A gap that began in the grace period, or before its extension ended, extends it, by 24 h at most.
--
-- A grant with a key goes on with proofs of that key only, and a token shows nothing without it. A token from before the exchange
-- that bound the key has none: it is judged by this table alone. A refresh binds no key: only an exchange shows id_token and
-- device value. Where reuse is detected, the binding of the grant's key to the device is taken back.
--
-- Two processes of one app that present the same token are two holders, too: an app keeps one token, in one place. A thief who
-- exchanges with id_token and device value looks like the app. Only a key, or the end of the session, stops them.

SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

-- generation: of the presented token. scope: NULL where the request names none. jkt: the key that a DPoP proof showed; NULL: none.
-- allowed_scope: what the client may have today. may_change_key: whether a proof of any key will do, because the client
-- authenticates. grace_seconds, bound_grace_seconds: how long a lost answer is sent again, without and with a key. idle_seconds:
-- longest time between two uses of the session. resource: the audience that the access token is for; NULL: all of the grant's.
SELECT make_type('refresh_call', $$
    request_id uuid, grant_id uuid, generation integer, client text COLLATE "C", scope text[], jkt text COLLATE "C",
    allowed_scope text[], may_change_key boolean, grace_seconds bigint, bound_grace_seconds bigint, idle_seconds bigint,
    resource text COLLATE "C"$$);

-- What the refresh saw, and its effect: none, advanced or revoked; extended: sent again because of a gap; unsure: late, but perhaps
-- because of a gap that goes on. `client` is NULL where there is no such grant.
SELECT make_type('refresh_answer', $$
    place bigint, seen_at timestamptz, assertion_used boolean, proof_used boolean, effect text, client text, generation integer,
    exchanged_generation integer, keyless_before integer, was_spent boolean, rotated_at timestamptz, revoked_at timestamptz,
    came_late boolean, grant_expires_at timestamptz, jkt text, scope text[], audiences text[], auth_time timestamptz, acr text,
    amr text[], claims text, issuer text, session_id uuid, subject text, ended_at timestamptz, expires_at timestamptz,
    last_used_at timestamptz, client_enabled boolean, shares_login boolean, scope_ceiling text[], device_blocked boolean$$);

-- A grant to be revoked, and the version of its row that was judged.
SELECT make_type('refresh_misuse', $$
    place bigint, grant_id uuid, session_id uuid, version xid, verdict text, request_id uuid$$);

-- Takes back the binding of a key to a client on a device, if it is this key.
CREATE OR REPLACE FUNCTION unpin_key(p_session_id uuid, p_device bytea, p_client text, p_jkt text) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF p_jkt IS NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
    UPDATE device d SET pinned_keys = nullif(d.pinned_keys - p_client, '{}')
    FROM session l
    WHERE l.session_id = p_session_id AND d.issuer = l.issuer AND d.device_digest = p_device
        AND d.pinned_keys ->> p_client = p_jkt;
END
$$;

-- Whether one word is in all three lists.
CREATE OR REPLACE FUNCTION have_common(p_one text[], p_two text[], p_three text[]) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM unnest(p_one) AS word WHERE word = ANY (p_two) AND word = ANY (p_three));
END
$$;

-- What becomes of a token that came after its grace period, because of gaps of service.
CREATE OR REPLACE FUNCTION late_verdict(p_rotated_at timestamptz, p_grace_seconds bigint, p_now timestamptz) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    v_end CONSTANT timestamptz := p_rotated_at + make_interval(secs => p_grace_seconds);
    v_until timestamptz := v_end;
    v_gap service_gap;
BEGIN
    FOR v_gap IN SELECT * FROM service_gap g WHERE g.ended_at > p_rotated_at ORDER BY g.began_at LOOP
        EXIT WHEN v_gap.began_at >= v_until;
        v_until := greatest(v_until, v_gap.ended_at + interval '2 minutes');
    END LOOP;
    v_until := least(v_until, v_end + interval '24 hours');
    -- The next gap begins at the newest count. So a count from before the end of the grace period proves nothing yet.
    RETURN CASE
        WHEN p_now < v_until THEN 'extended'
        WHEN EXISTS (
            SELECT FROM service_count c
            WHERE c.only_row AND c.counted_at >= greatest(v_until, clock_timestamp() - interval '6 seconds'))
        THEN 'refresh_token_late'
        ELSE 'unsure' END;
END
$$;

-- Revokes a grant that is still the version that was judged. Returns false if it moved.
--
-- Reuse makes a new version of the session row: an exchange that is under way is judged again, and sees the reuse.
CREATE OR REPLACE FUNCTION revoke_grant(p_misuse refresh_misuse, p_now timestamptz) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    v_grant sso_grant;
    v_other sso_grant;
BEGIN
    IF p_misuse.verdict IN ('refresh_token_reused', 'proven') THEN
        UPDATE session l SET last_used_at = l.last_used_at WHERE l.session_id = p_misuse.session_id AND l.ended_at IS NULL;
    END IF;
    UPDATE sso_grant g SET
        revoked_at = coalesce(g.revoked_at, p_now),
        revoke_reason = CASE p_misuse.verdict WHEN 'proven' THEN 'refresh_token_reused' ELSE p_misuse.verdict END,
        claims = NULL
    WHERE g.grant_id = p_misuse.grant_id AND g.xmin = p_misuse.version
    RETURNING g.* INTO v_grant;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF p_misuse.verdict = 'proven' THEN
        -- The grant that began since is revoked, too, unless its login came later.
        UPDATE sso_grant g SET revoked_at = p_now, revoke_reason = 'refresh_token_reused', claims = NULL
        WHERE g.session_id = v_grant.session_id AND g.client_id = v_grant.client_id AND g.revoked_at IS NULL
            AND coalesce(g.auth_time <= v_grant.revoked_at, true)
        RETURNING g.* INTO v_other;
        IF NOT FOUND THEN
            UPDATE sso_grant g SET replayed_before = greatest(g.replayed_before, v_grant.revoked_at)
            WHERE g.session_id = v_grant.session_id AND g.client_id = v_grant.client_id AND g.revoked_at IS NULL;
        END IF;
    END IF;
    IF v_grant.revoke_reason = 'refresh_token_reused' THEN
        PERFORM unpin_key(v_grant.session_id, v_grant.device_digest, v_grant.client_id, v_grant.jkt);
        PERFORM unpin_key(v_other.session_id, v_other.device_digest, v_other.client_id, v_other.jkt);
    END IF;
    INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, reason)
    SELECT clock_timestamp(), 'grant_revoked', p_misuse.request_id, v_grant.client_id, v_grant.session_id, r.grant_id,
        v_grant.revoke_reason
    FROM unnest(ARRAY[v_grant.grant_id, v_other.grant_id]) AS r (grant_id) WHERE r.grant_id IS NOT NULL;
    RETURN true;
END
$$;

-- Judges refreshes, at most 1000, and answers each. A turn is like one of `exchange`.
CREATE OR REPLACE FUNCTION refresh(p_calls refresh_call[], p_shown shown[] DEFAULT NULL) RETURNS refresh_answer[]
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    v_now pg_catalog.timestamptz;
    v_end native_sso.general_end;
    v_assertion_used pg_catalog.int8[] := '{}';
    v_proof_used pg_catalog.int8[] := '{}';
    v_answers native_sso.refresh_answer[] := '{}';
    v_answered pg_catalog.int8[] := '{}';
    v_more native_sso.refresh_answer[];
    v_misuses native_sso.refresh_misuse[];
    v_moved pg_catalog.int8[];
    v_due pg_catalog.uuid[];
    v_idle_turns integer := 0;
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'refresh runs with search_path = native_sso, pg_temp'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF p_shown IS NOT NULL THEN
        v_assertion_used := used_assertions(p_shown);
        v_proof_used := used_proofs(p_shown, v_assertion_used);
    END IF;
    SELECT * INTO v_end FROM general_end e WHERE e.only_row;
    LOOP
        v_now := date_trunc('second', clock_timestamp());
        WITH judged AS MATERIALIZED (
            SELECT a.place, (a.call).request_id, v.verdict, v.verdict = 'advanced' AND h.is_held AS may_write,
                l.last_used_at < v_now - make_interval(secs => least(300, (a.call).idle_seconds / 4)) AS is_due,
                g.*, l.issuer, l.subject, l.ended_at, l.expires_at AS session_expires_at, l.last_used_at,
                c.enabled AS client_enabled, shares.login AS shares_login, t.scope_ceiling, d.is_blocked
            FROM (SELECT unnest(p_calls) AS call, generate_subscripts(p_calls, 1) AS place) AS a
            -- The look: the same for every refusal. OFFSET 0 makes each a look by a whole key.
            LEFT JOIN LATERAL (
                SELECT g.ctid AS grant_at, g.xmin AS grant_version, g.grant_id, g.session_id, g.client_id, g.source_client_id,
                    g.device_digest, g.generation, g.keyless_before, g.rotated_at, g.revoked_at, g.expires_at, g.scope,
                    g.audiences, g.auth_time, g.acr, g.amr, g.claims, g.jkt,
                    -- A generation that no refresh made is the one of the last exchange.
                    CASE WHEN g.generation > g.refreshed_generation THEN g.generation ELSE g.exchanged_generation END
                        AS exchanged_generation,
                    coalesce(g.spent @> (a.call).generation, false) AS was_spent,
                    g.revoke_reason IS NOT DISTINCT FROM 'refresh_token_late' AS came_late
                FROM sso_grant g WHERE g.grant_id = (a.call).grant_id OFFSET 0) AS g ON true
            LEFT JOIN LATERAL (
                SELECT l.ctid AS at, l.xmin AS version, l.issuer, l.idp_issuer, l.sid, l.subject, l.expires_at, l.last_used_at,
                    CASE WHEN l.ended_at IS NULL AND is_covered(v_end, l.created_at, l.issued_at, l.auth_time)
                        THEN v_end.began_until ELSE l.ended_at END AS ended_at
                FROM session l WHERE l.session_id = g.session_id OFFSET 0) AS l ON true
            LEFT JOIN LATERAL (SELECT c.enabled FROM client c WHERE c.client_id = g.client_id OFFSET 0) AS c ON true
            LEFT JOIN LATERAL (
                SELECT m.group_id, m.role, m.scope_ceiling::text[] AS scope_ceiling FROM sharing_group_member m
                WHERE m.issuer = l.idp_issuer AND m.client_id = g.client_id OFFSET 0) AS t ON true
            LEFT JOIN LATERAL (
                SELECT m.group_id, m.role FROM sharing_group_member m
                WHERE m.issuer = l.idp_issuer AND m.client_id = g.source_client_id OFFSET 0) AS s ON true
            LEFT JOIN LATERAL (
                SELECT d.blocked_at IS NOT NULL AS is_blocked
                FROM device d WHERE d.issuer = l.issuer AND d.device_digest = g.device_digest OFFSET 0) AS d ON true
            CROSS JOIN LATERAL (
                SELECT coalesce(s.group_id = t.group_id AND s.role <> 'target' AND t.role <> 'source', false) AS login) AS shares
            CROSS JOIN LATERAL (
                SELECT CASE WHEN g.jkt IS NULL THEN (a.call).grace_seconds ELSE (a.call).bound_grace_seconds END AS grace) AS w
            -- THE RULE, in the order of `refusal` in RefreshDecision.swift.
            CROSS JOIN LATERAL (
                SELECT CASE
                    WHEN a.place = ANY (v_assertion_used) OR a.place = ANY (v_proof_used) OR l.sid IS NULL THEN 'none'
                    WHEN g.revoked_at IS NOT NULL AND NOT g.came_late THEN 'none'
                    -- Before the checks for misuse: a call without the key revokes nothing. A token from before the key needs none.
                    WHEN (a.call).generation >= g.keyless_before
                        AND (g.jkt <> (a.call).jkt AND NOT ((a.call).may_change_key AND g.client_id = (a.call).client)
                            OR g.jkt IS NOT NULL AND (a.call).jkt IS NULL) THEN 'none'
                    WHEN g.came_late THEN CASE
                        WHEN g.client_id = (a.call).client AND (g.was_spent
                            OR (a.call).generation BETWEEN g.exchanged_generation AND g.generation - 2
                            OR (a.call).generation = g.generation AND g.generation > g.exchanged_generation)
                        THEN 'proven' ELSE 'none' END
                    WHEN g.client_id <> (a.call).client THEN 'refresh_token_foreign_client'
                    WHEN (a.call).generation > g.generation THEN 'state_regressed'
                    WHEN g.was_spent OR (a.call).generation BETWEEN g.exchanged_generation AND g.generation - 2
                        THEN 'refresh_token_reused'
                    WHEN (a.call).generation < g.exchanged_generation THEN 'none'
                    WHEN (a.call).generation < g.generation THEN CASE
                        WHEN v_now >= g.rotated_at + make_interval(secs => w.grace)
                        THEN late_verdict(g.rotated_at, w.grace, v_now) ELSE 'none' END
                    WHEN v_now < g.expires_at AND c.enabled AND shares.login
                        AND l.ended_at IS NULL AND v_now < l.expires_at
                        AND v_now < l.last_used_at + make_interval(secs => (a.call).idle_seconds)
                        AND d.is_blocked IS NOT TRUE
                        AND ((a.call).resource IS NULL OR (a.call).resource = ANY (g.audiences))
                        AND ((a.call).scope IS NULL OR (a.call).scope <@ g.scope AND (a.call).scope <@ (a.call).allowed_scope
                            AND coalesce((a.call).scope <@ t.scope_ceiling, true))
                        AND CASE WHEN t.scope_ceiling IS NULL THEN coalesce((a.call).scope, g.scope) && (a.call).allowed_scope
                            ELSE have_common(coalesce((a.call).scope, g.scope), (a.call).allowed_scope, t.scope_ceiling) END
                        THEN 'advanced'
                    ELSE 'none' END AS verdict
                OFFSET 0) AS v
            LEFT JOIN LATERAL (
                SELECT true AS is_held FROM session h
                WHERE h.ctid = l.at AND h.xmin = l.version AND v.verdict = 'advanced'
                OFFSET 0 FOR SHARE) AS h ON true
            WHERE a.place BETWEEN 1 AND 1000 AND a.place <> ALL (v_answered)
        ), advanced AS (
            UPDATE sso_grant g SET
                generation = k.generation + 1, refreshed_generation = k.generation + 1, rotated_at = v_now
            FROM judged k WHERE k.may_write AND g.ctid = k.grant_at AND g.xmin = k.grant_version
            RETURNING k.place
        )
        SELECT
            array_agg(ROW (
                k.place, v_now, k.place = ANY (v_assertion_used), k.place = ANY (v_proof_used),
                CASE WHEN k.verdict IN ('none', 'advanced', 'extended', 'unsure') THEN k.verdict ELSE 'revoked' END,
                k.client_id, k.generation, k.exchanged_generation, k.keyless_before, k.was_spent, k.rotated_at, k.revoked_at,
                k.came_late, k.expires_at, k.jkt, k.scope, k.audiences, k.auth_time, k.acr, k.amr, k.claims, k.issuer, k.session_id,
                k.subject, k.ended_at, k.session_expires_at, k.last_used_at, coalesce(k.client_enabled, false), k.shares_login,
                k.scope_ceiling, coalesce(k.is_blocked, false))::refresh_answer),
            array_agg(ROW (
                k.place, k.grant_id, k.session_id, k.grant_version, k.verdict, k.request_id)::refresh_misuse)
                FILTER (WHERE k.verdict NOT IN ('none', 'advanced', 'extended', 'unsure')),
            array_agg(k.session_id) FILTER (WHERE k.may_write AND k.is_due)
        INTO v_more, v_misuses, v_due
        FROM judged k
        -- Of the rest a row moved since the look.
        WHERE k.verdict <> 'advanced' OR k.may_write AND k.place = ANY (ARRAY (SELECT u.place FROM advanced u));

        IF v_misuses IS NOT NULL THEN
            v_moved := ARRAY (SELECT m.place FROM unnest(v_misuses) AS m WHERE NOT revoke_grant(m, v_now));
            v_more := ARRAY (SELECT m FROM unnest(v_more) AS m WHERE m.place <> ALL (v_moved));
        END IF;
        IF v_due IS NOT NULL THEN
            PERFORM touch_sessions(v_due, NULL, v_now);
        END IF;
        v_answers := v_answers || v_more;
        EXIT WHEN cardinality(v_answers) = cardinality(p_calls);
        v_idle_turns := CASE WHEN coalesce(cardinality(v_more), 0) = 0 THEN v_idle_turns + 1 ELSE 0 END;
        IF v_idle_turns = 3 THEN
            RAISE EXCEPTION 'the rows of a refresh do not stand still' USING ERRCODE = 'serialization_failure';
        END IF;
        v_answered := ARRAY (SELECT m.place FROM unnest(v_answers) AS m);
    END LOOP;
    RETURN v_answers;
END
$$;
GRANT EXECUTE ON FUNCTION refresh TO native_sso_broker;

-- No answer with this generation could be made: its predecessor stays good until the generation is presented. The grace period
-- then begins at the end of the grant. Changes nothing if the family has moved on, or if an exchange made the generation.
CREATE OR REPLACE FUNCTION mark_unanswered(p_grant_id uuid, p_generation integer) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
BEGIN
    UPDATE sso_grant g SET rotated_at = greatest(g.rotated_at, g.expires_at)
    WHERE g.grant_id = p_grant_id AND g.generation = p_generation AND g.refreshed_generation = p_generation
        AND g.revoked_at IS NULL;
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION mark_unanswered TO native_sso_broker;
