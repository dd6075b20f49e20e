-- Why: an app that logged its user in at the identity provider by itself brings the login here. The session gets a `sid` of
-- ours, never used before; `idp_sid` is the identity provider's, by which it tells of a logout. `issuer` is the identity
-- provider's, too, although the id_token of the enrolment says `iss` ours: groups, devices and sessions of a login are found
-- under one issuer, and the token names it as `idp`.
-- One statement decides and writes. The rules are those of `decide` in the NativeSSO room.
-- Locks: ACCESS EXCLUSIVE on used_proof, for as long as it takes to add an empty column; a client's assertion waits
-- meanwhile. It gives up after half a second: run it again.
-- Old code: unaffected.
SET LOCAL ROLE native_sso_admin;
SET LOCAL lock_timeout = '500ms';
SET LOCAL search_path = native_sso;

-- Of an enrolment: the session to which the id_token led, and leads again.
ALTER TABLE used_proof ADD COLUMN session_id uuid;

CREATE TYPE enrolment AS (
    seen_at timestamptz, client_enabled boolean, member_group text, member_role text, device_blocked boolean,
    login_ended boolean, token_used boolean, sid text, expires_at timestamptz);

CREATE FUNCTION enrol(
    -- p_idp_sid NULL: the identity provider does not name its sessions.
    p_request_id uuid, p_issuer text, p_idp_sid text, p_subject text, p_client text, p_device bytea, p_profile text,
    -- Digest of the id_token, and when it is refused for its age.
    p_token bytea, p_token_expires_at timestamptz,
    p_auth_time timestamptz, p_acr text, p_amr text[],
    p_session_seconds bigint,
    -- Whether all that only the broker can judge is in order. If not: look, write nothing.
    p_permitted boolean,
    p_session_id uuid, p_sid text)
RETURNS enrolment
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_now timestamptz;
    v_client_enabled boolean;
    v_group text;
    v_role text;
    v_device_blocked boolean;
    v_login_ended boolean;
    v_token_used boolean := false;
    v_sid text;
    v_expires_at timestamptz;
    v_is_done boolean := false;
BEGIN
    -- Its row could be swept, which is done an hour after, and the token be used again. Then there is no answer; unless it is
    -- refused anyway, as one that is old.
    IF p_permitted AND p_token_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    FOR v_attempt IN 1..3 LOOP
        v_now := date_trunc('second', clock_timestamp());
        SELECT c.enabled INTO v_client_enabled FROM client c WHERE c.client_id = p_client;
        v_client_enabled := coalesce(v_client_enabled, false);
        SELECT m.group_id, m.role INTO v_group, v_role
        FROM sharing_group_member m WHERE m.issuer = p_issuer AND m.client_id = p_client;
        SELECT d.blocked_at IS NOT NULL INTO v_device_blocked
        FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device;
        v_device_blocked := coalesce(v_device_blocked, false);
        v_login_ended := EXISTS (
            SELECT FROM session l WHERE l.idp_issuer = p_issuer AND l.idp_sid = p_idp_sid AND l.ended_at IS NOT NULL);
        SELECT l.sid, l.expires_at, l.device_digest IS DISTINCT FROM p_device OR l.ended_at IS NOT NULL OR l.expires_at <= v_now
        INTO v_sid, v_expires_at, v_token_used
        FROM used_proof u LEFT JOIN session l ON l.session_id = u.session_id
        WHERE u.kind = 'enrolment' AND u.digest = p_token;
        v_token_used := coalesce(v_token_used, false);

        IF NOT coalesce(
            p_permitted AND v_client_enabled AND v_role <> 'target' AND NOT v_device_blocked AND NOT v_login_ended
                AND NOT v_token_used,
            false)
        THEN
            v_sid := NULL;
            v_expires_at := NULL;
        ELSIF v_sid IS NULL THEN
            -- Who was faster with this token is waited for here.
            INSERT INTO used_proof (kind, digest, expires_at, session_id)
            VALUES ('enrolment', p_token, least(p_token_expires_at, v_now + interval '1 hour'), p_session_id)
            ON CONFLICT (kind, digest) DO NOTHING;
            -- It is there now: look again.
            CONTINUE WHEN NOT FOUND;
            v_sid := p_sid;
            v_expires_at := v_now + make_interval(secs => p_session_seconds);
            INSERT INTO session (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id,
                auth_time, acr, amr, created_at, expires_at, last_used_at)
            VALUES (
                p_session_id, p_issuer, p_sid, p_issuer, coalesce(p_idp_sid, p_sid), p_subject, p_profile, p_device, p_client,
                p_auth_time, p_acr, p_amr, v_now, v_expires_at, v_now);
            IF NOT FOUND THEN
                -- Logged out before it came in, or meanwhile: the row is there, as that of an ended one.
                v_login_ended := true;
                v_sid := NULL;
                v_expires_at := NULL;
            ELSE
                INSERT INTO device (issuer, device_digest, first_seen_at) VALUES (p_issuer, p_device, v_now) ON CONFLICT DO NOTHING;
                INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id)
                VALUES (clock_timestamp(), 'session_enrolled', p_request_id, p_client, p_session_id);
            END IF;
        ELSE
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id)
            SELECT clock_timestamp(), 'enrolment_repeated', p_request_id, p_client, u.session_id
            FROM used_proof u WHERE u.kind = 'enrolment' AND u.digest = p_token;
        END IF;
        v_is_done := true;
        EXIT;
    END LOOP;
    IF NOT v_is_done THEN
        RAISE EXCEPTION 'the id_token of an enrolment comes and goes' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN ROW (
        v_now, v_client_enabled, v_group, v_role, v_device_blocked, v_login_ended, v_token_used, v_sid,
        v_expires_at)::enrolment;
END
$$;
GRANT EXECUTE ON FUNCTION enrol TO native_sso_broker;
