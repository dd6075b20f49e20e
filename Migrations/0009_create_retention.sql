-- Why: rows that nothing can refer to any more go, in small batches and by whole months of the audit. No decision depends
-- on it: what is over is refused whether its row is there or not.
-- How long a session that is over stays: an id_token of it may be up to 90 days old when it is exchanged, and without the
-- row it could bring the session in again. That bound is kept here and not only by the caller, because the service may
-- call these functions: a stolen password of the service must not make a logout be forgotten. The day more is for clocks.
-- Locks: the rows that go, and those are dead; never one that somebody has. No table that a hot call writes is locked as a
-- whole, which is why an old month is truncated and stays as an empty partition: to detach one locks the audit itself, and
-- CONCURRENTLY is not for a table with a default partition.
-- Old code: unaffected.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

-- The grants of a session that goes.
CREATE INDEX sso_grant_session ON sso_grant (session_id);
-- Only what is revoked is in it, so it costs a hot call nothing.
CREATE INDEX sso_grant_revoked ON sso_grant (revoked_at) WHERE revoked_at IS NOT NULL;
CREATE INDEX used_proof_expiry ON used_proof (expires_at);

-- When a sweep was begun last, so that of many brokers one sweeps.
CREATE TABLE sweep (
    only_row boolean PRIMARY KEY CHECK (only_row),
    begun_at timestamptz NOT NULL
);
INSERT INTO sweep VALUES (true, '-infinity');

-- Whether nobody else is at it, now: for the transaction. 7017280452245743465 is arbitrary, and this schema's own.
CREATE FUNCTION try_sweep() RETURNS boolean LANGUAGE sql AS 'SELECT pg_try_advisory_xact_lock(7017280452245743465)';

