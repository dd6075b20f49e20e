-- The exchange: who gets a grant. One current text, applied again whenever it changes.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

SELECT make_type('admission', $$
    seen_at timestamptz, client_enabled boolean, source_group text, source_role text, target_group text, target_role text,
    scope_ceiling text[], other_audience_in_group boolean, session_id uuid, subject text, ended_at timestamptz,
    expires_at timestamptz, last_used_at timestamptz, device_blocked boolean, grant_id uuid, generation integer,
    grant_expires_at timestamptz, pinned_jkt text, proof_used boolean, needs_later_login boolean, assertion_used boolean$$);

SELECT make_type('admit_call', $$
    request_id uuid, issuer text COLLATE "C", sid text COLLATE "C", subject text COLLATE "C",
    source_client text COLLATE "C", other_audience text[], client text COLLATE "C", allows_self_exchange boolean,
    device bytea, scope text[], audiences text[], auth_time timestamptz, acr text, amr text[], idle_seconds bigint,
    grant_seconds bigint, permitted boolean, grant_id uuid, heeds_pin boolean$$);

-- Somebody else who is at it at this moment counts as a use, as for a DPoP proof: nobody waits here while he holds a device or a
-- session that the other waits for.
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
    VALUES ('client_assertion', p_digest, least(p_expires_at, now() + interval '1 hour'))
    ON CONFLICT (kind, digest) DO NOTHING;
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION use_client_assertion TO native_sso_broker;

-- Whether this is the first use of a proof of possession, whose row goes with the transaction that it is for: if that is
-- rolled back, the proof was not used. Somebody else who is at it at this moment counts as a use, so that nobody waits here,
-- and no two transactions for each other.
-- No proof is good for as long as an hour; a stolen password of the service must not leave rows for ever. The sweep comes an
-- hour after, which is for brokers whose clocks differ.
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

