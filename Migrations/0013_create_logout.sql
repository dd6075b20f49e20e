-- Why: the identity provider's word that a login is over (OpenID Connect Back-Channel Logout 1.0), and a login that it tells
-- of before any app comes with it. A logout that came first wins, whichever way the login comes in later.
-- A user may have any number of sessions, so a logout is a few short transactions and not one long one: the mark that keeps
-- later comers out, then the sessions, some hundreds at a time, and last the token's identifier, so that a logout
-- that broke off is done anew when the provider says it again. Whoever answers "done" answers after the last commit.
-- Locks: the index that is made anew keeps everybody out of session until the commit: with millions of logins that is
-- seconds, in which exchanges are told to come again. The functions: begin_logout locks what it says of one user or
-- session against those who bring it in, and nothing else. What ends many sessions never waits for a row while it holds
-- another: it passes over those that somebody has, and comes back for each by itself. So no batch of exchanges can wait
-- for it in a circle.
-- Old code: unaffected; its first sights are held to the marks as well.

-- For whoever tells of logins, and may do nothing else: the provider, or a job beside it.
DO $$
BEGIN
    -- Of the whole cluster: see 0001.
    CREATE ROLE native_sso_registrar NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;

SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

-- A user's sessions in the order of their rows, so that those of a logout are found batch by batch.
DROP INDEX session_subject;
CREATE INDEX session_subject ON session (idp_issuer, subject, session_id);

-- The last logout of a user as a whole: what he began before it stays over.
CREATE TABLE subject_logout (
    idp_issuer issuer_identifier,
    subject issued_identifier,
    -- When the provider said so, by its own clock, as auth_time is.
    issued_at timestamptz(0) NOT NULL,
    recorded_at timestamptz(0) NOT NULL,
    PRIMARY KEY (idp_issuer, subject)
);
CREATE INDEX subject_logout_age ON subject_logout (recorded_at);

