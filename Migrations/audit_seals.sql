-- The seals of the audit: a chain of digests over what was recorded. A change of an event, of a seal or of their number breaks it.
--
-- A seal covers a range of transactions that had all ended, committed or not, so no event can join the range later: an event that
-- commits late lies in a later range. No insert waits for a seal. Each seal is about one month, so that retention can remove months.
-- One current text, applied again when it changes.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

-- One sealer at a time, until the end of the transaction. The number is arbitrary and belongs to this schema.
CREATE OR REPLACE FUNCTION try_seal() RETURNS boolean LANGUAGE sql AS 'SELECT pg_try_advisory_xact_lock(7017280452245743466)';

-- Adds the next seal. `audit verify` computes the chain and the digests by itself, and does not call these functions.
CREATE OR REPLACE FUNCTION append_audit_seal(
    p_month date, p_from bigint, p_until bigint, p_events bigint, p_digest bytea, p_is_removal boolean)
RETURNS void LANGUAGE plpgsql SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_last audit_seal;
    v_now timestamptz := clock_timestamp();
BEGIN
    SELECT * INTO v_last FROM audit_seal s ORDER BY s.number DESC LIMIT 1;
    INSERT INTO audit_seal VALUES (
        coalesce(v_last.number, 0) + 1, v_now, p_month, p_from, p_until, p_events, p_digest, p_is_removal,
        sha256(coalesce(v_last.chain, '') || convert_to(concat_ws('|',
            coalesce(v_last.number, 0) + 1, (extract(epoch FROM v_now) * 1000000)::bigint, to_char(p_month, 'YYYY-MM'), p_from,
            p_until, p_events, encode(p_digest, 'hex'), p_is_removal), 'UTF8')),
        NULL);
END
$$;

-- Seals all that can be sealed. The caller holds the lock. At most 100,000 transactions go into one seal, so that a check needs little
-- at once. Where nothing happened there is a seal every hour.
CREATE OR REPLACE FUNCTION seal_audit_events() RETURNS void
LANGUAGE plpgsql SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_horizon bigint := pg_snapshot_xmin(pg_current_snapshot())::text::bigint;
    v_last audit_seal;
    v_from bigint;
    v_until bigint;
    v_events bigint;
    v_month record;
BEGIN
    SELECT * INTO v_last FROM audit_seal s ORDER BY s.number DESC LIMIT 1;
    v_from := coalesce(v_last.until_transaction, 0);
    IF v_horizon < v_from THEN
        RAISE EXCEPTION 'the seals of the audit end at transaction %, and this cluster is at % only', v_from, v_horizon
            USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'A dump was restored into another cluster. Stop it and raise its counter with pg_resetwal --next-transaction-id.';
    END IF;
    WHILE v_from < v_horizon LOOP
        v_until := CASE WHEN v_last IS NULL THEN v_horizon ELSE least(v_horizon, v_from + 100000) END;
        v_events := 0;
        FOR v_month IN
            SELECT e.month, count(*) AS events, sha256(string_agg(e.digest, ''::bytea ORDER BY e.digest)) AS digest
            FROM (
                SELECT date_trunc('month', a.occurred_at AT TIME ZONE 'UTC')::date AS month,
                    sha256(convert_to(jsonb_build_array(
                        (extract(epoch FROM a.occurred_at) * 1000000)::bigint, a.kind, a.request_id, a.client_id, a.session_id,
                        a.grant_id, a.reason, a.actor, a.details, a.trace_id, a.recorded_in)::text, 'UTF8')) AS digest
                FROM audit_event a WHERE a.recorded_in >= v_from AND a.recorded_in < v_until) e
            GROUP BY e.month ORDER BY e.month
        LOOP
            PERFORM append_audit_seal(v_month.month, v_from, v_until, v_month.events, v_month.digest, false);
            v_events := v_events + v_month.events;
        END LOOP;
        IF v_events = 0 THEN
            EXIT WHEN v_until = v_horizon AND v_last.sealed_at > clock_timestamp() - interval '1 hour';
            PERFORM append_audit_seal(
                date_trunc('month', now() AT TIME ZONE 'UTC')::date, v_from, v_until, 0, sha256(''), false);
        END IF;
        v_from := v_until;
        SELECT * INTO v_last FROM audit_seal s ORDER BY s.number DESC LIMIT 1;
    END LOOP;
END
$$;

-- $1 least number of seconds since the last seal, so that one of several brokers seals. True: this call made seals.
CREATE OR REPLACE FUNCTION seal_audit(p_spacing_seconds bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_last audit_seal;
BEGIN
    IF NOT try_seal() THEN
        RETURN false;
    END IF;
    SELECT * INTO v_last FROM audit_seal s ORDER BY s.number DESC LIMIT 1;
    IF v_last.sealed_at > clock_timestamp() - make_interval(secs => p_spacing_seconds) THEN
        RETURN false;
    END IF;
    PERFORM seal_audit_events();
    RETURN (SELECT max(s.number) FROM audit_seal s) IS DISTINCT FROM v_last.number;
END
$$;
GRANT EXECUTE ON FUNCTION seal_audit TO native_sso_broker;

-- A tag counts only if it is right, and `audit verify` computes it. An old seal without a tag stays without one, so that an attacker
-- gets no tags for a chain that was made anew.
CREATE OR REPLACE FUNCTION tag_audit_seal(p_number bigint, p_tag bytea) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    UPDATE audit_seal s SET tag = p_tag
    WHERE s.number = p_number AND s.tag IS NULL AND s.sealed_at > now() - interval '1 hour'
$$;
GRANT EXECUTE ON FUNCTION tag_audit_seal TO native_sso_broker;
