-- Why: what an exchange and a refresh cost the server, counted in its instructions when 32 calls share a commit:
--   * SET clauses of a function are set and reset in every call. The caller's session has the settings now, and the
--     functions, which act as the owner, run under no other search_path: the first line of each says so in names that no
--     search_path can bend, and the types of its variables are named in full, because they are looked up before that line.
--   * A look at the session and then another that locks it were two statements; each costs 20,000 to 40,000. The look
--     locks now, and comes last, so that what is refused for another reason locks nothing.
--   * A condition with a query in it is run as a query; the scope ceiling's is asked for only where there is a ceiling.
--   * The row that was just looked at is updated where it lies (ctid), without another search. One that has moved since is
--     not found there: then there is another look.
--   * A trigger BEFORE an update locks the row, with a record in the log, before the update does; and asked whether it was
--     an update at all. What an update of a chain must keep is one question now, asked after it; what it hardly ever touches
--     is guarded by column.
-- Whoever shows a key gets what that key alone can use (RFC 9449): a grant is bound to it, a device knows it, and a proof is
-- good once at whichever broker, in the statement that it is for. Who shows none pays for comparisons with NULL.
-- advancement has sid before session_id, so that the session's columns stand together.
-- Locks: ACCESS EXCLUSIVE on sso_grant and device until the commit; milliseconds. It waits half a second and gives up: run it
-- again.
-- Old code: a broker from before gets an error for every call, which is no refusal to its apps; replace it at once. No release
-- had the functions' former shape.
SET LOCAL ROLE native_sso_admin;
SET LOCAL lock_timeout = '500ms';
SET LOCAL search_path = native_sso;

DROP TRIGGER guard ON sso_grant;
DROP FUNCTION guard_sso_grant();

CREATE FUNCTION guard_revocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.revoked_at IS NULL) <> (NEW.revoke_reason IS NULL) THEN
        RAISE EXCEPTION 'a grant is revoked at a time and for a reason, or not at all' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER guard_revocation AFTER INSERT OR UPDATE OF revoked_at, revoke_reason ON sso_grant
    FOR EACH ROW EXECUTE FUNCTION guard_revocation();

CREATE FUNCTION guard_chain() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.revoked_at IS NOT NULL OR NEW.generation NOT IN (OLD.generation, OLD.generation + 1) THEN
        RAISE EXCEPTION 'a chain goes on by one, and a revoked grant stays as it is'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER guard_chain AFTER UPDATE ON sso_grant FOR EACH ROW EXECUTE FUNCTION guard_chain();

CREATE TRIGGER guard_identity AFTER UPDATE OF grant_id, session_id, client_id ON sso_grant
    FOR EACH ROW EXECUTE FUNCTION refuse_change('a chain stays in its session, with its client');

-- By client_id: the only key that the client may show on the device.
CREATE DOMAIN keys_by_client AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');
-- Nothing ever wrote the column that goes.
ALTER TABLE device DROP COLUMN pinned_jkt, ADD COLUMN pinned_keys keys_by_client;