-- Between whoever brings a login in (shared) and whoever says that it is over: for the transaction. One of 256, so that the
-- server has room for the locks of a transaction that brings many in.
CREATE FUNCTION logout_lock(p_kind text, p_issuer text, p_name text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT 2947193046517340160 + CASE p_kind WHEN 'sid' THEN 256 ELSE 0 END
        + (hashtextextended(p_kind || ' ' || p_issuer || ' ' || p_name, 0) & 255) $$;

-- A login that its provider ended before it came in becomes the row of an ended one, and the INSERT does nothing, as it does
-- where the row is there already.
-- Of a user's login without auth_time nobody can say whether it is older than the user's logout: it is let in.
CREATE FUNCTION keep_logged_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.ended_at IS NOT NULL THEN
        RETURN NEW;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(native_sso.logout_lock('sub', NEW.idp_issuer, NEW.subject));
    -- Where both names are one, the unique key does the same.
    IF NEW.issuer <> NEW.idp_issuer OR NEW.sid <> NEW.idp_sid THEN
        PERFORM pg_advisory_xact_lock_shared(native_sso.logout_lock('sid', NEW.idp_issuer, NEW.idp_sid));
        IF EXISTS (
            SELECT FROM native_sso.session l
            WHERE l.idp_issuer = NEW.idp_issuer AND l.idp_sid = NEW.idp_sid AND l.end_reason = 'logout')
        THEN
            NEW.ended_at := NEW.created_at;
        END IF;
    END IF;
    IF EXISTS (
        SELECT FROM native_sso.subject_logout o
        WHERE o.idp_issuer = NEW.idp_issuer AND o.subject = NEW.subject AND NEW.auth_time <= o.issued_at)
    THEN
        NEW.ended_at := NEW.created_at;
    END IF;
    IF NEW.ended_at IS NULL THEN
        RETURN NEW;
    END IF;
    NEW.end_reason := 'logout';
    INSERT INTO native_sso.session VALUES (NEW.*) ON CONFLICT (issuer, sid) DO NOTHING;
    RETURN NULL;
END
$$;
CREATE TRIGGER keep_logged_out BEFORE INSERT ON session FOR EACH ROW EXECUTE FUNCTION keep_logged_out();

-- First step of a logout: from its commit on, what comes in later is dead. $1 digest of issuer and jti, $2 issuer, $3 sid or
-- NULL, $4 subject where there is no sid, $5 the token's iat, $6 the row of a session that nobody here has seen.
-- Returns when it was, for the next steps; NULL where the token was used before.
CREATE FUNCTION begin_logout(
    p_digest bytea, p_issuer text, p_sid text, p_subject text, p_issued_at timestamptz, p_session_id uuid)
RETURNS timestamptz
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_now timestamptz := date_trunc('second', now());
BEGIN
    IF EXISTS (SELECT FROM used_proof p WHERE p.kind = 'logout_token' AND p.digest = p_digest) THEN
        RETURN NULL;
    END IF;
    IF p_sid IS NULL THEN
        PERFORM pg_advisory_xact_lock(logout_lock('sub', p_issuer, p_subject));
        INSERT INTO subject_logout AS o VALUES (p_issuer, p_subject, p_issued_at, v_now)
        ON CONFLICT (idp_issuer, subject) DO UPDATE SET
            issued_at = greatest(o.issued_at, excluded.issued_at), recorded_at = excluded.recorded_at;
    ELSE
        PERFORM pg_advisory_xact_lock(logout_lock('sid', p_issuer, p_sid));
        -- Also where there is a live session of this sid: one that is enrolled has a sid of its own, and more may be on their way.
        INSERT INTO session (
            session_id, issuer, sid, idp_issuer, idp_sid, created_at, expires_at, last_used_at, ended_at, end_reason)
        VALUES (p_session_id, p_issuer, p_sid, p_issuer, p_sid, v_now, v_now, v_now, v_now, 'logout')
        ON CONFLICT (issuer, sid) DO NOTHING;
    END IF;
    -- After the wait for those who were about to bring a login in: what they brought is older than this, to the second.
    RETURN date_trunc('second', clock_timestamp()) + interval '1 second';
END
$$;
GRANT EXECUTE ON FUNCTION begin_logout TO native_sso_broker;

-- A batch of the sessions that a logout ends: how many were ended, and the last row that was looked at; NULL: there is no
-- more.
CREATE TYPE logout_batch AS (ended bigint, after uuid);

-- Next step, again and again, each a transaction. $1 request, $2 issuer, $3 sid or NULL, $4 subject where there is no sid,
-- $5 of a subject's, only sessions that came in until then, $6 where to go on, $7 how many at most. More than one: those
-- that somebody has are passed over.
CREATE FUNCTION end_logged_out(
    p_request_id uuid, p_issuer text, p_sid text, p_subject text, p_until timestamptz, p_after uuid, p_limit bigint)
RETURNS logout_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
    v_after uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
    v_ids uuid[];
    v_ended bigint;
BEGIN
    IF p_sid IS NOT NULL THEN
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            WHERE l.idp_issuer = p_issuer AND l.idp_sid = p_sid AND l.session_id > v_after AND l.ended_at IS NULL
            ORDER BY l.session_id LIMIT 1 FOR NO KEY UPDATE);
    ELSIF p_limit > 1 THEN
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            WHERE l.idp_issuer = p_issuer AND l.subject = p_subject AND l.session_id > v_after
                AND l.ended_at IS NULL AND l.created_at <= p_until AND l.expires_at > now()
            ORDER BY l.idp_issuer, l.subject, l.session_id LIMIT least(p_limit, 1000) FOR NO KEY UPDATE SKIP LOCKED);
    ELSE
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            WHERE l.idp_issuer = p_issuer AND l.subject = p_subject AND l.session_id > v_after
                AND l.ended_at IS NULL AND l.created_at <= p_until AND l.expires_at > now()
            ORDER BY l.idp_issuer, l.subject, l.session_id LIMIT 1 FOR NO KEY UPDATE);
    END IF;
    WITH ended AS (
        UPDATE session l SET ended_at = date_trunc('second', now()), end_reason = 'logout'
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

-- Last step: the token is used up, and the logout is in the audit. False: the same token was faster.
-- No logout token is good for as long as an hour; see use_client_assertion.
CREATE FUNCTION finish_logout(
    p_request_id uuid, p_digest bytea, p_expires_at timestamptz, p_issuer text, p_of_subject boolean, p_ended bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
BEGIN
    IF p_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    INSERT INTO used_proof (kind, digest, expires_at)
    VALUES ('logout_token', p_digest, least(p_expires_at, now() + interval '1 hour'))
    ON CONFLICT (kind, digest) DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO audit_event (occurred_at, kind, request_id, reason, details)
    VALUES (
        clock_timestamp(), 'logout_recorded', p_request_id, CASE WHEN p_of_subject THEN 'subject' ELSE 'session' END,
        jsonb_build_object('issuer', p_issuer, 'sessions_ended', p_ended));
    RETURN true;
END
$$;
GRANT EXECUTE ON FUNCTION finish_logout TO native_sso_broker;

-- The marks of users who logged out so long ago that no token can bring a login of that time in.
CREATE FUNCTION sweep_logouts(p_after text[], p_limit bigint, p_retention_seconds bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_removed bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    WITH dead AS (
        SELECT o.idp_issuer, o.subject FROM subject_logout o WHERE o.recorded_at < sweep_limit(p_retention_seconds)
        ORDER BY o.recorded_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM subject_logout o USING dead WHERE o.idp_issuer = dead.idp_issuer AND o.subject = dead.subject RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    RETURN NEXT ROW (v_removed, v_removed, NULL)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_logouts TO native_sso_broker;

CREATE FUNCTION count_sweepable_logouts(p_retention_seconds bigint) RETURNS bigint
LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS
    $$ SELECT count(*) FROM subject_logout WHERE recorded_at < sweep_limit(p_retention_seconds) $$;

-- As end_sessions, but those that somebody has at the moment are passed over: it never waits for one while it holds another.
CREATE FUNCTION end_free_sessions(p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb)
RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    WITH ended AS (
        UPDATE session SET ended_at = date_trunc('second', now()), end_reason = p_reason
        WHERE session_id IN (
            SELECT session_id FROM session
            WHERE session_id = ANY (p_session_ids) AND ended_at IS NULL
            ORDER BY session_id FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING session_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, session_id, reason, actor, details)
        SELECT now(), 'session_ended', session_id, p_reason, p_actor, p_details FROM ended
    )
    SELECT session_id FROM ended
$$;

-- What became of a registration: registered; known: it was there, of the same user; ended: it is over, by a logout that came
-- before it or otherwise; taken: the sid is another user's, and nothing was done.
CREATE TYPE registration AS (outcome text, session_id uuid);

-- A login that the identity provider made, before any app comes with it. Safe to repeat.
-- $1 issuer and $2 sid as the id_tokens of the apps say, $3 user, $4 client that logged in, $5 to $7 as in the id_token, $8
-- for how long at most, $9 and $10 as the provider's logout will say, where that differs; $11 and $12 for the audit.
CREATE FUNCTION register_session(
    p_issuer text, p_sid text, p_subject text, p_source_client text DEFAULT NULL, p_auth_time timestamptz DEFAULT NULL,
    p_acr text DEFAULT NULL, p_amr text[] DEFAULT '{}', p_lifetime interval DEFAULT '90 days',
    p_idp_issuer text DEFAULT NULL, p_idp_sid text DEFAULT NULL,
    p_actor text DEFAULT NULL, p_why text DEFAULT NULL)
RETURNS registration
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_now timestamptz := date_trunc('second', clock_timestamp());
    v_random text := replace(gen_random_uuid()::text, '-', '');
    -- RFC 9562 §5.7: rows made one after another lie together, and the sweep goes by it.
    v_id uuid := (lpad(to_hex((extract(epoch FROM v_now) * 1000)::bigint), 12, '0') || '7' || substr(v_random, 14))::uuid;
    v_subject text;
    v_over boolean;
    v_found uuid;
BEGIN
    IF p_subject IS NULL THEN
        RAISE EXCEPTION 'a session has a subject' USING ERRCODE = 'check_violation';
    END IF;
    IF p_lifetime IS NULL OR p_lifetime <= interval '0' THEN
        RAISE EXCEPTION 'a session lives for a while' USING ERRCODE = 'check_violation';
    END IF;
    INSERT INTO session (
        session_id, issuer, sid, idp_issuer, idp_sid, subject, source_client_id, auth_time, acr, amr, created_at,
        expires_at, last_used_at)
    VALUES (
        v_id, p_issuer, p_sid, coalesce(p_idp_issuer, p_issuer), coalesce(p_idp_sid, p_sid), p_subject, p_source_client,
        p_auth_time, p_acr, coalesce(p_amr, '{}'), v_now, date_trunc('second', v_now + p_lifetime), v_now)
    ON CONFLICT (issuer, sid) DO NOTHING;
    IF FOUND THEN
        INSERT INTO audit_event (occurred_at, kind, session_id, actor, details)
        VALUES (
            clock_timestamp(), 'session_registered', v_id, coalesce(p_actor, session_user),
            jsonb_strip_nulls(jsonb_build_object('database_user', session_user, 'why', p_why)));
        RETURN ROW ('registered', v_id)::registration;
    END IF;
    SELECT l.session_id, l.subject, l.ended_at IS NOT NULL OR l.expires_at <= v_now INTO v_found, v_subject, v_over
    FROM session l WHERE l.issuer = p_issuer AND l.sid = p_sid;
    RETURN ROW (
        CASE
            WHEN v_subject <> p_subject THEN 'taken'
            WHEN v_over THEN 'ended'
            ELSE 'known'
        END, v_found)::registration;
END
$$;
GRANT USAGE ON SCHEMA native_sso TO native_sso_registrar;
GRANT EXECUTE ON FUNCTION register_session TO native_sso_registrar;
