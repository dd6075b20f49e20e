-- Why: a device on which an app has shown a key was never to be swept, and where every app shows one, no device was: one for each
-- login. The keys go with the device when every login of it is over for so long that no id_token of it can be exchanged.
-- Locks: none.  Old code: unaffected.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

-- Devices that nobody blocked and that no session knows. One that comes again is new again; what it loses is the keys of logins
-- that no exchange can use any more.
CREATE OR REPLACE FUNCTION sweep_devices(p_after text[], p_limit bigint, p_retention_seconds bigint) RETURNS SETOF sweep_batch
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
        WHERE d.blocked_at IS NULL AND d.first_seen_at < sweep_limit(p_retention_seconds)
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

-- What a sweep would remove, for whoever asks before.
CREATE OR REPLACE FUNCTION count_sweepable(
    p_retention_seconds bigint, OUT sessions bigint, OUT grants bigint, OUT devices bigint, OUT proofs bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    SELECT
        (SELECT count(*) FROM session WHERE greatest(expires_at, ended_at) < sweep_limit(p_retention_seconds)),
        (SELECT count(*) FROM sso_grant WHERE revoked_at < sweep_limit(p_retention_seconds)),
        (SELECT count(*) FROM device d
         WHERE d.blocked_at IS NULL AND d.first_seen_at < sweep_limit(p_retention_seconds)
             AND NOT EXISTS (
                 SELECT FROM session l
                 WHERE l.device_digest = d.device_digest
                     AND NOT greatest(l.expires_at, l.ended_at) < sweep_limit(p_retention_seconds))),
        (SELECT count(*) FROM used_proof WHERE expires_at < now() - interval '1 hour')
$$;