-- Whether this is the first use of a proof of possession, whose row goes with the transaction that it is for: if that is
-- rolled back, the proof was not used. Somebody else who is at it at this moment counts as a use, so that nobody waits here,
-- and no two transactions for each other.
-- No proof is good for as long as an hour; a stolen password of the service must not leave rows for ever. The sweep comes an
-- hour after, which is for brokers whose clocks differ.
CREATE FUNCTION use_dpop_proof(p_digest bytea, p_seconds bigint) RETURNS boolean LANGUAGE plpgsql AS $$
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
CREATE FUNCTION pin_key(p_issuer text, p_device bytea, p_client text, p_jkt text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
    INSERT INTO device AS d (issuer, device_digest, first_seen_at, pinned_keys)
    VALUES (p_issuer, p_device, date_trunc('second', clock_timestamp()), jsonb_build_object(p_client, p_jkt))
    ON CONFLICT (issuer, device_digest) DO UPDATE SET pinned_keys = coalesce(d.pinned_keys, '{}') || excluded.pinned_keys
    WHERE (d.pinned_keys ->> p_client) IS NULL;
    RETURN (SELECT d.pinned_keys ->> p_client FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device);
END
$$;

DROP FUNCTION admit;
DROP FUNCTION advance;
ALTER TYPE admission ADD ATTRIBUTE pinned_jkt text, ADD ATTRIBUTE proof_used boolean;
DROP TYPE advancement;
CREATE TYPE advancement AS (
    seen_at timestamptz, effect text,
    client_id text, generation integer, rotated_at timestamptz, revoked_at timestamptz,
    grant_expires_at timestamptz, scope text[], audiences text[],
    auth_time timestamptz, acr text, amr text[],
    sid text, session_id uuid, subject text, ended_at timestamptz, expires_at timestamptz, last_used_at timestamptz,
    client_enabled boolean, shares_login boolean, scope_ceiling text[], device_blocked boolean,
    jkt text, proof_used boolean);

-- The rules are those of `decide` in the NativeSSO room, and a property test holds the two equal.
-- Every look-up is by the whole of a unique key, all of it known before the look: then there is one plan to choose, and it
-- is right for a table of any size. A join could choose half a key while a table is small, and keep that plan; and it costs
-- more than two looks, since every level of it makes all its columns anew.
-- Locks: of one login, in this order, the row of session, shared, if all else is in order, or new; the row of device, where a
-- key is pinned, of which a new session's comes first; the live row of sso_grant, or a new one; the foreign keys' share of
-- client. A touch of the session and a new device without a key are left to whoever has them locked already. Transactions of
-- many calls do not wait for each other in a circle if each orders its calls by the same key; except where a refresh and an
-- exchange of two grants cross, which the server ends as a deadlock or a lock timeout.
CREATE FUNCTION admit(
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
    p_jkt jwk_thumbprint DEFAULT NULL, p_proof bytea DEFAULT NULL, p_proof_seconds bigint DEFAULT NULL)
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
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'admit runs with search_path = native_sso, pg_temp' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF p_proof IS NOT NULL THEN
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
            AND NOT v_proof_used
            AND (v_scope_ceiling IS NULL OR p_scope <@ v_scope_ceiling),
            false);

        -- The session last. If all else is in order the look at a live one locks: from here on whoever ends it waits until this
        -- exchange is committed, and who was faster is waited for. What is not there or over is looked at without a lock: a
        -- refusal writes nothing, whatever its reason.
        v_is_held := false;
        IF v_admitted THEN
            SELECT l.session_id, l.subject, l.ended_at, l.expires_at, l.last_used_at, l.device_digest IS NULL
            INTO v_session_id, v_subject, v_ended_at, v_expires_at, v_last_used_at, v_lacks_device
            FROM session l
            WHERE l.issuer = p_issuer AND l.sid = p_sid AND l.subject = p_subject
                AND l.ended_at IS NULL AND l.expires_at > clock_timestamp()
            FOR SHARE;
            v_is_held := FOUND;
        END IF;
        IF NOT v_is_held THEN
            SELECT l.session_id, l.subject, l.ended_at, l.expires_at, l.last_used_at
            INTO v_session_id, v_subject, v_ended_at, v_expires_at, v_last_used_at
            FROM session l WHERE l.issuer = p_issuer AND l.sid = p_sid;
            -- It came between the two looks.
            CONTINUE WHEN v_admitted AND v_attempt < 3
                AND v_subject = p_subject AND v_ended_at IS NULL AND v_expires_at > clock_timestamp();
        END IF;
        -- After the wait; and not now(), which is when the transaction began. Whole seconds, rounded down.
        v_now := date_trunc('second', clock_timestamp());
        EXIT WHEN NOT v_admitted OR v_session_id IS NOT NULL OR p_first_sight_seconds IS NULL;

        IF p_heeds_pin AND p_jkt IS NOT NULL AND v_pinned_jkt IS NULL THEN
            -- Before the session is new, so that none is where another key is faster.
            CONTINUE WHEN pin_key(p_issuer, p_device, p_client, p_jkt) <> p_jkt;
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
        v_is_new := FOUND;
        EXIT WHEN v_is_new;
        IF v_attempt = 3 THEN
            RAISE EXCEPTION 'the session of an exchange comes and goes' USING ERRCODE = 'serialization_failure';
        END IF;
    END LOOP;

    IF v_admitted AND (v_is_held OR v_is_new) AND v_subject = p_subject AND v_ended_at IS NULL AND v_now < v_expires_at
        AND v_now < v_last_used_at + make_interval(secs => p_idle_seconds)
    THEN
        IF p_heeds_pin AND p_jkt IS NOT NULL AND v_pinned_jkt IS NULL AND NOT v_is_new THEN
            v_pinned_jkt := nullif(pin_key(p_issuer, p_device, p_client, p_jkt), p_jkt);
            v_admitted := v_pinned_jkt IS NULL;
        END IF;
    ELSE
        v_admitted := false;
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

        v_grant_expires_at := least(v_expires_at, v_now + make_interval(secs => p_grant_seconds));
        IF NOT v_is_new THEN
            -- The live grant goes on; that is cheaper than INSERT ... ON CONFLICT, and nearly always so.
            UPDATE sso_grant g SET
                generation = g.generation + 1, rotated_at = v_now,
                source_client_id = p_source_client, device_digest = p_device, scope = p_scope, audiences = p_audiences,
                auth_time = p_auth_time, acr = p_acr, amr = p_amr, jkt = p_jkt, expires_at = v_grant_expires_at
            WHERE g.session_id = v_session_id AND g.client_id = p_client AND g.revoked_at IS NULL
            RETURNING g.grant_id, g.generation INTO v_grant_id, v_generation;
        END IF;
        IF v_grant_id IS NULL THEN
            INSERT INTO sso_grant AS g (
                grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope,
                audiences, auth_time, acr, amr, jkt, created_at, expires_at)
            VALUES (
                p_grant_id, v_session_id, p_client, p_source_client, p_device, 1, v_now, p_scope,
                p_audiences, p_auth_time, p_acr, p_amr, p_jkt, v_now, v_grant_expires_at)
            ON CONFLICT (session_id, client_id) WHERE revoked_at IS NULL DO UPDATE SET
                generation = g.generation + 1, rotated_at = excluded.rotated_at,
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
        v_grant_id, v_generation, v_grant_expires_at, v_pinned_jkt, v_proof_used)::admission;
