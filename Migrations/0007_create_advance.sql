-- Why: a refresh in one call. What may happen is judged from one look; the write is a compare-and-swap on the generation,
-- so that of racing refreshes one advances the chain and the others then see its successor. A refused or re-delivered
-- refresh writes nothing; a token that shows misuse revokes the chain, with its audit row, here and now.
-- The rules are those of `decide` in the NativeSSO room, and a property test holds the two equal.
-- Locks: the row of session, shared; one row of sso_grant. A touch of the session is left to whoever has it locked already. For transactions of many
-- calls see admit.  Old code: there is none.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE TYPE advancement AS (
    seen_at timestamptz, effect text,
    client_id text, generation integer, rotated_at timestamptz, revoked_at timestamptz,
    grant_expires_at timestamptz, scope text[], audiences text[],
    auth_time timestamptz, acr text, amr text[],
    session_id uuid, sid text, subject text, ended_at timestamptz, expires_at timestamptz, last_used_at timestamptz,
    client_enabled boolean, shares_login boolean, scope_ceiling text[], device_blocked boolean);

-- Look-ups by whole unique keys and without sequential scans: see admit.
CREATE FUNCTION advance(
    p_request_id uuid, p_grant_id uuid, p_generation integer, p_client text,
    -- NULL: all that the grant holds.
    p_scope text[], p_allowed_scope text[],
    p_grace_seconds bigint, p_idle_seconds bigint)
RETURNS advancement
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_now timestamptz;
    v_effect text;
    v_misuse text;
    v_client_id text;
    v_source_client_id text;
    v_device_digest bytea;
    v_generation integer;
    v_rotated_at timestamptz;
    v_revoked_at timestamptz;
    v_grant_expires_at timestamptz;
    v_scope text[];
    v_audiences text[];
    v_auth_time timestamptz;
    v_acr text;
    v_amr text[];
    v_session_id uuid;
    v_issuer text;
    v_idp_issuer text;
    v_sid text;
    v_subject text;
    v_ended_at timestamptz;
    v_expires_at timestamptz;
    v_last_used_at timestamptz;
    v_client_enabled boolean;
    v_shares_login boolean;
    v_scope_ceiling text[];
    v_device_blocked boolean;
BEGIN
    FOR v_attempt IN 1..10 LOOP
        -- Read anew after each wait; now() would be when the transaction began.
        v_now := date_trunc('second', clock_timestamp());
        v_effect := 'none';
        SELECT g.client_id, g.source_client_id, g.device_digest, g.generation, g.rotated_at, g.revoked_at, g.expires_at,
            g.scope, g.audiences, g.auth_time, g.acr, g.amr, g.session_id
        INTO v_client_id, v_source_client_id, v_device_digest, v_generation, v_rotated_at, v_revoked_at,
            v_grant_expires_at, v_scope, v_audiences, v_auth_time, v_acr, v_amr, v_session_id
        FROM sso_grant g WHERE g.grant_id = p_grant_id;
        EXIT WHEN NOT FOUND;
        SELECT c.enabled INTO v_client_enabled FROM client c WHERE c.client_id = v_client_id;
        SELECT l.issuer, l.idp_issuer, l.sid, l.subject, l.ended_at, l.expires_at, l.last_used_at
        INTO v_issuer, v_idp_issuer, v_sid, v_subject, v_ended_at, v_expires_at, v_last_used_at
        FROM session l WHERE l.session_id = v_session_id;
        IF NOT FOUND THEN
            -- It went with all its grants since the first look.
            v_client_id := NULL;
            EXIT;
        END IF;
        -- Both in one look: see admit.
        SELECT coalesce(s.group_id = t.group_id AND s.role <> 'target' AND t.role <> 'source', false), t.scope_ceiling
        INTO v_shares_login, v_scope_ceiling
        FROM (SELECT) AS one
        LEFT JOIN sharing_group_member s ON s.issuer = v_idp_issuer AND s.client_id = v_source_client_id
        LEFT JOIN sharing_group_member t ON t.issuer = v_idp_issuer AND t.client_id = v_client_id;
        SELECT d.blocked_at IS NOT NULL INTO v_device_blocked
        FROM device d WHERE d.issuer = v_issuer AND d.device_digest = v_device_digest;
        v_device_blocked := coalesce(v_device_blocked, false);
        EXIT WHEN v_revoked_at IS NOT NULL;

        v_misuse := CASE
            WHEN v_client_id <> p_client THEN 'refresh_token_foreign_client'
            WHEN p_generation > v_generation THEN 'state_regressed'
            WHEN p_generation < v_generation - 1
                OR p_generation = v_generation - 1
                    AND v_now >= v_rotated_at + make_interval(secs => p_grace_seconds)
                THEN 'refresh_token_replayed'
            END;
        IF v_misuse IS NOT NULL THEN
            -- By both unique keys: with grant_id alone the index of the live grants could be chosen, and read from end to
            -- end.
            UPDATE sso_grant g SET revoked_at = v_now, revoke_reason = v_misuse
            WHERE g.grant_id = p_grant_id AND g.generation = v_generation
                AND g.session_id = v_session_id AND g.client_id = v_client_id AND g.revoked_at IS NULL;
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
            OR NOT coalesce(p_scope, v_scope) && p_allowed_scope
            OR v_scope_ceiling IS NOT NULL AND (
                p_scope IS NOT NULL AND NOT p_scope <@ v_scope_ceiling
                OR NOT EXISTS (
                    SELECT FROM unnest(coalesce(p_scope, v_scope)) AS held (token)
                    WHERE held.token = ANY (p_allowed_scope) AND held.token = ANY (v_scope_ceiling)));

        -- Whoever ends the session waits, or was faster and is seen by another look: see admit.
        PERFORM FROM session l WHERE l.session_id = v_session_id AND l.ended_at IS NULL FOR SHARE;
        IF NOT FOUND THEN
            v_effect := NULL;
            CONTINUE;
        END IF;
        IF v_last_used_at < v_now - make_interval(secs => least(300, p_idle_seconds / 4)) THEN
            UPDATE session l SET last_used_at = v_now
            WHERE l.session_id = (
                SELECT k.session_id FROM session k
                WHERE k.session_id = v_session_id AND k.last_used_at < v_now AND k.ended_at IS NULL
                FOR NO KEY UPDATE SKIP LOCKED);
        END IF;
        UPDATE sso_grant g SET generation = g.generation + 1, rotated_at = v_now
        WHERE g.grant_id = p_grant_id AND g.generation = p_generation
            AND g.session_id = v_session_id AND g.client_id = v_client_id AND g.revoked_at IS NULL;
        IF FOUND THEN
            v_effect := 'advanced';
            EXIT;
        END IF;
        -- Another refresh of the same token was faster: look again.
        v_effect := NULL;
    END LOOP;
    IF v_effect IS NULL THEN
        RAISE EXCEPTION 'the chain does not stand still' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN ROW (
        v_now, v_effect, v_client_id, v_generation, v_rotated_at, v_revoked_at, v_grant_expires_at, v_scope,
        v_audiences, v_auth_time, v_acr, v_amr, v_session_id, v_sid, v_subject, v_ended_at, v_expires_at,
        v_last_used_at, v_client_enabled, v_shares_login, v_scope_ceiling, v_device_blocked)::advancement;
END
$$;
GRANT EXECUTE ON FUNCTION advance TO native_sso_broker;
