-- Why: a code that an app brings here is sent to the identity provider once, by whichever replica, and never again: it might
-- revoke what it gave for the first (RFC 6749 section 4.1.2). What it answered is kept for half a minute, so that an answer that
-- was lost, or a broker that died, costs nobody a login.
-- What is kept is sealed, under a key that comes of the code, its verifier and the brokers' device key. None of them is here.
-- Locks: none that anybody waits for.
-- Old code: unaffected.
SET LOCAL ROLE native_sso_admin;
SET LOCAL lock_timeout = '500ms';
SET LOCAL search_path = native_sso;

CREATE TABLE relayed_code (
    -- HMAC of issuer and code by the brokers' device key.
    code bytea PRIMARY KEY CHECK (octet_length(code) = 32),
    -- Stands for client, verifier, redirect URI, device value, scope and key: who repeats a request shows the same.
    binding bytea NOT NULL CHECK (octet_length(binding) = 32),
    -- Who asks the identity provider.
    request_id uuid NOT NULL,
    -- asked: at the identity provider, or at a broker that died. kept: it answered. answered: so did we. lost: nothing can be
    -- had for it any more.
    state text NOT NULL CHECK (state IN ('asked', 'kept', 'answered', 'lost')),
    -- Until then an answer may come, and what is kept is given out.
    valid_until timestamptz NOT NULL,
    answer bytea CHECK (octet_length(answer) <= 131072),
    expires_at timestamptz NOT NULL,
    CHECK ((state IN ('kept', 'answered')) = (answer IS NOT NULL))
);
CREATE INDEX relayed_code_answer ON relayed_code (valid_until) WHERE answer IS NOT NULL;
CREATE INDEX relayed_code_expiry ON relayed_code (expires_at);

-- Erases what is not given out any more, a few at a time: nobody has to wait for a sweep.
CREATE FUNCTION erase_kept_answers(p_limit bigint) RETURNS bigint
LANGUAGE sql SET search_path = native_sso, pg_temp AS $$
    WITH old AS (
        SELECT code FROM relayed_code WHERE answer IS NOT NULL AND valid_until < clock_timestamp()
        ORDER BY valid_until LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
        UPDATE relayed_code r SET state = 'lost', answer = NULL FROM old WHERE r.code = old.code RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

CREATE TYPE code_claim AS (standing text, answer bytea);

CREATE FUNCTION claim_code(
    p_code bytea, p_binding bytea, p_request_id uuid,
    -- How long whoever asks the identity provider may take.
    p_patience_seconds bigint,
    p_proof bytea DEFAULT NULL, p_proof_seconds bigint DEFAULT NULL)
RETURNS code_claim
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_row relayed_code;
BEGIN
    IF p_proof IS NOT NULL AND NOT use_dpop_proof(p_proof, p_proof_seconds) THEN
        RETURN ROW ('proof_used', NULL)::code_claim;
    END IF;
    -- Who was faster with this code is waited for here, for as long as a commit takes.
    INSERT INTO relayed_code (code, binding, request_id, state, valid_until, expires_at)
    VALUES (
        p_code, p_binding, p_request_id, 'asked',
        clock_timestamp() + make_interval(secs => least(p_patience_seconds, 300)), now() + interval '1 day')
    ON CONFLICT (code) DO NOTHING;
    IF FOUND THEN
        PERFORM erase_kept_answers(4);
        RETURN ROW ('granted', NULL)::code_claim;
    END IF;
    SELECT * INTO v_row FROM relayed_code r WHERE r.code = p_code;
    -- It was released since: whoever comes again may have it.
    IF NOT FOUND THEN
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
GRANT EXECUTE ON FUNCTION claim_code TO native_sso_broker;

-- p_state 'released': the code was not sent, and the claim goes. False: the claim is not this request's any more, or it took
-- longer than it may.
CREATE FUNCTION settle_code(p_code bytea, p_request_id uuid, p_state text, p_answer bytea) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF p_state = 'released' THEN
        DELETE FROM relayed_code r WHERE r.code = p_code AND r.request_id = p_request_id AND r.state = 'asked';
    ELSE
        UPDATE relayed_code r
        SET state = p_state, answer = p_answer,
            valid_until = CASE WHEN p_state = 'lost' THEN r.valid_until ELSE clock_timestamp() + interval '30 seconds' END
        WHERE r.code = p_code AND r.request_id = p_request_id AND r.valid_until >= clock_timestamp()
            -- Again where the first answer to this was lost.
            AND (r.state = 'asked' OR r.state = 'kept' AND p_state = 'kept' AND r.answer = p_answer);
    END IF;
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION settle_code TO native_sso_broker;

-- The answer that all who repeat the request get: this one, or that of whoever was faster. NULL: there is none any more.
CREATE FUNCTION finish_code(p_code bytea, p_binding bytea, p_answer bytea) RETURNS bytea
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_answer bytea;
BEGIN
    UPDATE relayed_code r SET state = 'answered', answer = p_answer
    WHERE r.code = p_code AND r.binding = p_binding AND r.state = 'kept' AND r.valid_until >= clock_timestamp();
    IF FOUND THEN
        RETURN p_answer;
    END IF;
    SELECT r.answer INTO v_answer FROM relayed_code r
    WHERE r.code = p_code AND r.binding = p_binding AND r.state = 'answered' AND r.valid_until >= clock_timestamp();
    RETURN v_answer;
END
$$;
GRANT EXECUTE ON FUNCTION finish_code TO native_sso_broker;

-- As before, and of relayed codes too: what is kept is erased, and a code that no identity provider knows any more goes.
CREATE OR REPLACE FUNCTION sweep_proofs(p_after text[], p_limit bigint, p_retention_seconds bigint)
RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_removed bigint;
    v_codes bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    PERFORM erase_kept_answers(least(p_limit, 1000));
    WITH dead AS (
        SELECT p.kind, p.digest FROM used_proof p WHERE p.expires_at < now() - interval '1 hour'
        ORDER BY p.expires_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM used_proof p USING dead WHERE p.kind = dead.kind AND p.digest = dead.digest RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    WITH dead AS (
        SELECT r.code FROM relayed_code r WHERE r.expires_at < now() - interval '1 hour'
        ORDER BY r.expires_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM relayed_code r USING dead WHERE r.code = dead.code RETURNING 1
    )
    SELECT count(*) INTO v_codes FROM gone;
    RETURN NEXT ROW (greatest(v_removed, v_codes), v_removed + v_codes, NULL)::sweep_batch;
END
$$;
