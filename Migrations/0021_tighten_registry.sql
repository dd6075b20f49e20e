-- Why: gaps and doubles of the registry.
--   * A session whose id_tokens name it by what another row is mapped to came in live after that other row had been logged out:
--     the logout left no mark of its own, since it met a row that bore the name and was over, and nobody looked for that row.
--   * The sweep of revoked grants read past those that a replay had revoked, which stay with their sessions, again and again.
--   * The same key of a client under another `kid` was refused by the command alone.
--   * A registration could not be found in the audit by the act that the command shows.
--   * Ending sessions stood here twice, and what an event of the audit is shown with twice in the broker.
-- Locks: ACCESS EXCLUSIVE on sso_grant until the commit, and nothing is granted or refreshed meanwhile: the index looks at all grants
-- once, with 10 million of them for some seconds. SHARE on client_key, whose changes wait. It waits half a second for a lock and
-- gives up: run it again. Two keys of a client that are one stop it: remove one.
-- Old code: goes on; its registrations have no request id.
SET LOCAL ROLE native_sso_admin;
SET LOCAL lock_timeout = '500ms';
SET LOCAL search_path = native_sso;

-- As before (0015), in an order that the index by both columns alone has: while there are few sessions any other would do as well, and
-- the plan stays for when there are many. An index by the issuer would then be read from end to end at each first sight.
CREATE OR REPLACE FUNCTION is_logged_out(p_issuer text, p_sid text) RETURNS boolean
LANGUAGE plpgsql SET enable_sort = off AS $$
BEGIN
    PERFORM FROM native_sso.session l
    WHERE l.idp_issuer = p_issuer AND l.idp_sid BETWEEN p_sid AND p_sid AND l.end_reason = 'logout'
    ORDER BY l.idp_sid LIMIT 1;
    RETURN FOUND;
END
$$;

-- As before (0015), and the name is looked for where the id_tokens bear it, too: the row that was ended by it may be another.
CREATE OR REPLACE FUNCTION keep_logged_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.ended_at IS NOT NULL THEN
        RETURN NEW;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(native_sso.logout_lock('sub', NEW.idp_issuer, NEW.subject));
    IF NEW.idp_sid IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock_shared(native_sso.logout_lock('sid', NEW.idp_issuer, NEW.idp_sid));
        IF native_sso.is_logged_out(NEW.idp_issuer, NEW.idp_sid) THEN
            NEW.ended_at := NEW.created_at;
        END IF;
    END IF;
    IF EXISTS (
        SELECT FROM native_sso.subject_logout o
        WHERE o.idp_issuer = NEW.idp_issuer AND o.subject = NEW.subject
            AND least(NEW.auth_time, NEW.issued_at)
                <= CASE WHEN NEW.idp_sid IS NULL THEN greatest(o.issued_at, o.nameless_issued_at) ELSE o.issued_at END)
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

-- What the sweep may remove, and nothing else.
-- First the stronger lock: whoever writes to grants while it is waited for would be waited for in a circle.
DROP INDEX sso_grant_revoked;
CREATE INDEX sso_grant_sweepable ON sso_grant (revoked_at)
    WHERE revoked_at IS NOT NULL AND revoke_reason <> 'refresh_token_reused';

-- By all that makes a key one; what else its JWK says of it does not.
CREATE UNIQUE INDEX client_key_material ON client_key (client_id, md5(
    (public_jwk ->> 'kty') || ' ' || coalesce(public_jwk ->> 'crv', '') || ' ' || coalesce(public_jwk ->> 'x', '') || ' '
    || coalesce(public_jwk ->> 'y', '') || ' ' || coalesce(public_jwk ->> 'n', '') || ' ' || coalesce(public_jwk ->> 'e', '')));

-- As before (0018). $6: those that somebody has at the moment are passed over, so that it never waits for one while it holds
-- another.
DROP FUNCTION end_sessions;
CREATE FUNCTION end_sessions(
    p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb, p_request_id uuid DEFAULT NULL,
    p_only_free boolean DEFAULT false)
RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_ids uuid[];
BEGIN
    -- In one order for all, so that two of these cannot block each other.
    IF p_only_free THEN
        v_ids := ARRAY(
            SELECT l.session_id FROM session l WHERE l.session_id = ANY (p_session_ids) AND l.ended_at IS NULL
            ORDER BY l.session_id FOR NO KEY UPDATE SKIP LOCKED);
    ELSE
        v_ids := ARRAY(
            SELECT l.session_id FROM session l WHERE l.session_id = ANY (p_session_ids) AND l.ended_at IS NULL
            ORDER BY l.session_id FOR NO KEY UPDATE);
    END IF;
    RETURN QUERY
    WITH ended AS (
        UPDATE session l SET ended_at = date_trunc('second', now()), end_reason = p_reason
        WHERE l.session_id = ANY (v_ids) AND l.ended_at IS NULL
        RETURNING l.session_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason, actor, details)
        SELECT now(), 'session_ended', p_request_id, e.session_id, p_reason, p_actor, p_details FROM ended e
    )
    SELECT e.session_id FROM ended e;
