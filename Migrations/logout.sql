-- Ends of sessions by the IdP (OpenID Connect Back-Channel Logout 1.0, global token revocation, security event tokens), and sessions
-- that an IdP registers.
--
-- A logout wins over a login that arrives after it, by any way. A user may have any number of sessions, so a logout is a few
-- short transactions: first the mark that keeps later logins out, then the sessions, some hundreds at a time, and last the token's
-- identifier. A logout that breaks off is done again when the IdP repeats it. The broker answers after the last commit.
-- A function that ends many sessions never waits for a row while it holds another: it passes over locked rows and ends each of them
-- later, alone. So it cannot deadlock with a batch of exchanges.
-- One current text, applied again when it changes.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

SELECT make_type('logout_batch', $$
    ended bigint, after uuid$$);

SELECT make_type('registration', $$
    outcome text, session_id uuid$$);

-- First step of a logout: a login that arrives after its commit begins no live session. $1 digest of issuer and jti, $2 issuer,
-- $3 SHA-256 of the sid or NULL, $4 subject or NULL, $5 the token's iat, $6 the row of the mark where a session of that name is live, $7 whether
-- only those sessions of the subject end that have no sid, $8 what the IdP sent: LogoutCause in Swift.
-- Of account_disabled and account_enabled the later one counts; of two in one second, the one that comes last.
-- Returns an instant for the next steps: that of the answer, in whole seconds, plus one second. NULL: the token was used before.
-- Locks first the subject, then the session, as keep_logged_out does.
CREATE OR REPLACE FUNCTION begin_logout(
    p_digest bytea, p_issuer text, p_sid bytea, p_subject text, p_issued_at timestamptz, p_session_id uuid,
    p_without_sid boolean DEFAULT false, p_cause text DEFAULT 'logout_token')
RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_now timestamptz := date_trunc('second', now());
    v_issued_at timestamptz := instant_that_counts(p_issued_at);
BEGIN
    IF EXISTS (SELECT FROM used_proof p WHERE p.kind = p_cause AND p.digest = p_digest) THEN
        RETURN NULL;
    END IF;
    IF p_subject IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(logout_lock('sub', p_issuer, p_subject));
        INSERT INTO subject_logout AS o (
            idp_issuer, subject, issued_at, without_sid_issued_at, disabled_at, enabled_at, recorded_at)
        VALUES (
            p_issuer, p_subject, CASE WHEN NOT p_without_sid AND p_cause <> 'account_enabled' THEN v_issued_at END,
            CASE WHEN p_without_sid THEN v_issued_at END, CASE WHEN p_cause = 'account_disabled' THEN v_issued_at END,
            CASE WHEN p_cause = 'account_enabled' THEN v_issued_at END, v_now)
        ON CONFLICT (idp_issuer, subject) DO UPDATE SET
            issued_at = greatest(o.issued_at, excluded.issued_at),
            without_sid_issued_at = greatest(o.without_sid_issued_at, excluded.without_sid_issued_at),
            disabled_at = CASE WHEN excluded.disabled_at >= coalesce(o.enabled_at, '-infinity')
                    THEN greatest(o.disabled_at, excluded.disabled_at)
                WHEN excluded.enabled_at >= o.disabled_at THEN NULL ELSE o.disabled_at END,
            enabled_at = CASE WHEN excluded.enabled_at >= coalesce(o.disabled_at, '-infinity')
                    THEN greatest(o.enabled_at, excluded.enabled_at)
                WHEN excluded.disabled_at >= o.enabled_at THEN NULL ELSE o.enabled_at END,
            recorded_at = excluded.recorded_at;
    END IF;
    IF p_sid IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(logout_lock('sid', p_issuer, encode(p_sid, 'hex')));
        UPDATE session l SET auth_time_after = greatest(l.auth_time_after, v_issued_at)
        WHERE l.idp_issuer = p_issuer AND l.idp_sid = p_sid AND l.ended_at IS NOT NULL
            AND (l.auth_time_after IS NULL OR l.auth_time_after < v_issued_at);
        IF NOT EXISTS (
            SELECT FROM session l WHERE l.idp_issuer = p_issuer AND l.idp_sid = p_sid AND l.ended_at IS NOT NULL)
        THEN
            -- The mark has the name itself, so that a first sight finds it. Where another session has the name, the mark has the name
            -- of its own row, and the last step deletes it.
            INSERT INTO session (
                session_id, issuer, sid, idp_issuer, idp_sid, created_at, expires_at, last_used_at, ended_at, end_reason,
                auth_time_after)
            SELECT p_session_id, p_issuer, CASE WHEN l.is_taken THEN own_sid(p_session_id) ELSE p_sid END, p_issuer, p_sid, v_now,
                v_now, v_now, v_now, 'logout', v_issued_at
            FROM (SELECT EXISTS (SELECT FROM session t WHERE t.issuer = p_issuer AND t.sid = p_sid)) AS l (is_taken);
        END IF;
    END IF;
    -- The locks above waited for logins that were arriving: all of them are older than this instant.
    RETURN date_trunc('second', clock_timestamp()) + interval '1 second';
