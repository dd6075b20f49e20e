-- Why: what became of tokens that an identity provider gave for a code and no app got is on record under the request's id.
-- Locks: none that anybody waits for.
-- Old code: unaffected.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

-- As before (0018), and code_orphaned, which changed nothing here either.
CREATE OR REPLACE FUNCTION record_audit(
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
    WHERE kind LIKE '%\_refused' OR kind = 'code_orphaned'
$$;