END
$$;

-- By its former name, for the command of before.
CREATE OR REPLACE FUNCTION end_free_sessions(
    p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb, p_request_id uuid DEFAULT NULL)
RETURNS SETOF uuid LANGUAGE sql AS $$
    SELECT * FROM native_sso.end_sessions(p_session_ids, p_reason, p_actor, p_details, p_request_id, true)
$$;

-- As before (0015), and with the act in the audit.
DROP FUNCTION register_session;
CREATE FUNCTION register_session(
    p_issuer text, p_sid text, p_subject text, p_source_client text DEFAULT NULL, p_auth_time timestamptz DEFAULT NULL,
    p_acr text DEFAULT NULL, p_amr text[] DEFAULT '{}', p_lifetime interval DEFAULT '90 days',
    p_idp_issuer text DEFAULT NULL, p_idp_sid text DEFAULT NULL,
    p_actor text DEFAULT NULL, p_why text DEFAULT NULL,
    -- By which the audit is asked for it.
    p_request_id uuid DEFAULT NULL)
RETURNS registration
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_now timestamptz := date_trunc('second', clock_timestamp());
    v_random text := replace(gen_random_uuid()::text, '-', '');
    -- RFC 9562 §5.7: rows made one after another lie together, and the sweep goes by it.
    v_id uuid := (lpad(to_hex((extract(epoch FROM v_now) * 1000)::bigint), 12, '0') || '7' || substr(v_random, 14))::uuid;
    v_actor text := coalesce(p_actor, session_user);
    v_details jsonb := jsonb_strip_nulls(jsonb_build_object('database_user', session_user, 'why', p_why));
    v_found uuid;
    v_subject text;
    v_over boolean;
    v_idp_issuer text;
    v_idp_sid text;
    v_is_assumed boolean;
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
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, actor, details)
        VALUES (clock_timestamp(), 'session_registered', p_request_id, v_id, v_actor, v_details);
        RETURN ROW ('registered', v_id)::registration;
    END IF;
    SELECT l.session_id, l.subject, l.ended_at IS NOT NULL OR l.expires_at <= v_now, l.idp_issuer, l.idp_sid,
        (l.idp_sid IS NULL OR l.idp_sid = l.sid) AND l.idp_issuer = l.issuer
    INTO v_found, v_subject, v_over, v_idp_issuer, v_idp_sid, v_is_assumed
    FROM session l WHERE l.issuer = p_issuer AND l.sid = p_sid;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the session of a registration comes and goes' USING ERRCODE = 'serialization_failure';
    END IF;
    IF v_subject <> p_subject THEN
        RETURN ROW ('taken', v_found)::registration;
    END IF;
    IF v_over THEN
        RETURN ROW ('ended', v_found)::registration;
    END IF;
    IF coalesce(p_idp_issuer, v_idp_issuer) = v_idp_issuer AND coalesce(p_idp_sid, v_idp_sid) IS NOT DISTINCT FROM v_idp_sid THEN
        RETURN ROW ('known', v_found)::registration;
    END IF;
    IF coalesce(p_idp_issuer, v_idp_issuer) <> v_idp_issuer OR NOT v_is_assumed THEN
        RETURN ROW ('mapped_otherwise', v_found)::registration;
    END IF;
    -- First the row and then the name: whoever locks a name never waits for a row meanwhile.
    PERFORM FROM session l
    WHERE l.session_id = v_found AND l.idp_sid IS NOT DISTINCT FROM v_idp_sid AND l.ended_at IS NULL
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the session of a registration changed meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(logout_lock('sid', v_idp_issuer, p_idp_sid));
    IF is_logged_out(v_idp_issuer, p_idp_sid) THEN
        UPDATE session SET ended_at = v_now, end_reason = 'logout' WHERE session_id = v_found;
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

-- An event of the audit, with what is known today of the login and the grant that it names, and where it stands. Each of that is a
-- subquery of its own, which a limit spares those that it leaves out.
CREATE VIEW audit_line AS
SELECT a.occurred_at, a.kind, a.request_id, a.client_id, a.session_id, a.grant_id, a.reason, a.actor,
    a.details::text AS details,
    (SELECT l.issuer FROM session l WHERE l.session_id = a.session_id) AS issuer,
    (SELECT l.sid FROM session l WHERE l.session_id = a.session_id) AS sid,
    coalesce(
        a.details ->> 'source_client',
        (SELECT g.source_client_id FROM sso_grant g WHERE g.grant_id = a.grant_id),
        (SELECT l.source_client_id FROM session l WHERE l.session_id = a.session_id)) AS source_client_id,
    (SELECT m.group_id::text FROM session l JOIN sharing_group_member m ON m.issuer = l.idp_issuer
     WHERE l.session_id = a.session_id AND m.client_id = a.client_id) AS group_id,
    a.tableoid::bigint AS partition, a.ctid AS place
FROM audit_event a;
