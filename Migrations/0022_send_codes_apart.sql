-- Why: a code that never left for the identity provider is as good as it was, whatever became of the broker or of the database
-- meanwhile. So a code is reserved first and marked as sent apart, right before it is: a reservation runs out by itself, and only
-- what is marked counts as spent.
-- And an identity provider's answer is kept for longer than the broker's: nobody has seen the answer yet, and the database may
-- be failing over. The half minute of whoever repeats the request begins when there is an answer to repeat.
-- Locks: ACCESS EXCLUSIVE on relayed_code, short (constant default, no rewrite).
-- Old code: what it claims counts as sent. What is reserved here is in flight to it, for the seconds of the reservation: one that
-- ran out without being sent is used to it, and to new code it is not.
SET LOCAL ROLE native_sso_admin;
SET LOCAL lock_timeout = '500ms';
SET LOCAL search_path = native_sso;

-- Only of those in state asked: false while the code is reserved for request_id and cannot have left.
ALTER TABLE relayed_code ADD COLUMN is_sent boolean NOT NULL DEFAULT true;

-- As claim_code (0017), but that what is granted is a reservation: for some seconds, and until send_code is called. Called again
-- by the same request, whose first answer was lost, it says the same, and its proof is not used a second time.
CREATE FUNCTION reserve_code(
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
    -- Who was faster with this code is waited for here, for as long as a commit takes. A reservation that ran out is taken over:
    -- its holder finds that out in send_code.
    INSERT INTO relayed_code AS r (code, binding, request_id, state, is_sent, valid_until, expires_at)
    VALUES (
        p_code, p_binding, p_request_id, 'asked', false, clock_timestamp() + interval '5 seconds',
        now() + interval '1 day')
    ON CONFLICT (code) DO UPDATE
    SET binding = excluded.binding, request_id = excluded.request_id, valid_until = excluded.valid_until,
        expires_at = excluded.expires_at
    WHERE r.state = 'asked' AND NOT r.is_sent AND r.valid_until < clock_timestamp();
    IF FOUND THEN
        PERFORM erase_kept_answers(4);
        RETURN ROW ('granted', NULL)::code_claim;
    END IF;
    SELECT * INTO v_row FROM relayed_code r WHERE r.code = p_code;
    -- It was released since, or is somebody's who may yet release it: whoever comes again may have it.
    IF NOT FOUND OR v_row.state = 'asked' AND NOT v_row.is_sent THEN
        RETURN ROW ('in_flight', NULL)::code_claim;
    END IF;
    IF v_row.binding <> p_binding OR v_row.state = 'lost' OR v_row.valid_until < clock_timestamp() THEN
        RETURN ROW ('used', NULL)::code_claim;
    END IF;
    IF v_row.state = 'asked' THEN
        RETURN ROW ('in_flight', NULL)::code_claim;
    END IF;
    RETURN ROW ('kept', v_row.answer)::code_claim;
END
$$;
GRANT EXECUTE ON FUNCTION reserve_code TO native_sso_broker;

-- From here on the code counts as sent. False: the reservation is not this request's any more, and the code must not be sent. True
-- again for the same request, whose first answer was lost.
CREATE FUNCTION send_code(
    p_code bytea, p_request_id uuid,
    -- How long whoever asks the identity provider may take.
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

-- As before (0017), but that what is kept and not yet answered waits for two minutes, and that what came for a code is kept however
-- late: nobody else was granted a code that was sent. False says nothing of who has got what was kept: an earlier call may have
-- been done, and its answer lost.
CREATE OR REPLACE FUNCTION settle_code(p_code bytea, p_request_id uuid, p_state text, p_answer bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF p_state = 'released' THEN
        DELETE FROM relayed_code r WHERE r.code = p_code AND r.request_id = p_request_id AND r.state = 'asked';
    ELSE
        UPDATE relayed_code r
        SET state = p_state, answer = p_answer,
            valid_until = CASE p_state
                WHEN 'lost' THEN r.valid_until
                WHEN 'kept' THEN clock_timestamp() + interval '2 minutes'
                ELSE clock_timestamp() + interval '30 seconds' END
        WHERE r.code = p_code AND r.request_id = p_request_id
            AND (r.state = 'asked' AND r.is_sent AND p_state = 'kept'
                OR r.valid_until >= clock_timestamp()
                    -- Again where the first answer to this was lost.
                    AND (r.state = 'asked' OR r.state = 'kept' AND p_state = 'kept' AND r.answer = p_answer));
    END IF;
    RETURN FOUND;
END
$$;

-- As before (0017), and the half minute begins here: again for whoever does not know that it was the first.
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

-- Nothing is made of what was kept: it is erased, and whoever repeats the request finds the code used. False: somebody has an
-- answer, or there is nothing any more.
CREATE FUNCTION forget_code(p_code bytea, p_binding bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    UPDATE relayed_code r SET state = 'lost', answer = NULL
    WHERE r.code = p_code AND r.binding = p_binding AND r.state = 'kept';
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION forget_code TO native_sso_broker;