-- Once for a client on a device: pins the key, unless another one was faster. Which it is then.
CREATE OR REPLACE FUNCTION pin_key(p_issuer text, p_device bytea, p_client text, p_jkt text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
    INSERT INTO device AS d (issuer, device_digest, first_seen_at, pinned_keys)
    VALUES (p_issuer, p_device, date_trunc('second', clock_timestamp()), jsonb_build_object(p_client, p_jkt))
    ON CONFLICT (issuer, device_digest) DO UPDATE SET pinned_keys = coalesce(d.pinned_keys, '{}') || excluded.pinned_keys
    WHERE (d.pinned_keys ->> p_client) IS NULL;
    RETURN (SELECT d.pinned_keys ->> p_client FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device);
END
$$;

-- Whether an exchange asks for what the last one gave a moment ago, and nobody has used that since. Inlined where it is used.
CREATE OR REPLACE FUNCTION is_repeated(
    g sso_grant, p_now timestamptz, p_source_client text, p_device bytea, p_scope text[], p_audiences text[],
    p_jkt text, p_auth_time timestamptz, p_acr text, p_amr text[]) RETURNS boolean
LANGUAGE sql STABLE AS $$
    SELECT g.rotated_at > p_now - interval '10 seconds' AND g.generation > g.refreshed_generation
        AND g.jkt IS NOT DISTINCT FROM p_jkt AND g.source_client_id = p_source_client AND g.device_digest = p_device
        AND g.scope = p_scope AND g.audiences = p_audiences
        AND g.auth_time IS NOT DISTINCT FROM p_auth_time AND g.acr IS NOT DISTINCT FROM p_acr AND g.amr = p_amr
$$;

-- Whether an exchange ends a run in which something was spent. Inlined where it is used.
CREATE OR REPLACE FUNCTION is_spending(g sso_grant) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT g.generation = g.refreshed_generation AND g.generation - g.exchanged_generation >= 2
$$;

-- What was spent, when an exchange ends this run. Of sixteen runs, so that no chain grows a row: the oldest two become one, and what
-- lies between them counts as spent, too, which at worst costs a login.
CREATE OR REPLACE FUNCTION spent_by_exchange(g sso_grant) RETURNS int4multirange LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN cardinality(s.runs) <= 16 THEN s.all_runs
        ELSE s.all_runs + int4multirange(range_merge(s.runs[1], s.runs[2])) END
    FROM (
        SELECT m.all_runs, ARRAY (SELECT r FROM unnest(m.all_runs) AS r ORDER BY r) AS runs
        FROM (SELECT coalesce(g.spent, '{}') + int4multirange(int4range(g.exchanged_generation, g.generation - 1)))
            AS m (all_runs)) AS s
$$;

-- Looks, judges and writes for one exchange. Every refusal takes the same looks, so that its time does not tell its reason.
CREATE OR REPLACE FUNCTION admit(
    p_request_id uuid, p_issuer text, p_sid text, p_subject text, p_source_client text, p_other_audience text[],
    p_client text, p_allows_self_exchange boolean, p_device bytea, p_profile text, p_scope text[], p_audiences text[],
    p_auth_time timestamptz, p_acr text, p_amr text[],
    -- Longest time between two uses of the session; life of the grant (NULL: the session's); life of a session that this
    -- exchange may bring in (NULL: it may not).
    p_idle_seconds bigint, p_grant_seconds bigint, p_first_sight_seconds bigint,
    -- Whether all that only the broker can judge is in order. If not: look, write nothing.
    p_permitted boolean,
    p_grant_id uuid, p_session_id uuid,
    -- Whether the first key that the client shows on the device is its only one there.
    p_heeds_pin boolean DEFAULT false,
    -- The key that the request shows, and the proof by which it does; NULL: none.
    p_jkt jwk_thumbprint DEFAULT NULL, p_proof bytea DEFAULT NULL, p_proof_seconds bigint DEFAULT NULL,
    -- When the id_token was issued, where its auth_time does not say as much; kept with a login that comes in.
    p_issued_at timestamptz DEFAULT NULL,
    -- By which the client authenticated, and when that is refused for its age; NULL: otherwise.
    p_assertion bytea DEFAULT NULL, p_assertion_expires_at timestamptz DEFAULT NULL)
RETURNS native_sso.admission
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    v_now pg_catalog.timestamptz;
    v_client_enabled boolean;
    v_source_group pg_catalog.text;
    v_source_role pg_catalog.text;
    v_target_group pg_catalog.text;
    v_target_role pg_catalog.text;
    v_scope_ceiling pg_catalog.text[];
    v_other_audience_in_group boolean := true;
    v_session_id pg_catalog.uuid;
    v_subject pg_catalog.text;
    v_ended_at pg_catalog.timestamptz;
    v_expires_at pg_catalog.timestamptz;
    v_last_used_at pg_catalog.timestamptz;
    v_device_known boolean;
    v_device_blocked boolean;
    v_admitted boolean;
    v_is_new boolean := false;
    v_is_held boolean;
    v_lacks_device boolean;
    v_grant_id pg_catalog.uuid;
    v_generation integer;
    v_grant_expires_at pg_catalog.timestamptz;
    v_pinned_jkt pg_catalog.text;
    v_proof_used boolean := false;
    v_assertion_used boolean := false;
    v_replayed_at pg_catalog.timestamptz;
    v_needs_later_login boolean := false;
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'admit runs with search_path = native_sso, pg_temp' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF p_assertion IS NOT NULL THEN
        v_assertion_used := NOT use_client_assertion(p_assertion, p_assertion_expires_at);
    END IF;
    IF p_proof IS NOT NULL AND NOT v_assertion_used THEN
        v_proof_used := NOT use_dpop_proof(p_proof, p_proof_seconds);
    END IF;
    FOR v_attempt IN 1..3 LOOP
        SELECT c.enabled INTO v_client_enabled FROM client c WHERE c.client_id = p_client;
        v_client_enabled := coalesce(v_client_enabled, false);
        -- Both in one look: whoever moves the two from one group to another does so at once.
        SELECT s.group_id, s.role, t.group_id, t.role, t.scope_ceiling
        INTO v_source_group, v_source_role, v_target_group, v_target_role, v_scope_ceiling
        FROM (SELECT) AS one
        LEFT JOIN sharing_group_member s ON s.issuer = p_issuer AND s.client_id = p_source_client
        LEFT JOIN sharing_group_member t ON t.issuer = p_issuer AND t.client_id = p_client;
        IF cardinality(p_other_audience) > 0 THEN
            v_other_audience_in_group := NOT EXISTS (
                SELECT FROM unnest(p_other_audience) AS other (client_id)
                WHERE NOT EXISTS (
                    SELECT FROM sharing_group_member m
                    WHERE m.issuer = p_issuer AND m.client_id = other.client_id AND m.group_id = v_source_group));
        END IF;
        SELECT d.blocked_at IS NOT NULL, CASE WHEN p_heeds_pin THEN d.pinned_keys ->> p_client END
        INTO v_device_blocked, v_pinned_jkt
        FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device;
        v_device_known := FOUND;
        v_device_blocked := coalesce(v_device_blocked, false);
        v_admitted := coalesce(
            p_permitted
            AND v_client_enabled
            AND v_source_group = v_target_group AND v_source_role <> 'target' AND v_target_role <> 'source'
            AND v_other_audience_in_group
            AND (p_client <> p_source_client OR p_allows_self_exchange)
            AND NOT v_device_blocked
            AND (v_pinned_jkt IS NULL OR v_pinned_jkt = p_jkt)
            AND NOT v_proof_used AND NOT v_assertion_used
            AND (v_scope_ceiling IS NULL OR p_scope <@ v_scope_ceiling),
            false);

        -- The session last. If all else is in order the look at a live one locks: from here on whoever ends it waits until this
        -- exchange is committed, and who was faster is waited for. What is not there or over is looked at without a lock: a
        -- refusal writes nothing, whatever its reason. If all else is not in order the same look finds and locks nothing: it is
        -- for its time, since an unknown session is looked for twice.
        SELECT l.session_id, l.subject, l.ended_at, l.expires_at, l.last_used_at, l.device_digest IS NULL
        INTO v_session_id, v_subject, v_ended_at, v_expires_at, v_last_used_at, v_lacks_device
        FROM session l
        WHERE l.issuer = p_issuer AND l.sid = p_sid AND l.subject = p_subject
            AND l.ended_at IS NULL AND l.expires_at > clock_timestamp() AND (v_admitted OR l.ended_at IS NOT NULL)
            AND satisfies_limits(p_issued_at, p_auth_time, l.iat_after, l.auth_time_after)
        FOR SHARE;
        v_is_held := FOUND;
        IF NOT v_is_held THEN
            -- To an id_token from before an end of this name, the session that has the name now is an ended one.
            SELECT l.session_id, l.subject,
                CASE WHEN satisfies_limits(p_issued_at, p_auth_time, l.iat_after, l.auth_time_after) THEN l.ended_at
                    ELSE coalesce(l.ended_at, l.created_at) END,
                l.expires_at, l.last_used_at
            INTO v_session_id, v_subject, v_ended_at, v_expires_at, v_last_used_at
            FROM session l WHERE l.issuer = p_issuer AND l.sid = p_sid
            ORDER BY coalesce(l.ended_at, 'infinity') DESC LIMIT 1;
            -- It came between the two looks.
            CONTINUE WHEN v_admitted AND v_attempt < 3
                AND v_subject = p_subject AND v_ended_at IS NULL AND v_expires_at > clock_timestamp();
        END IF;
        -- After the wait; and not now(), which is when the transaction began. Whole seconds, rounded down.
        v_now := date_trunc('second', clock_timestamp());
        EXIT WHEN NOT v_admitted OR v_session_id IS NOT NULL OR p_first_sight_seconds IS NULL;

        IF p_heeds_pin AND p_jkt IS NOT NULL AND v_pinned_jkt IS NULL THEN
            -- Whoever else pins a key on the device waits from here on, or was faster: then there is no new session. The key
            -- itself is pinned after that, since a logout may make the login dead, and who brings a dead one pins nothing.
            PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
            CONTINUE WHEN EXISTS (
                SELECT FROM device d
                WHERE d.issuer = p_issuer AND d.device_digest = p_device AND (d.pinned_keys ->> p_client) <> p_jkt);
        END IF;
        -- First sight. Somebody else may be first, or a logout may have come before: then look again.
        INSERT INTO session AS l (
            issued_at, session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id,
            auth_time, acr, amr, created_at, expires_at, last_used_at)
        VALUES (
            p_issued_at, p_session_id, p_issuer, p_sid, p_issuer, p_sid, p_subject, p_profile, p_device, p_source_client,
            p_auth_time, p_acr, p_amr, v_now, v_now + make_interval(secs => p_first_sight_seconds), v_now)
        ON CONFLICT (issuer, sid, coalesce(ended_at, 'infinity')) DO NOTHING
        RETURNING l.session_id, l.subject, l.expires_at, l.last_used_at
        INTO v_session_id, v_subject, v_expires_at, v_last_used_at;
        v_is_new := FOUND;
        IF v_is_new AND p_heeds_pin AND p_jkt IS NOT NULL AND v_pinned_jkt IS NULL THEN
            PERFORM pin_key(p_issuer, p_device, p_client, p_jkt);
        END IF;
        EXIT WHEN v_is_new;
        IF v_attempt = 3 THEN
            RAISE EXCEPTION 'the session of an exchange comes and goes' USING ERRCODE = 'serialization_failure';
        END IF;
    END LOOP;

    IF v_admitted AND (v_is_held OR v_is_new) AND v_subject = p_subject AND v_ended_at IS NULL AND v_now < v_expires_at
        AND v_now < v_last_used_at + make_interval(secs => p_idle_seconds)
    THEN
        IF p_heeds_pin AND p_jkt IS NOT NULL AND v_pinned_jkt IS NULL AND NOT v_is_new THEN
            -- Before the pin: a refusal writes nothing.
            v_needs_later_login := EXISTS (
                SELECT FROM sso_grant g
                WHERE g.session_id = v_session_id AND g.client_id = p_client
                    AND g.revoke_reason = 'refresh_token_reused' AND g.revoked_at >= coalesce(p_auth_time, '-infinity'));
            IF NOT v_needs_later_login THEN
                v_pinned_jkt := nullif(pin_key(p_issuer, p_device, p_client, p_jkt), p_jkt);
            END IF;
            v_admitted := v_pinned_jkt IS NULL AND NOT v_needs_later_login;
        END IF;
    ELSE
        v_admitted := false;
    END IF;
    IF v_admitted AND NOT v_is_new THEN
        -- The live grant goes on; that is cheaper than INSERT ... ON CONFLICT, and nearly always so.
        UPDATE sso_grant g SET
            generation = CASE
                WHEN is_repeated(
                    g, v_now, p_source_client, p_device, p_scope, p_audiences, p_jkt, p_auth_time, p_acr, p_amr) THEN g.generation
                ELSE g.generation + 1 END,
            exchanged_generation = CASE
                WHEN is_repeated(
                    g, v_now, p_source_client, p_device, p_scope, p_audiences, p_jkt, p_auth_time, p_acr, p_amr) THEN g.generation
                ELSE g.generation + 1 END,
            spent = CASE WHEN is_spending(g) THEN spent_by_exchange(g) ELSE g.spent END,
            rotated_at = CASE
                WHEN is_repeated(
                    g, v_now, p_source_client, p_device, p_scope, p_audiences, p_jkt, p_auth_time, p_acr, p_amr) THEN g.rotated_at
                ELSE v_now END,
            source_client_id = p_source_client, device_digest = p_device, scope = p_scope, audiences = p_audiences,
            auth_time = p_auth_time, acr = p_acr, amr = p_amr, jkt = p_jkt,
            expires_at = least(v_expires_at, v_now + make_interval(secs => p_grant_seconds))
        WHERE g.session_id = v_session_id AND g.client_id = p_client AND g.revoked_at IS NULL
            AND (g.replayed_before IS NULL OR g.replayed_before < p_auth_time)
        RETURNING g.grant_id, g.generation, g.expires_at INTO v_grant_id, v_generation, v_grant_expires_at;
        IF v_grant_id IS NULL THEN
            -- Whoever stole a chain of this client may have this very id_token.
            SELECT max(g.revoked_at) INTO v_replayed_at
            FROM sso_grant g
            WHERE g.session_id = v_session_id AND g.client_id = p_client AND g.revoke_reason = 'refresh_token_reused';
            v_needs_later_login := coalesce(v_replayed_at >= coalesce(p_auth_time, '-infinity'), false);
            v_admitted := NOT v_needs_later_login;
        END IF;
    END IF;
    IF v_admitted THEN
        -- A login that came in without its device learns it: what knows of no login is swept, with the keys that it has.
        IF v_lacks_device OR v_last_used_at < v_now - make_interval(secs => least(300, p_idle_seconds / 4)) THEN
            UPDATE session l SET last_used_at = v_now, device_digest = coalesce(l.device_digest, p_device)
            WHERE l.session_id = (
                SELECT k.session_id FROM session k
                WHERE k.session_id = v_session_id AND (k.last_used_at < v_now OR k.device_digest IS NULL) AND k.ended_at IS NULL
                FOR NO KEY UPDATE SKIP LOCKED);
        END IF;
        IF NOT v_device_known
            AND pg_try_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0))
        THEN
            INSERT INTO device (issuer, device_digest, first_seen_at) VALUES (p_issuer, p_device, v_now)
            ON CONFLICT DO NOTHING;
        END IF;

        IF v_grant_id IS NULL THEN
            v_grant_expires_at := least(v_expires_at, v_now + make_interval(secs => p_grant_seconds));
            INSERT INTO sso_grant AS g (
                grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope,
                audiences, auth_time, acr, amr, jkt, created_at, expires_at, replayed_before)
            VALUES (
                p_grant_id, v_session_id, p_client, p_source_client, p_device, 1, v_now, p_scope,
                p_audiences, p_auth_time, p_acr, p_amr, p_jkt, v_now, v_grant_expires_at, v_replayed_at)
            ON CONFLICT (session_id, client_id) WHERE revoked_at IS NULL DO UPDATE SET
                generation = CASE
                    WHEN is_repeated(
                    g, v_now, p_source_client, p_device, p_scope, p_audiences, p_jkt, p_auth_time, p_acr, p_amr) THEN g.generation
                    ELSE g.generation + 1 END,
                exchanged_generation = CASE
                    WHEN is_repeated(
                    g, v_now, p_source_client, p_device, p_scope, p_audiences, p_jkt, p_auth_time, p_acr, p_amr) THEN g.generation
                    ELSE g.generation + 1 END,
                spent = CASE WHEN is_spending(g) THEN spent_by_exchange(g) ELSE g.spent END,
                rotated_at = CASE
                    WHEN is_repeated(
                    g, v_now, p_source_client, p_device, p_scope, p_audiences, p_jkt, p_auth_time, p_acr, p_amr) THEN g.rotated_at
                    ELSE v_now END,
                source_client_id = excluded.source_client_id, device_digest = excluded.device_digest,
                scope = excluded.scope, audiences = excluded.audiences,
                auth_time = excluded.auth_time, acr = excluded.acr, amr = excluded.amr, jkt = excluded.jkt,
                expires_at = excluded.expires_at
            RETURNING g.grant_id, g.generation INTO v_grant_id, v_generation;
        END IF;

        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id)
        VALUES (clock_timestamp(), 'exchange_granted', p_request_id, p_client, v_session_id, v_grant_id);
    END IF;
    RETURN ROW (
        v_now, v_client_enabled, v_source_group, v_source_role, v_target_group, v_target_role, v_scope_ceiling,
        v_other_audience_in_group, v_session_id, v_subject, v_ended_at, v_expires_at, v_last_used_at, v_device_blocked,
        v_grant_id, v_generation, v_grant_expires_at, v_pinned_jkt, v_proof_used,
        v_needs_later_login, v_assertion_used)::admission;
