-- Why: what an operator changes is recorded with who and why, in the transaction that changes it.
-- Locks: the rows that are ended.  Old code: there is none.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

-- Ends the live ones of the given sessions. Everything issued from them is dead with them, because whatever uses a grant
-- reads its session. Returns the sessions that this call ended.
CREATE FUNCTION end_sessions(p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb)
RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    WITH ended AS (
        UPDATE session SET ended_at = date_trunc('second', now()), end_reason = p_reason
        WHERE session_id IN (
            -- In one order for all, so that two of these cannot block each other.
            SELECT session_id FROM session
            WHERE session_id = ANY (p_session_ids) AND ended_at IS NULL
            ORDER BY session_id FOR NO KEY UPDATE)
        RETURNING session_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, session_id, reason, actor, details)
        SELECT now(), 'session_ended', session_id, p_reason, p_actor, p_details FROM ended
    )
    SELECT session_id FROM ended
$$;

CREATE FUNCTION record_administration(p_kind text, p_actor text, p_reason text, p_details jsonb)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    INSERT INTO audit_event (occurred_at, kind, actor, reason, details)
    VALUES (now(), p_kind, p_actor, p_reason, p_details)
$$;
