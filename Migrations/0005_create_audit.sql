-- Why: who was given what, who was refused and why, who changed what. Append only, a partition a month.
-- Locks: none that anybody waits for.  Old code: there is none.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE TABLE audit_event (
    occurred_at timestamptz NOT NULL,
    kind text NOT NULL,
    -- The X-Request-Id of the answer.
    request_id uuid,
    client_id text COLLATE "C",
    session_id uuid,
    grant_id uuid,
    -- From a closed list of the program, never what a caller wrote.
    reason text,
    -- Who, where a person acted.
    actor text,
    details jsonb
) PARTITION BY RANGE (occurred_at);
CREATE INDEX audit_event_request ON audit_event (request_id) WHERE request_id IS NOT NULL;
-- Only for a month that nobody prepared.
CREATE TABLE audit_event_default PARTITION OF audit_event DEFAULT;

CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_event FOR EACH ROW
    EXECUTE FUNCTION refuse_change('the audit is append only');

-- Makes the partitions of this month and the next three. A month whose events already lie in the default partition
-- keeps them there.
-- A table that is made first and attached then: CREATE TABLE ... PARTITION OF would lock the whole audit against every
-- exchange. What attaching locks as a whole is the default partition, which nobody writes while there is one for the month.
CREATE FUNCTION prepare_audit_partitions() RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = native_sso, pg_temp SET timezone = 'UTC' SET lock_timeout = '1s' AS $$
DECLARE
    v_month timestamptz;
    v_name text;
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('native_sso.prepare_audit_partitions')) THEN
        RETURN;
    END IF;
    FOR v_month IN
        SELECT generate_series(date_trunc('month', now()), date_trunc('month', now()) + interval '3 months', interval '1 month')
    LOOP
        v_name := 'audit_event_p' || to_char(v_month, 'YYYY_MM');
        CONTINUE WHEN to_regclass('native_sso.' || v_name) IS NOT NULL;
        CONTINUE WHEN EXISTS (
            SELECT FROM audit_event_default
            WHERE occurred_at >= v_month AND occurred_at < v_month + interval '1 month');
        EXECUTE format('CREATE TABLE %I (LIKE audit_event INCLUDING ALL)', v_name);
        EXECUTE format(
            'ALTER TABLE audit_event ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
            v_name, v_month, v_month + interval '1 month');
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION prepare_audit_partitions TO native_sso_broker;
SELECT prepare_audit_partitions();

-- Refusals, many at a time: the arrays run in step. Nothing else is taken, and nothing from the future: what was done is
-- recorded by the statement that did it, and the service's password must not be enough to invent an act.
CREATE FUNCTION record_audit(
    p_occurred_at timestamptz[], p_kinds text[], p_request_ids uuid[], p_client_ids text[], p_reasons text[])
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    INSERT INTO audit_event (occurred_at, kind, request_id, client_id, reason)
    SELECT least(occurred_at, now()), kind, request_id, nullif(client_id, ''), reason
    FROM unnest(p_occurred_at, p_kinds, p_request_ids, p_client_ids, p_reasons)
        AS event (occurred_at, kind, request_id, client_id, reason)
    WHERE kind LIKE '%\_refused'
$$;
GRANT EXECUTE ON FUNCTION record_audit TO native_sso_broker;
