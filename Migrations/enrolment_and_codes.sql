-- Enrolment: a client brings a login that it made at the IdP, by id_token or by code. All replicas together send a code to the IdP
-- once: at a second use the IdP may revoke the tokens of the first (RFC 6749 section 4.1.2).
-- One current text, applied again when it changes.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

SELECT make_type('enrolment', $$
    seen_at timestamptz, client_enabled boolean, member_group text, member_role text, device_blocked boolean,
    login_ended boolean, token_used boolean, session_id uuid, expires_at timestamptz, pinned_jkt text, proof_used boolean,
    assertion_used boolean, account_disabled boolean$$);

SELECT make_type('code_claim', $$
    standing text, answer bytea$$);

-- One statement decides and writes. The rules are those of `decide` in the NativeSSO room.
-- Locks, in this order: the device, where a key may have to be bound; the locks of a logout, shared; the id_token's row; the new
-- session; the device's row. No call waits for a proof or an assertion.
CREATE OR REPLACE FUNCTION enrol(
    -- p_idp_sid: SHA-256 of the sid; NULL: the identity provider does not name its sessions.
    p_request_id uuid, p_issuer text, p_idp_sid bytea, p_subject text, p_client text, p_device bytea, p_profile text,
    -- Digest of the id_token, and when it is refused for its age.
    p_token bytea, p_token_expires_at timestamptz,
    p_auth_time timestamptz, p_acr text, p_amr text[],
    p_session_seconds bigint,
    -- Whether the broker's own checks passed. If not, the function looks, and writes only the used proof and assertion.
    p_permitted boolean,
    p_session_id uuid,
    -- When the id_token was issued, by the provider's clock.
    p_issued_at timestamptz DEFAULT NULL,
    -- For the audit: whether the id_token came by exchange or for a code.
    p_by text DEFAULT 'exchange',
    -- See exchange.sql.
    p_heeds_pin boolean DEFAULT false,
    p_jkt jwk_thumbprint DEFAULT NULL, p_proof bytea DEFAULT NULL, p_proof_seconds bigint DEFAULT NULL,
    -- The assertion by which the client authenticated, and when it expires; NULL: another way.
    p_assertion bytea DEFAULT NULL, p_assertion_expires_at timestamptz DEFAULT NULL,
    -- For the audit.
    p_trace_id uuid DEFAULT NULL)
RETURNS enrolment
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_now timestamptz;
    v_client_enabled boolean;
    v_group text;
    v_role text;
    v_device_blocked boolean;
    v_pinned_jkt text;
    v_login_ended boolean;
    v_account_disabled boolean;
    v_token_used boolean := false;
    v_session_id uuid;
    v_expires_at timestamptz;
    v_proof_used boolean := false;
    v_assertion_used boolean := false;
    v_is_done boolean := false;
    v_end general_end;