-- $1 seconds since the last sweep was begun that must have gone by. True: the caller sweeps now.
CREATE FUNCTION begin_sweep(p_interval_seconds bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
BEGIN
    IF NOT try_sweep() THEN
        RETURN false;
    END IF;
    UPDATE sweep SET begun_at = now() WHERE begun_at <= now() - make_interval(secs => p_interval_seconds);
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION begin_sweep TO native_sso_broker;

-- Before this instant must have been over what goes.
CREATE FUNCTION sweep_limit(p_retention_seconds bigint) RETURNS timestamptz LANGUAGE sql AS
    $$ SELECT now() - make_interval(secs => greatest(p_retention_seconds, 90 * 86400)) - interval '1 day' $$;

-- One batch: how many rows were looked at, and how many of them removed. `after` is where the next batch goes on.
-- No row at all: somebody else is sweeping.
CREATE TYPE sweep_batch AS (looked_at bigint, removed bigint, after text[]);

-- Sessions in the order of their ids, which is that of their creation, up to those that cannot be old enough. Their grants
-- go with them.
CREATE FUNCTION sweep_sessions(p_after text[], p_limit bigint, p_retention_seconds bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_before timestamptz := sweep_limit(p_retention_seconds);
    v_after uuid := coalesce(p_after[1], '00000000-0000-0000-0000-000000000000');
    v_ids uuid[];
    v_removed bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    v_ids := ARRAY(
        SELECT l.session_id FROM session l
        WHERE l.session_id > v_after
            AND l.session_id < (
                lpad(to_hex((extract(epoch FROM v_before) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
        ORDER BY l.session_id LIMIT least(p_limit, 1000));
    WITH dead AS (
        SELECT l.session_id FROM session l
        WHERE l.session_id = ANY (v_ids) AND greatest(l.expires_at, l.ended_at) < v_before
        FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM session l USING dead WHERE l.session_id = dead.session_id RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    RETURN NEXT ROW (
        cardinality(v_ids)::bigint, v_removed,
        CASE WHEN v_ids <> '{}' THEN ARRAY[v_ids[cardinality(v_ids)]::text] END)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_sessions TO native_sso_broker;

-- Revoked grants of sessions that may go on: somebody may have revoked one after the other.
CREATE FUNCTION sweep_grants(p_after text[], p_limit bigint, p_retention_seconds bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_removed bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    WITH dead AS (
        SELECT g.grant_id FROM sso_grant g WHERE g.revoked_at < sweep_limit(p_retention_seconds)
        ORDER BY g.revoked_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM sso_grant g USING dead WHERE g.grant_id = dead.grant_id RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    RETURN NEXT ROW (v_removed, v_removed, NULL)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_grants TO native_sso_broker;

-- Devices that nobody blocked or pinned and that no session knows. One that comes again is new again, and loses nothing.
CREATE FUNCTION sweep_devices(p_after text[], p_limit bigint, p_retention_seconds bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_looked_at bigint;
    v_removed bigint;
    v_after text[];
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    WITH looked AS (
        SELECT d.issuer, d.device_digest FROM device d
        WHERE (d.issuer, d.device_digest) > (coalesce(p_after[1], ''), coalesce(decode(p_after[2], 'hex'), ''))
        ORDER BY d.issuer, d.device_digest LIMIT least(p_limit, 1000)
    ), dead AS (
        SELECT d.issuer, d.device_digest FROM device d JOIN looked USING (issuer, device_digest)
        WHERE d.blocked_at IS NULL AND d.pinned_jkt IS NULL AND d.first_seen_at < sweep_limit(p_retention_seconds)
            AND NOT EXISTS (SELECT FROM session l WHERE l.device_digest = d.device_digest)
        FOR UPDATE OF d SKIP LOCKED
    ), gone AS (
        DELETE FROM device d USING dead
        WHERE d.issuer = dead.issuer AND d.device_digest = dead.device_digest RETURNING 1
    )
    SELECT (SELECT count(*) FROM looked), (SELECT count(*) FROM gone),
        (SELECT ARRAY[issuer, encode(device_digest, 'hex')] FROM looked ORDER BY issuer DESC, device_digest DESC LIMIT 1)
    INTO v_looked_at, v_removed, v_after;
    RETURN NEXT ROW (v_looked_at, v_removed, v_after)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_devices TO native_sso_broker;

-- Proofs that are too old to be accepted again. An hour more is for clocks.
CREATE FUNCTION sweep_proofs(p_after text[], p_limit bigint, p_retention_seconds bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_removed bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    WITH dead AS (
        SELECT p.kind, p.digest FROM used_proof p WHERE p.expires_at < now() - interval '1 hour'
        ORDER BY p.expires_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM used_proof p USING dead WHERE p.kind = dead.kind AND p.digest = dead.digest RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    RETURN NEXT ROW (v_removed, v_removed, NULL)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_proofs TO native_sso_broker;

-- The oldest month of the audit that is wholly older than that many seconds, 30 days at least, and not empty yet: none if
-- there is none. With p_execute it is emptied; without, all such months are named.
CREATE FUNCTION sweep_audit(p_retention_seconds bigint, p_execute boolean) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = native_sso, pg_temp SET timezone = 'UTC' SET lock_timeout = '100ms' AS $$
DECLARE
    v_before timestamptz := now() - make_interval(secs => greatest(p_retention_seconds, 30 * 86400));
    v_name text;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    FOR v_name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'audit_event'::regclass AND c.relname ~ '^audit_event_p\d{4}_\d{2}$'
            AND to_timestamp(right(c.relname, 7) || '_01', 'YYYY_MM_DD') + interval '1 month' <= v_before
            AND pg_relation_size(c.oid) > 0
        ORDER BY c.relname
    LOOP
        IF p_execute THEN
            EXECUTE format('TRUNCATE %I', v_name);
        END IF;
        RETURN NEXT v_name;
        EXIT WHEN p_execute;
    END LOOP;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_audit TO native_sso_broker;

-- What a sweep would remove, for whoever asks before.
CREATE FUNCTION count_sweepable(
    p_retention_seconds bigint, OUT sessions bigint, OUT grants bigint, OUT devices bigint, OUT proofs bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    SELECT
        (SELECT count(*) FROM session WHERE greatest(expires_at, ended_at) < sweep_limit(p_retention_seconds)),
        (SELECT count(*) FROM sso_grant WHERE revoked_at < sweep_limit(p_retention_seconds)),
        (SELECT count(*) FROM device d
         WHERE d.blocked_at IS NULL AND d.pinned_jkt IS NULL AND d.first_seen_at < sweep_limit(p_retention_seconds)
             AND NOT EXISTS (
                 SELECT FROM session l
                 WHERE l.device_digest = d.device_digest
                     AND NOT greatest(l.expires_at, l.ended_at) < sweep_limit(p_retention_seconds))),
        (SELECT count(*) FROM used_proof WHERE expires_at < now() - interval '1 hour')
$$;