END
$$;
GRANT EXECUTE ON FUNCTION admit TO native_sso_broker;

CREATE OR REPLACE FUNCTION admit_batch(p_calls native_sso.admit_call[], OUT answer native_sso.admission, OUT place bigint)
RETURNS SETOF record
LANGUAGE plpgsql SECURITY DEFINER ROWS 10 AS $$
DECLARE
    v_now pg_catalog.timestamptz;
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'admit_batch runs with search_path = native_sso, pg_temp'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    v_now := date_trunc('second', clock_timestamp());
    RETURN QUERY
    WITH looked AS MATERIALIZED (
        SELECT a.*, t.group_id, t.target_role, t.scope_ceiling, s.source_role, l.session_id, l.expires_at, l.last_used_at,
            least(l.expires_at, v_now + make_interval(secs => a.grant_seconds)) AS grant_expires_at, g.grant_at,
            d.is_known IS NULL AS device_is_new
        FROM unnest(p_calls) WITH ORDINALITY
            AS a (
                request_id, issuer, sid, subject, source_client, other_audience, client, allows_self_exchange, device, scope,
                audiences, auth_time, acr, amr, idle_seconds, grant_seconds, permitted, grant_id, heeds_pin, place)
        CROSS JOIN LATERAL (SELECT FROM client c WHERE c.client_id = a.client AND c.enabled OFFSET 0) AS c
        CROSS JOIN LATERAL (
            SELECT t.group_id, t.role AS target_role, t.scope_ceiling::text[] AS scope_ceiling FROM sharing_group_member t
            WHERE t.issuer = a.issuer AND t.client_id = a.client AND t.role <> 'source'
            OFFSET 0) AS t
        CROSS JOIN LATERAL (
            SELECT s.role AS source_role FROM sharing_group_member s
            WHERE s.issuer = a.issuer AND s.client_id = a.source_client AND s.group_id = t.group_id AND s.role <> 'target'
            OFFSET 0) AS s
        LEFT JOIN LATERAL (
            SELECT true AS is_known, d.blocked_at, CASE WHEN a.heeds_pin THEN d.pinned_keys ->> a.client END AS pinned_jkt
            FROM device d WHERE d.issuer = a.issuer AND d.device_digest = a.device
            OFFSET 0) AS d ON true
        CROSS JOIN LATERAL (
            SELECT l.session_id, l.subject, l.expires_at, l.last_used_at FROM session l
            WHERE l.issuer = a.issuer AND l.sid = a.sid
                AND l.ended_at IS NULL AND v_now < l.expires_at
                AND v_now < l.last_used_at + make_interval(secs => a.idle_seconds)
                AND l.device_digest IS NOT NULL
                -- A name that had an end demands more of the id_token: admit judges that.
                AND l.iat_after IS NULL AND l.auth_time_after IS NULL
            OFFSET 0 FOR SHARE SKIP LOCKED) AS l
        LEFT JOIN LATERAL (
            SELECT g.ctid AS grant_at, g.replayed_before FROM sso_grant g
            WHERE g.session_id = l.session_id AND g.client_id = a.client AND g.revoked_at IS NULL
            OFFSET 0) AS g ON true
        WHERE a.place BETWEEN 1 AND 1000
            -- Not above: there an index on the subject could be chosen.
            AND l.subject = a.subject
            AND a.permitted AND d.blocked_at IS NULL AND d.pinned_jkt IS NULL
            AND (a.client <> a.source_client OR a.allows_self_exchange)
            AND (t.scope_ceiling IS NULL OR a.scope <@ t.scope_ceiling)
            AND (cardinality(a.other_audience) = 0
                OR NOT EXISTS (
                    SELECT FROM unnest(a.other_audience) AS other (client_id)
                    WHERE NOT EXISTS (
                        SELECT FROM sharing_group_member m
                        WHERE m.issuer = a.issuer AND m.client_id = other.client_id AND m.group_id = t.group_id)))
            -- Whoever may need a later login is judged by admit.
            AND CASE WHEN g.grant_at IS NULL
                THEN NOT EXISTS (
                    SELECT FROM sso_grant r
                    WHERE r.session_id = l.session_id AND r.client_id = a.client
                        -- A late one may have become proof since the snapshot.
                        AND r.revoke_reason IN ('refresh_token_reused', 'refresh_token_late'))
                ELSE g.replayed_before IS NULL END
    ), advanced AS (
        UPDATE sso_grant g SET
            generation = CASE
                WHEN is_repeated(
                    g, v_now, k.source_client, k.device, k.scope, k.audiences, NULL, k.auth_time, k.acr, k.amr) THEN g.generation
                ELSE g.generation + 1 END,
            exchanged_generation = CASE
                WHEN is_repeated(
                    g, v_now, k.source_client, k.device, k.scope, k.audiences, NULL, k.auth_time, k.acr, k.amr) THEN g.generation
                ELSE g.generation + 1 END,
            spent = CASE WHEN is_spending(g) THEN spent_by_exchange(g) ELSE g.spent END,
            rotated_at = CASE
                WHEN is_repeated(
                    g, v_now, k.source_client, k.device, k.scope, k.audiences, NULL, k.auth_time, k.acr, k.amr) THEN g.rotated_at
                ELSE v_now END,
            source_client_id = k.source_client, device_digest = k.device, scope = k.scope, audiences = k.audiences,
            auth_time = k.auth_time, acr = k.acr, amr = k.amr, jkt = NULL, expires_at = k.grant_expires_at
        FROM looked k
        WHERE g.ctid = k.grant_at AND g.session_id = k.session_id AND g.client_id = k.client AND g.revoked_at IS NULL
            AND g.replayed_before IS NULL
        RETURNING k.place, g.grant_id AS granted_id, g.generation, k.request_id, k.client, k.session_id, k.group_id,
            k.source_role, k.target_role, k.scope_ceiling, k.subject, k.expires_at, k.last_used_at, k.grant_expires_at,
            k.idle_seconds, k.issuer, k.device, k.device_is_new
    ), inserted AS (
        INSERT INTO sso_grant AS g (
            grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope,
            audiences, auth_time, acr, amr, created_at, expires_at)
        SELECT k.grant_id, k.session_id, k.client, k.source_client, k.device, 1, v_now, k.scope,
            k.audiences, k.auth_time, k.acr, k.amr, v_now, k.grant_expires_at
        FROM looked k WHERE k.grant_at IS NULL
        -- Somebody was faster, or it is the second call of two.
        ON CONFLICT DO NOTHING
        RETURNING g.grant_id
    ), granted AS (
        SELECT * FROM advanced
        UNION ALL
        SELECT k.place, k.grant_id, 1, k.request_id, k.client, k.session_id, k.group_id,
            k.source_role, k.target_role, k.scope_ceiling, k.subject, k.expires_at, k.last_used_at, k.grant_expires_at,
            k.idle_seconds, k.issuer, k.device, k.device_is_new
        FROM looked k WHERE k.grant_at IS NULL AND k.grant_id = ANY (ARRAY (SELECT i.grant_id FROM inserted i))
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id)
        SELECT clock_timestamp(), 'exchange_granted', k.request_id, k.client, k.session_id, k.granted_id FROM granted k
    ), met AS (
        INSERT INTO device (issuer, device_digest, first_seen_at)
        SELECT k.issuer, k.device, v_now FROM granted k
        WHERE k.device_is_new
            AND pg_try_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(k.device, 'hex'), 0))
        ON CONFLICT DO NOTHING
    ), touched AS (
        UPDATE session l SET last_used_at = v_now
        FROM granted k
        CROSS JOIN LATERAL (
            SELECT h.ctid AS session_at, h.session_id FROM session h
            WHERE h.session_id = k.session_id AND h.last_used_at < v_now AND h.ended_at IS NULL
            OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS h
        WHERE k.last_used_at < v_now - make_interval(secs => least(300, k.idle_seconds / 4))
            AND l.ctid = h.session_at AND l.session_id = h.session_id
    )
    SELECT ROW (
        v_now, true, k.group_id, k.source_role, k.group_id, k.target_role, k.scope_ceiling,
        true, k.session_id, k.subject, NULL, k.expires_at, k.last_used_at, false,
        k.granted_id, k.generation, k.grant_expires_at, NULL, false, false, false)::admission, k.place
    FROM granted k;
END
$$;
GRANT EXECUTE ON FUNCTION admit_batch TO native_sso_broker;