BEGIN
    -- The sweep may have deleted the row of a token that expired an hour ago, so its second use would not be seen: no answer. The
    -- broker's checks refuse an old token anyway.
    IF p_permitted AND p_token_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    IF p_assertion IS NOT NULL THEN
        v_assertion_used := NOT use_client_assertion(p_assertion, p_assertion_expires_at);
    END IF;
    IF p_proof IS NOT NULL AND NOT v_assertion_used THEN
        v_proof_used := NOT use_dpop_proof(p_proof, p_proof_seconds);
    END IF;
    IF p_permitted AND NOT v_assertion_used AND NOT v_proof_used THEN
        -- From here on no other call binds a key on this device, and no logout comes between the look and the write.
        IF p_heeds_pin AND p_jkt IS NOT NULL THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
        END IF;
        PERFORM pg_advisory_xact_lock_shared(logout_lock('sub', p_issuer, p_subject));
        IF p_idp_sid IS NOT NULL THEN
            PERFORM pg_advisory_xact_lock_shared(logout_lock('sid', p_issuer, encode(p_idp_sid, 'hex')));
        END IF;
    END IF;
    FOR v_attempt IN 1..3 LOOP
        v_now := date_trunc('second', clock_timestamp());
        SELECT * INTO v_end FROM general_end e WHERE e.only_row;
        SELECT c.enabled INTO v_client_enabled FROM client c WHERE c.client_id = p_client;
        v_client_enabled := coalesce(v_client_enabled, false);
        SELECT m.group_id, m.role INTO v_group, v_role
        FROM sharing_group_member m WHERE m.issuer = p_issuer AND m.client_id = p_client;
        SELECT d.blocked_at IS NOT NULL, CASE WHEN p_heeds_pin THEN d.pinned_keys ->> p_client END
        INTO v_device_blocked, v_pinned_jkt
        FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device;
        v_device_blocked := coalesce(v_device_blocked, false);
        -- A login is not later than its id_token.
        v_login_ended := NOT (
            SELECT satisfies_limits(p_issued_at, p_auth_time, n.iat_after, n.auth_time_after)
            FROM idp_session_limits(p_issuer, p_idp_sid) n
        ) OR is_covered(v_end, v_now, p_issued_at, p_auth_time) OR EXISTS (
            SELECT FROM subject_logout o
            WHERE o.idp_issuer = p_issuer AND o.subject = p_subject AND least(p_auth_time, p_issued_at) <= o.issued_at);
        v_account_disabled := EXISTS (
            SELECT FROM subject_logout o
            WHERE o.idp_issuer = p_issuer AND o.subject = p_subject AND o.disabled_at IS NOT NULL);
        SELECT l.session_id, l.expires_at,
            l.device_digest IS DISTINCT FROM p_device OR l.ended_at IS NOT NULL OR l.expires_at <= v_now
                OR is_covered(v_end, l.created_at, l.issued_at, l.auth_time)
        INTO v_session_id, v_expires_at, v_token_used
        FROM used_proof u LEFT JOIN session l ON l.session_id = u.session_id
        WHERE u.kind = 'enrolment' AND u.digest = p_token;
        v_token_used := coalesce(v_token_used, false);

        IF NOT coalesce(
            p_permitted AND NOT v_assertion_used AND NOT v_proof_used
                AND v_client_enabled AND v_role <> 'target' AND NOT v_device_blocked
                AND (v_pinned_jkt IS NULL OR v_pinned_jkt = p_jkt)
                AND NOT v_account_disabled AND NOT v_login_ended AND NOT v_token_used,
            false)
        THEN
            v_session_id := NULL;
            v_expires_at := NULL;
            v_is_done := true;
            EXIT;
        END IF;

        IF v_session_id IS NULL THEN
            -- Waits here for another call with the same token.
            INSERT INTO used_proof (kind, digest, expires_at, session_id)
            VALUES ('enrolment', p_token, least(p_token_expires_at, v_now + interval '1 hour'), p_session_id)
            ON CONFLICT (kind, digest) DO NOTHING;
            -- The session exists now: look again.
            CONTINUE WHEN NOT FOUND;
            v_session_id := p_session_id;
            v_expires_at := v_now + make_interval(secs => p_session_seconds);
            INSERT INTO session (
                issued_at, session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id,
                auth_time, acr, amr, created_at, expires_at, last_used_at)
            VALUES (
                p_issued_at,
                p_session_id, p_issuer, own_sid(p_session_id), p_issuer, p_idp_sid, p_subject, p_profile, p_device, p_client,
                p_auth_time, p_acr, p_amr, v_now, v_expires_at, v_now);
            IF NOT FOUND THEN
                -- A rule for new logins ended the session at once: its row exists, as an ended one.
                v_login_ended := true;
                v_session_id := NULL;
                v_expires_at := NULL;
                v_is_done := true;
                EXIT;
            END IF;
            INSERT INTO device (issuer, device_digest, first_seen_at) VALUES (p_issuer, p_device, v_now) ON CONFLICT DO NOTHING;
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, details, trace_id)
            VALUES (
                clock_timestamp(), 'session_enrolled', p_request_id, p_client, p_session_id, jsonb_build_object('by', p_by),
                p_trace_id);
        ELSE
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, details, trace_id)
            SELECT clock_timestamp(), 'enrolment_repeated', p_request_id, p_client, u.session_id, jsonb_build_object('by', p_by),
                p_trace_id
            FROM used_proof u WHERE u.kind = 'enrolment' AND u.digest = p_token;
        END IF;
        IF p_heeds_pin AND p_jkt IS NOT NULL AND v_pinned_jkt IS NULL AND pin_key(p_issuer, p_device, p_client, p_jkt) <> p_jkt
        THEN
            RAISE EXCEPTION 'a key was pinned under the lock of its device' USING ERRCODE = 'serialization_failure';
        END IF;
        v_is_done := true;
        EXIT;
    END LOOP;
    IF NOT v_is_done THEN
        RAISE EXCEPTION 'the id_token of an enrolment comes and goes' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN ROW (
        v_now, v_client_enabled, v_group, v_role, v_device_blocked, v_login_ended, v_token_used, v_session_id,
        v_expires_at, v_pinned_jkt, v_proof_used, v_assertion_used, v_account_disabled)::enrolment;