END
$$;
GRANT EXECUTE ON FUNCTION begin_logout TO native_sso_broker;

-- Next step, repeated, each a transaction. $1 request, $2 issuer, $3 SHA-256 of the sid, or $4 subject, $5 the instant of the first step, $6 the
-- session to go on behind, $7 how many at most; if more than one, locked sessions are passed over. With a subject, only sessions
-- that arrived by $5, whose login is not later than $9, the token's iat, and with $8 only those without a sid. Of a disabled account
-- every session ends, however late its login is.
CREATE OR REPLACE FUNCTION end_logged_out(
    p_request_id uuid, p_issuer text, p_sid bytea, p_subject text, p_until timestamptz, p_after uuid, p_limit bigint,
    p_without_sid boolean, p_issued_at timestamptz)
RETURNS logout_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    v_after uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
    v_issued_at timestamptz := instant_that_counts(p_issued_at);
    v_is_disabled boolean := p_subject IS NOT NULL AND EXISTS (
        SELECT FROM subject_logout o
        WHERE o.idp_issuer = p_issuer AND o.subject = p_subject AND o.disabled_at IS NOT NULL);
    v_ids uuid[];
    v_ended bigint;
BEGIN
    IF p_sid IS NOT NULL THEN
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            -- The ORDER BY names the columns of the index of names. By session_id, the plan could walk all sessions.
            WHERE l.idp_issuer = p_issuer AND l.idp_sid BETWEEN p_sid AND p_sid AND l.ended_at IS NULL
            ORDER BY l.idp_sid LIMIT 1 FOR NO KEY UPDATE);
        IF v_ids = '{}' THEN
            -- A session that was registered under another name later is also found by this one.
            v_ids := ARRAY(
                SELECT l.session_id FROM session l
                WHERE l.issuer = p_issuer AND l.sid = p_sid AND l.idp_issuer = p_issuer AND l.ended_at IS NULL
                FOR NO KEY UPDATE);
        END IF;
    ELSIF p_limit > 1 THEN
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            WHERE l.idp_issuer = p_issuer AND l.subject = p_subject AND l.session_id > v_after
                AND l.ended_at IS NULL AND l.created_at <= p_until AND l.expires_at > now()
                AND (NOT p_without_sid OR l.idp_sid IS NULL)
                -- A login of unknown age may be from before the logout.
                AND (v_is_disabled OR coalesce(least(l.auth_time, l.issued_at) <= v_issued_at, true))
            ORDER BY l.idp_issuer, l.subject, l.session_id LIMIT least(p_limit, 1000) FOR NO KEY UPDATE SKIP LOCKED);
    ELSE
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            WHERE l.idp_issuer = p_issuer AND l.subject = p_subject AND l.session_id > v_after
                AND l.ended_at IS NULL AND l.created_at <= p_until AND l.expires_at > now()
                AND (NOT p_without_sid OR l.idp_sid IS NULL)
                -- A login of unknown age may be from before the logout.
                AND (v_is_disabled OR coalesce(least(l.auth_time, l.issued_at) <= v_issued_at, true))
            ORDER BY l.idp_issuer, l.subject, l.session_id LIMIT 1 FOR NO KEY UPDATE);
    END IF;
    WITH ended AS (
        UPDATE session l
        SET ended_at = date_trunc('second', now()), end_reason = 'logout',
            auth_time_after = greatest(l.auth_time_after, v_issued_at)
        WHERE l.session_id = ANY (v_ids) AND l.ended_at IS NULL
        RETURNING l.session_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason)
        SELECT clock_timestamp(), 'session_ended', p_request_id, session_id, 'logout' FROM ended
    )
    SELECT count(*) INTO v_ended FROM ended;
    RETURN ROW (v_ended, CASE WHEN v_ids <> '{}' THEN v_ids[cardinality(v_ids)] END)::logout_batch;
