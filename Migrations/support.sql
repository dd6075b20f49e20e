-- What a support desk, or a hook of the company's own systems, may do: find and end the sessions of one user, or of the device of one
-- session, and read what the audit has of one request. Each look and each end is in the audit, with the database user.
-- One current text, applied again when it changes.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

SELECT make_type('supported_session', $$
    session_id uuid, idp_issuer text, subject text, clients text[], created_at timestamptz, last_used_at timestamptz,
    expires_at timestamptz, ended_at timestamptz, end_reason text$$);

-- The sessions of a user at an IdP, or those on the device of a session: exactly one of both, the newest 1,000.
CREATE OR REPLACE FUNCTION supported_ids(p_idp_issuer text, p_subject text, p_on_device_of uuid, p_live_only boolean)
RETURNS SETOF uuid LANGUAGE plpgsql STABLE SET search_path = native_sso, pg_temp AS $$
BEGIN
    IF num_nonnulls(p_subject, p_on_device_of) <> 1 OR (p_idp_issuer IS NULL) <> (p_subject IS NULL) THEN
        RAISE EXCEPTION 'name a user by p_idp_issuer and p_subject, or a device by p_on_device_of, one of its sessions'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF p_subject IS NOT NULL THEN
        RETURN QUERY
        SELECT l.session_id FROM session_state l
        WHERE l.idp_issuer = p_idp_issuer AND l.subject = p_subject
            AND (NOT p_live_only OR l.ended_at IS NULL AND l.expires_at > now())
        ORDER BY l.session_id DESC LIMIT 1000;
    ELSE
        RETURN QUERY
        SELECT l.session_id FROM session d
        JOIN session_state l ON l.session_id = d.session_id OR l.issuer = d.issuer AND l.device_digest = d.device_digest
        WHERE d.session_id = p_on_device_of
            AND (NOT p_live_only OR l.ended_at IS NULL AND l.expires_at > now())
        ORDER BY l.session_id DESC LIMIT 1000;
    END IF;
END
$$;

-- An act of support without a reason is none that an auditor can judge.
CREATE OR REPLACE FUNCTION require_reason(p_why text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF coalesce(p_why, '') = '' THEN
        RAISE EXCEPTION 'p_why is required, such as the number of a ticket' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;

CREATE OR REPLACE FUNCTION support_find_sessions(
    p_why text, p_idp_issuer text DEFAULT NULL, p_subject text DEFAULT NULL, p_on_device_of uuid DEFAULT NULL,
    p_actor text DEFAULT NULL)
RETURNS SETOF supported_session
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_ids uuid[];
BEGIN
    PERFORM require_reason(p_why);
    v_ids := ARRAY(SELECT supported_ids(p_idp_issuer, p_subject, p_on_device_of, false));
    -- The newest session leads to the user: the audit itself names none.
    INSERT INTO audit_event (occurred_at, kind, session_id, actor, reason, details)
    VALUES (
        clock_timestamp(), 'sessions_found', coalesce(p_on_device_of, v_ids[1]), coalesce(p_actor, session_user), p_why,
        jsonb_build_object('database_user', session_user, 'sessions', cardinality(v_ids)));
    RETURN QUERY
    SELECT l.session_id, l.idp_issuer::text, l.subject::text,
        ARRAY(SELECT g.client_id FROM sso_grant g WHERE g.session_id = l.session_id AND g.revoked_at IS NULL ORDER BY 1),
        l.created_at::timestamptz, l.last_used_at::timestamptz, l.expires_at::timestamptz, l.ended_at::timestamptz, l.end_reason
    FROM session_state l WHERE l.session_id = ANY (v_ids) ORDER BY l.session_id DESC;
END
$$;
GRANT EXECUTE ON FUNCTION support_find_sessions TO native_sso_support;

-- Ends the live sessions, and answers which. The user must log in again at the IdP; or, with p_same_login_may_return, an id_token with
-- a later iat is enough. At most 1,000 in a call: call again until none is left. p_request_id names the act in the audit.
CREATE OR REPLACE FUNCTION support_end_sessions(
    p_why text, p_idp_issuer text DEFAULT NULL, p_subject text DEFAULT NULL, p_on_device_of uuid DEFAULT NULL,
    p_actor text DEFAULT NULL, p_same_login_may_return boolean DEFAULT false, p_request_id uuid DEFAULT NULL)
RETURNS SETOF uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
BEGIN
    PERFORM require_reason(p_why);
    RETURN QUERY
    SELECT * FROM end_sessions(
        ARRAY(SELECT supported_ids(p_idp_issuer, p_subject, p_on_device_of, true)), 'support',
        coalesce(p_actor, session_user), jsonb_build_object('database_user', session_user, 'why', p_why), p_request_id,
        p_same_login_may_return => p_same_login_may_return);
END
$$;
GRANT EXECUTE ON FUNCTION support_end_sessions TO native_sso_support;

-- The audit of one request of an app. What operators did has a request id too, and is not for a support desk.
CREATE OR REPLACE FUNCTION support_explain_request(p_why text, p_request_id uuid, p_actor text DEFAULT NULL)
RETURNS SETOF audit_line
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
BEGIN
    PERFORM require_reason(p_why);
    INSERT INTO audit_event (occurred_at, kind, actor, reason, details)
    VALUES (
        clock_timestamp(), 'request_explained', coalesce(p_actor, session_user), p_why,
        jsonb_build_object('database_user', session_user, 'request_id', p_request_id));
    RETURN QUERY
    SELECT * FROM audit_line a WHERE a.request_id = p_request_id AND a.actor IS NULL
    ORDER BY a.occurred_at, a.partition, a.place LIMIT 100;
END
$$;
GRANT EXECUTE ON FUNCTION support_explain_request TO native_sso_support;