END
$$;
GRANT EXECUTE ON FUNCTION enrol TO native_sso_broker;

-- Erases a few answers that are past their time, so that they do not wait for a sweep.
CREATE OR REPLACE FUNCTION erase_kept_answers(p_limit bigint) RETURNS bigint
LANGUAGE sql SET search_path = native_sso, pg_temp AS $$
    WITH old AS (
        SELECT code FROM relayed_code WHERE answer IS NOT NULL AND valid_until < clock_timestamp()
        ORDER BY valid_until LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
        UPDATE relayed_code r SET state = 'lost', answer = NULL FROM old WHERE r.code = old.code RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

-- Reserves a code for some seconds, until send_code. The same request may call it again after a lost answer: it gets the same
-- result, and its proof is not used a second time.
CREATE OR REPLACE FUNCTION reserve_code(
    p_code bytea, p_binding bytea, p_request_id uuid,
    p_proof bytea DEFAULT NULL, p_proof_seconds bigint DEFAULT NULL)
RETURNS code_claim
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_row relayed_code;
BEGIN
    SELECT * INTO v_row FROM relayed_code r WHERE r.code = p_code;
    IF FOUND AND v_row.request_id = p_request_id AND v_row.state = 'asked' THEN
        RETURN ROW ('granted', NULL)::code_claim;
    END IF;
    IF p_proof IS NOT NULL AND NOT use_dpop_proof(p_proof, p_proof_seconds) THEN
        RETURN ROW ('proof_used', NULL)::code_claim;
    END IF;
    -- Waits here for the commit of another call with this code. Takes over an expired reservation; its holder learns that in
    -- send_code.
    INSERT INTO relayed_code AS r (code, binding, request_id, state, is_sent, reserved_at, valid_until, expires_at)
    VALUES (
        p_code, p_binding, p_request_id, 'asked', false, date_trunc('second', clock_timestamp()),
        clock_timestamp() + interval '5 seconds', now() + interval '1 day')
    ON CONFLICT (code) DO UPDATE
    SET binding = excluded.binding, request_id = excluded.request_id, reserved_at = excluded.reserved_at,
        valid_until = excluded.valid_until, expires_at = excluded.expires_at
    WHERE r.state = 'asked' AND NOT r.is_sent AND r.valid_until < clock_timestamp();
    IF FOUND THEN
        PERFORM erase_kept_answers(4);
        RETURN ROW ('granted', NULL)::code_claim;
    END IF;
    SELECT * INTO v_row FROM relayed_code r WHERE r.code = p_code;
    -- The code was released since, or its holder may still release it: a repeated request may get it.
    IF NOT FOUND OR v_row.state = 'asked' AND NOT v_row.is_sent THEN
        RETURN ROW ('in_flight', NULL)::code_claim;
    END IF;
    IF v_row.binding <> p_binding OR v_row.state = 'lost' OR v_row.valid_until < clock_timestamp()
        OR EXISTS (SELECT FROM general_end e WHERE is_covered(e, v_row.reserved_at, NULL, NULL))
    THEN
        RETURN ROW ('used', NULL)::code_claim;
    END IF;
    IF v_row.state = 'asked' THEN
        RETURN ROW ('in_flight', NULL)::code_claim;
    END IF;
    RETURN ROW ('kept', v_row.answer)::code_claim;
END
$$;
GRANT EXECUTE ON FUNCTION reserve_code TO native_sso_broker;

-- Marks the code as sent. False: the request has lost its reservation and must not send the code. True again for the same request,
-- whose first answer was lost.
CREATE OR REPLACE FUNCTION send_code(
    p_code bytea, p_request_id uuid,
    -- How long the request to the identity provider may take.
    p_patience_seconds bigint)
RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE relayed_code r
    SET is_sent = true, valid_until = clock_timestamp() + make_interval(secs => least(p_patience_seconds, 300))
    WHERE r.code = p_code AND r.request_id = p_request_id AND r.state = 'asked';
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION send_code TO native_sso_broker;

-- Keeps the IdP's answer for two minutes, until the broker's own answer replaces it. The answer to a sent code is kept however late
-- it comes, because no other request gets that code. False may mean that an earlier call succeeded and its answer was lost.
CREATE OR REPLACE FUNCTION settle_code(p_code bytea, p_request_id uuid, p_state text, p_answer bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF p_state = 'released' THEN
        DELETE FROM relayed_code r WHERE r.code = p_code AND r.request_id = p_request_id AND r.state = 'asked';
    ELSE
        UPDATE relayed_code r
        SET state = p_state, answer = p_answer,
            -- 'answered' is the refusal of an IdP: such a code gives no tokens. Its row goes soon, so that a flood of them costs little.
            expires_at = CASE p_state
                WHEN 'answered' THEN least(r.expires_at, now() + interval '15 minutes') ELSE r.expires_at END,
            valid_until = CASE p_state
                WHEN 'lost' THEN r.valid_until
                WHEN 'kept' THEN clock_timestamp() + interval '2 minutes'
                ELSE clock_timestamp() + interval '30 seconds' END
        WHERE r.code = p_code AND r.request_id = p_request_id
            AND (r.state = 'asked' AND r.is_sent AND p_state = 'kept'
                OR r.valid_until >= clock_timestamp()
                    -- A repetition, because the first answer was lost.
                    AND (r.state = 'asked' OR r.state = 'kept' AND p_state = 'kept' AND r.answer = p_answer));
    END IF;
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION settle_code TO native_sso_broker;

-- Replaces the kept answer by the broker's, for 30 s. A repeated call begins the 30 s again.
CREATE OR REPLACE FUNCTION finish_code(p_code bytea, p_binding bytea, p_answer bytea) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_answer bytea;
BEGIN
    UPDATE relayed_code r
    SET state = 'answered', answer = p_answer, valid_until = clock_timestamp() + interval '30 seconds'
    WHERE r.code = p_code AND r.binding = p_binding
        AND (r.state = 'kept' AND r.valid_until >= clock_timestamp() OR r.state = 'answered' AND r.answer = p_answer);
    IF FOUND THEN
        RETURN p_answer;
    END IF;
    SELECT r.answer INTO v_answer FROM relayed_code r
    WHERE r.code = p_code AND r.binding = p_binding AND r.state = 'answered' AND r.valid_until >= clock_timestamp();
    RETURN v_answer;
END
$$;
GRANT EXECUTE ON FUNCTION finish_code TO native_sso_broker;

-- Erases a kept answer that led to no tokens. A repeated request then finds the code used. False: a request has got an answer, or
-- no answer is kept.
CREATE OR REPLACE FUNCTION forget_code(p_code bytea, p_binding bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE relayed_code r SET state = 'lost', answer = NULL
    WHERE r.code = p_code AND r.binding = p_binding AND r.state = 'kept';
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION forget_code TO native_sso_broker;
