-- Ends by an app (RFC 7009), and whether an access token is still alive (RFC 7662).
--
-- The broker ends the sessions of a device one by one, each in its own transaction: a function that waits for a second row while it
-- holds a first one could deadlock with a batch of exchanges.
-- One current text, applied again when it changes.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

-- App sign-out: ends one session of a device in the group of the client, whatever its age. NULL: none is left. The IdP's login lives
-- on, so an id_token with a later iat begins a new session of that name. A session over its absolute lifetime keeps what that end asks.
-- $1 request, $2 client, $3 and $4 issuers and the digest of the device value at each, in hexadecimal, $5 NULL, or the grant that must
-- be alive, be the client's, and be on the device.
CREATE OR REPLACE FUNCTION end_signed_out(
    p_request_id uuid, p_client text, p_issuers text[], p_devices text[], p_grant_id uuid DEFAULT NULL)
RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_session_id uuid;
    v_now timestamptz;
BEGIN
    SELECT l.session_id INTO v_session_id
    FROM (
        SELECT d.issuer, decode(d.hexadecimal, 'hex') AS device FROM unnest(p_issuers, p_devices) AS d (issuer, hexadecimal)) AS k
    JOIN session l ON l.issuer = k.issuer AND l.device_digest = k.device
    JOIN sharing_group_member t ON t.issuer = l.idp_issuer AND t.client_id = p_client
    LEFT JOIN sharing_group_member s ON s.issuer = l.idp_issuer AND s.client_id = l.source_client_id
    WHERE l.ended_at IS NULL AND (l.source_client_id IS NULL OR s.group_id = t.group_id)
        AND (p_grant_id IS NULL OR EXISTS (
            SELECT FROM sso_grant g
            JOIN session h ON h.session_id = g.session_id
            JOIN general_end e ON e.only_row AND NOT is_covered(e, h.created_at, h.issued_at, h.auth_time)
            WHERE g.grant_id = p_grant_id AND g.client_id = p_client AND g.device_digest = k.device
                AND g.revoked_at IS NULL AND g.expires_at > now()))
    ORDER BY l.session_id LIMIT 1 FOR NO KEY UPDATE OF l;
    IF v_session_id IS NULL THEN
        RETURN NULL;
    END IF;
    v_now := date_trunc('second', clock_timestamp());
    UPDATE session l
    SET ended_at = v_now, end_reason = 'app', iat_after = greatest(l.iat_after, v_now),
        auth_time_after = CASE WHEN l.expires_at <= v_now AND l.auth_time IS NOT NULL
            THEN greatest(l.auth_time_after, l.expires_at) ELSE l.auth_time_after END
    WHERE l.session_id = v_session_id;
    INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, reason)
    VALUES (clock_timestamp(), 'session_ended', p_request_id, p_client, v_session_id, 'app');
    RETURN v_session_id;
END
$$;
GRANT EXECUTE ON FUNCTION end_signed_out TO native_sso_broker;

-- Ends the grant that a refresh token names, whichever of its tokens the app presents. Answers ended; none, if there is no such grant
-- or it was revoked before; or foreign, if it is another client's, and then nothing ends.
CREATE OR REPLACE FUNCTION revoke_own_grant(p_request_id uuid, p_client text, p_grant_id uuid) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_session_id uuid;
BEGIN
    UPDATE sso_grant g SET revoked_at = date_trunc('second', clock_timestamp()), revoke_reason = 'app'
    WHERE g.grant_id = p_grant_id AND g.client_id = p_client AND g.revoked_at IS NULL
    RETURNING g.session_id INTO v_session_id;
    IF FOUND THEN
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, reason)
        VALUES (clock_timestamp(), 'grant_revoked', p_request_id, p_client, v_session_id, p_grant_id, 'app');
        RETURN 'ended';
    END IF;
    RETURN CASE
        WHEN EXISTS (SELECT FROM sso_grant g WHERE g.grant_id = p_grant_id AND g.client_id <> p_client) THEN 'foreign'
        ELSE 'none' END;
END
$$;
GRANT EXECUTE ON FUNCTION revoke_own_grant TO native_sso_broker;

-- Whether a refresh would still find alive what an access token came from: the session, and the client's grant in it. A grant that
-- began after the token is another one. $1 session, $2 client, $3 iat of the token, $4 longest time between two uses of the session.
CREATE OR REPLACE FUNCTION is_grant_live(p_session_id uuid, p_client text, p_issued_at timestamptz, p_idle_seconds bigint)
RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_now timestamptz := date_trunc('second', clock_timestamp());
BEGIN
    RETURN EXISTS (
        SELECT FROM session l
        JOIN sso_grant g ON g.session_id = l.session_id AND g.client_id = p_client AND g.revoked_at IS NULL
        JOIN client c ON c.client_id = g.client_id
        JOIN sharing_group_member t ON t.issuer = l.idp_issuer AND t.client_id = g.client_id
        JOIN sharing_group_member s ON s.issuer = l.idp_issuer AND s.client_id = g.source_client_id AND s.group_id = t.group_id
        JOIN general_end e ON e.only_row AND NOT is_covered(e, l.created_at, l.issued_at, l.auth_time)
        LEFT JOIN device d ON d.issuer = l.issuer AND d.device_digest = g.device_digest
        WHERE l.session_id = p_session_id AND l.ended_at IS NULL AND v_now < l.expires_at
            AND v_now < l.last_used_at + make_interval(secs => p_idle_seconds)
            AND v_now < g.expires_at AND g.created_at <= p_issued_at
            AND c.enabled AND s.role <> 'target' AND t.role <> 'source' AND d.blocked_at IS NULL);
END
$$;
GRANT EXECUTE ON FUNCTION is_grant_live TO native_sso_broker;