END
$$;
GRANT EXECUTE ON FUNCTION end_logged_out TO native_sso_broker;

-- Last step: uses the token up and records the logout in the audit. False: another call with the same token was faster. $7 the row
-- of the mark; it is deleted if a session that this logout ended takes its place.
-- A logout token is valid for less than an hour, a security event token for a day. $8 what the IdP sent.
CREATE OR REPLACE FUNCTION finish_logout(
    p_request_id uuid, p_digest bytea, p_expires_at timestamptz, p_issuer text, p_of_subject boolean, p_ended bigint,
    p_session_id uuid DEFAULT NULL, p_cause text DEFAULT 'logout_token')
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF p_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    DELETE FROM session m
    WHERE m.session_id = p_session_id AND m.sid = own_sid(p_session_id) AND m.end_reason = 'logout'
        AND EXISTS (
            SELECT FROM session l
            WHERE l.idp_issuer = m.idp_issuer AND l.idp_sid = m.idp_sid AND l.ended_at IS NOT NULL
                AND l.auth_time_after >= m.auth_time_after AND l.session_id <> m.session_id);
    INSERT INTO used_proof (kind, digest, expires_at)
    VALUES (
        p_cause, p_digest, least(p_expires_at, now() + CASE WHEN p_cause IN ('logout_token', 'global_token_revocation')
            THEN interval '1 hour' ELSE interval '25 hours' END))
    ON CONFLICT (kind, digest) DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO audit_event (occurred_at, kind, request_id, reason, details)
    VALUES (
        clock_timestamp(), 'logout_recorded', p_request_id, CASE WHEN p_of_subject THEN 'subject' ELSE 'session' END,
        jsonb_strip_nulls(jsonb_build_object(
            'issuer', p_issuer, 'sessions_ended', p_ended, 'cause', nullif(p_cause, 'logout_token'))));
    RETURN true;
END
$$;
GRANT EXECUTE ON FUNCTION finish_logout TO native_sso_broker;

