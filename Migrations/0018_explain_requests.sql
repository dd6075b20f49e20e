-- Why: whoever has the X-Request-Id of an answer, or the id that an administrative command showed, finds all that it did and
-- why. A refusal says which login and which grant it was about, as far as that was known; an act has an id of its own.
-- Request ids hold their time from now on (RFC 9562 §5.7), so that their index grows at its end.
-- Locks: the audit against new events while the index of times is made: it reads the audit once, some seconds for tens of
-- millions of events, in which exchanges are told to come again. Whoever cannot have that makes the same index on each
-- partition before, CONCURRENTLY: it is taken over.
-- Old code: unaffected; its calls leave the new parameters out.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

-- Events come in the order of their times, nearly, so a summary of some blocks is enough, and an insert does not pay for it.
CREATE INDEX audit_event_time ON audit_event USING brin (occurred_at) WITH (pages_per_range = 32, autosummarize = on);

-- As before (0005), and what a refusal was about: the row of the session and the grant, all zero where there is none, and
-- the app whose login it was.
DROP FUNCTION record_audit(timestamptz[], text[], uuid[], text[], text[]);
CREATE FUNCTION record_audit(
    p_occurred_at timestamptz[], p_kinds text[], p_request_ids uuid[], p_client_ids text[], p_reasons text[],
    p_session_ids uuid[] DEFAULT NULL, p_grant_ids uuid[] DEFAULT NULL, p_source_clients text[] DEFAULT NULL)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    INSERT INTO audit_event (occurred_at, kind, request_id, client_id, reason, session_id, grant_id, details)
    SELECT least(occurred_at, now()), kind, request_id, nullif(client_id, ''), reason,
        nullif(session_id, '00000000-0000-0000-0000-000000000000'),
        nullif(grant_id, '00000000-0000-0000-0000-000000000000'),
        CASE WHEN source_client <> '' THEN jsonb_build_object('source_client', source_client) END
    FROM unnest(
            p_occurred_at, p_kinds, p_request_ids, p_client_ids, p_reasons, p_session_ids, p_grant_ids, p_source_clients)
        AS event (occurred_at, kind, request_id, client_id, reason, session_id, grant_id, source_client)
    WHERE kind LIKE '%\_refused'
$$;
GRANT EXECUTE ON FUNCTION record_audit TO native_sso_broker;

DROP FUNCTION record_administration(text, text, text, jsonb);
CREATE FUNCTION record_administration(
    p_kind text, p_actor text, p_reason text, p_details jsonb, p_request_id uuid DEFAULT NULL)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    INSERT INTO audit_event (occurred_at, kind, request_id, actor, reason, details)
    VALUES (now(), p_kind, p_request_id, p_actor, p_reason, p_details)
$$;

DROP FUNCTION end_sessions(uuid[], text, text, jsonb);
CREATE FUNCTION end_sessions(
    p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb, p_request_id uuid DEFAULT NULL)
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
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason, actor, details)
        SELECT now(), 'session_ended', p_request_id, session_id, p_reason, p_actor, p_details FROM ended
    )
    SELECT session_id FROM ended
$$;

-- As end_sessions, but those that somebody has at the moment are passed over: it never waits for one while it holds another.
DROP FUNCTION end_free_sessions(uuid[], text, text, jsonb);
CREATE FUNCTION end_free_sessions(
    p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb, p_request_id uuid DEFAULT NULL)
RETURNS SETOF uuid LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    WITH ended AS (
        UPDATE session SET ended_at = date_trunc('second', now()), end_reason = p_reason
        WHERE session_id IN (
            SELECT session_id FROM session
            WHERE session_id = ANY (p_session_ids) AND ended_at IS NULL
            ORDER BY session_id FOR NO KEY UPDATE SKIP LOCKED)
        RETURNING session_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason, actor, details)
        SELECT now(), 'session_ended', p_request_id, session_id, p_reason, p_actor, p_details FROM ended
    )
    SELECT session_id FROM ended
$$;