END
$$;
GRANT EXECUTE ON FUNCTION admit TO native_sso_broker;

-- The write is a compare-and-swap on the generation, so that of racing refreshes one advances the chain and the others then
-- see its successor. A refused or re-delivered refresh writes nothing; a token that shows misuse revokes the chain, with its
-- audit row, here and now. Look-ups as in admit.
-- Locks: the row of session, shared, if the token is the current one; one row of sso_grant.
CREATE FUNCTION advance(
    p_request_id uuid, p_grant_id uuid, p_generation integer, p_client text,
    -- NULL: all that the grant holds.
    p_scope text[], p_allowed_scope text[],
    p_grace_seconds bigint, p_idle_seconds bigint,
    -- The grace of a chain that is bound to a key; whether its own client may show another one.
    p_bound_grace_seconds bigint DEFAULT 0, p_may_change_key boolean DEFAULT false,
    -- See admit.
    p_jkt jwk_thumbprint DEFAULT NULL, p_proof bytea DEFAULT NULL, p_proof_seconds bigint DEFAULT NULL)
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
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'advance runs with search_path = native_sso, pg_temp' USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF p_proof IS NOT NULL THEN
        v_proof_used := NOT use_dpop_proof(p_proof, p_proof_seconds);
    END IF;
    FOR v_attempt IN 1..10 LOOP
        v_effect := 'none';
        SELECT g.ctid, g.client_id, g.source_client_id, g.device_digest, g.generation, g.rotated_at, g.revoked_at,
            g.expires_at, g.scope, g.audiences, g.auth_time, g.acr, g.amr, g.session_id, g.jkt
        INTO v_grant_at, v_client_id, v_source_client_id, v_device_digest, v_generation, v_rotated_at, v_revoked_at,
            v_grant_expires_at, v_scope, v_audiences, v_auth_time, v_acr, v_amr, v_session_id, v_jkt
        FROM sso_grant g WHERE g.grant_id = p_grant_id;
        IF FOUND AND v_generation = p_generation AND v_client_id = p_client AND v_revoked_at IS NULL THEN
            -- It may go on: whoever ends the session waits, or was faster and is waited for. See admit.
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
        -- Both in one look: see admit.
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
        EXIT WHEN v_revoked_at IS NOT NULL OR v_proof_used;
        -- Before all that shows misuse: whoever has not the key revokes nothing.
        EXIT WHEN v_jkt IS NOT NULL AND (
            p_jkt IS NULL OR v_jkt <> p_jkt AND NOT (p_may_change_key AND v_client_id = p_client));

        v_misuse := CASE
            WHEN v_client_id <> p_client THEN 'refresh_token_foreign_client'
            WHEN p_generation > v_generation THEN 'state_regressed'
            WHEN p_generation < v_generation - 1
                OR p_generation = v_generation - 1
                    AND v_now >= v_rotated_at + make_interval(
                        secs => CASE WHEN v_jkt IS NULL THEN p_grace_seconds ELSE p_bound_grace_seconds END)
                THEN 'refresh_token_replayed'
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
        UPDATE sso_grant g SET generation = g.generation + 1, rotated_at = v_now, jkt = coalesce(p_jkt, g.jkt)
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
        v_proof_used)::advancement;
END
$$;
GRANT EXECUTE ON FUNCTION advance TO native_sso_broker;