-- The 10 bits at the head of rand_a in the ids of a login's rows: `UniqueID.slot` in Swift.
CREATE OR REPLACE FUNCTION login_slot(p_issuer text, p_subject text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT AS $$
    SELECT (get_byte(h.digest, 0) << 2) | (get_byte(h.digest, 1) >> 6)
    FROM sha256(
        int4send(octet_length(convert_to(p_issuer, 'UTF8'))) || convert_to(p_issuer, 'UTF8')
        || int4send(octet_length(convert_to(p_subject, 'UTF8'))) || convert_to(p_subject, 'UTF8')) AS h (digest)
$$;

-- p_sid and p_idp_sid are digests: SHA-256 of the sid, as in sha256(convert_to('the sid', 'UTF8')).
CREATE OR REPLACE FUNCTION register_session(
    p_issuer text, p_sid bytea, p_subject text, p_source_client text DEFAULT NULL, p_auth_time timestamptz DEFAULT NULL,
    p_acr text DEFAULT NULL, p_amr text[] DEFAULT '{}', p_lifetime interval DEFAULT '90 days',
    p_idp_issuer text DEFAULT NULL, p_idp_sid bytea DEFAULT NULL,
    p_actor text DEFAULT NULL, p_why text DEFAULT NULL,
    -- The request id under which the audit records it.
    p_request_id uuid DEFAULT NULL)
RETURNS registration
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_now timestamptz := date_trunc('second', clock_timestamp());
    v_random text := replace(gen_random_uuid()::text, '-', '');
    -- UUIDv7, RFC 9562 §5.7: new rows lie together, and the sweep walks in this order.
    v_id uuid := (
        lpad(to_hex((extract(epoch FROM v_now) * 1000)::bigint), 12, '0') || '7'
        || lpad(to_hex(login_slot(coalesce(p_idp_issuer, p_issuer), p_subject) * 4 + floor(random() * 4)::integer), 3, '0')
        || substr(v_random, 17))::uuid;
    v_actor text := coalesce(p_actor, session_user);
    v_details jsonb := jsonb_strip_nulls(jsonb_build_object('database_user', session_user, 'why', p_why));
    v_found uuid;
    v_subject text;
    v_over boolean;
    v_idp_issuer text;
    v_idp_sid bytea;
    v_is_assumed boolean;
    v_iat_after timestamptz;
    v_auth_time_after timestamptz;
    v_end general_end;
BEGIN
    IF p_subject IS NULL THEN
        RAISE EXCEPTION 'a session has a subject' USING ERRCODE = 'check_violation';
    END IF;
    IF p_lifetime IS NULL OR p_lifetime <= interval '0' THEN
        RAISE EXCEPTION 'a session lives for a while' USING ERRCODE = 'check_violation';
    END IF;
    SELECT * INTO v_end FROM general_end e WHERE e.only_row;
    -- Where the session of the name has ended, a new one begins if this login satisfies the limits of the name.
    FOR v_attempt IN 1..2 LOOP
        SELECT l.session_id, l.subject,
            l.ended_at IS NOT NULL OR l.expires_at <= v_now OR is_covered(v_end, l.created_at, l.issued_at, l.auth_time), l.idp_issuer, l.idp_sid,
            (l.idp_sid IS NULL OR l.idp_sid = l.sid) AND l.idp_issuer = l.issuer
        INTO v_found, v_subject, v_over, v_idp_issuer, v_idp_sid, v_is_assumed
        FROM session l WHERE l.issuer = p_issuer AND l.sid = p_sid
        ORDER BY coalesce(l.ended_at, 'infinity') DESC LIMIT 1;
        IF v_subject <> p_subject THEN
            RETURN ROW ('taken', v_found)::registration;
        END IF;
        IF v_found IS NULL AND is_covered(v_end, v_now, NULL, NULL) OR is_covered(v_end, NULL, NULL, p_auth_time) THEN
            RETURN ROW ('ended', coalesce(v_found, v_id))::registration;
        END IF;
        EXIT WHEN NOT v_over;
        IF v_attempt = 2 THEN
            IF v_found IS NULL THEN
                RAISE EXCEPTION 'the session of a registration comes and goes' USING ERRCODE = 'serialization_failure';
            END IF;
            RETURN ROW ('ended', v_found)::registration;
        END IF;
        WITH ended AS (
            UPDATE session l
            SET ended_at = o.died_at, end_reason = o.reason,
                auth_time_after = CASE WHEN o.needs_login THEN greatest(l.auth_time_after, o.died_at) ELSE l.auth_time_after END,
                iat_after = CASE WHEN o.needs_login THEN l.iat_after ELSE greatest(l.iat_after, o.died_at) END
            FROM (
                SELECT h.session_id, h.expires_at <= v_now AND h.auth_time IS NOT NULL AS needs_login,
                    CASE WHEN h.expires_at <= v_now THEN h.expires_at ELSE v_end.began_until END AS died_at,
                    CASE WHEN h.expires_at <= v_now THEN 'expired' ELSE 'general_end' END AS reason
                FROM session h WHERE h.session_id = v_found) AS o
            WHERE l.session_id = o.session_id AND l.ended_at IS NULL
            RETURNING l.session_id, l.end_reason
        )
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason, actor, details)
        SELECT clock_timestamp(), 'session_ended', p_request_id, e.session_id, e.end_reason, v_actor, v_details FROM ended e;
        INSERT INTO session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, source_client_id, auth_time, acr, amr, issued_at, created_at,
            expires_at, last_used_at)
        VALUES (
            v_id, p_issuer, p_sid, coalesce(p_idp_issuer, p_issuer), coalesce(p_idp_sid, p_sid), p_subject, p_source_client,
            p_auth_time, p_acr, coalesce(p_amr, '{}'), v_now, v_now, date_trunc('second', v_now + p_lifetime), v_now)
        ON CONFLICT (issuer, sid, coalesce(ended_at, 'infinity')) DO NOTHING;
        IF FOUND THEN
            INSERT INTO audit_event (occurred_at, kind, request_id, session_id, actor, details)
            VALUES (clock_timestamp(), 'session_registered', p_request_id, v_id, v_actor, v_details);
            RETURN ROW ('registered', v_id)::registration;
        END IF;
    END LOOP;
    IF coalesce(p_idp_issuer, v_idp_issuer) = v_idp_issuer AND coalesce(p_idp_sid, v_idp_sid) IS NOT DISTINCT FROM v_idp_sid THEN
        RETURN ROW ('known', v_found)::registration;
    END IF;
    IF coalesce(p_idp_issuer, v_idp_issuer) <> v_idp_issuer OR NOT v_is_assumed THEN
        RETURN ROW ('mapped_otherwise', v_found)::registration;
    END IF;
    -- The row first, then the name: the holder of a name's lock never waits for a row.
    PERFORM FROM session l
    WHERE l.session_id = v_found AND l.idp_sid IS NOT DISTINCT FROM v_idp_sid AND l.ended_at IS NULL
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the session of a registration changed meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(logout_lock('sid', v_idp_issuer, encode(p_idp_sid, 'hex')));
    SELECT n.iat_after, n.auth_time_after INTO v_iat_after, v_auth_time_after
    FROM idp_session_limits(v_idp_issuer, p_idp_sid) n;
    IF EXISTS (
        SELECT FROM session l
        WHERE l.session_id = v_found
            AND NOT satisfies_limits(
                coalesce(l.issued_at, l.auth_time, l.created_at), l.auth_time, v_iat_after, v_auth_time_after))
    THEN
        UPDATE session l
        SET ended_at = v_now, end_reason = 'logout', iat_after = greatest(l.iat_after, v_iat_after),
            auth_time_after = greatest(l.auth_time_after, v_auth_time_after)
        WHERE l.session_id = v_found;
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason, actor, details)
        VALUES (clock_timestamp(), 'session_ended', p_request_id, v_found, 'logout', v_actor, v_details);
        RETURN ROW ('ended', v_found)::registration;
    END IF;
    UPDATE session SET idp_sid = p_idp_sid WHERE session_id = v_found;
    INSERT INTO audit_event (occurred_at, kind, request_id, session_id, actor, details)
    VALUES (clock_timestamp(), 'session_mapped', p_request_id, v_found, v_actor, v_details);
    RETURN ROW ('mapped', v_found)::registration;
END
$$;
GRANT EXECUTE ON FUNCTION register_session TO native_sso_registrar;
