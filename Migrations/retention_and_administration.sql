-- Administration, with its audit, and retention: rows are deleted in small batches once their retention period has passed, the audit by
-- whole months. No decision depends on it: a dead session is refused whether its row is there or not.
--
-- The service only starts the sweeps: the periods are in the table `retention`, the cursors in the table `sweep`, and the functions
-- return counts. A stolen password of the service can neither shorten a period nor read a digest or an id.
-- Only dead rows are locked. An old month of the audit is truncated and stays as an empty partition: to detach one locks the audit.
-- One current text, applied again when it changes.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

SELECT make_type('sweep_batch', $$
    looked_at bigint, removed bigint$$);

CREATE OR REPLACE FUNCTION record_administration(
    p_kind text, p_actor text, p_reason text, p_details jsonb, p_request_id uuid DEFAULT NULL)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    INSERT INTO audit_event (occurred_at, kind, request_id, actor, reason, details)
    VALUES (now(), p_kind, p_request_id, p_actor, p_reason, p_details)
$$;

-- The sessions as exchange and refresh see them: what the general end covers has ended.
CREATE OR REPLACE VIEW session_state AS
SELECT l.session_id, l.issuer, l.sid, l.idp_issuer, l.idp_sid, l.subject, l.profile, l.device_digest, l.source_client_id, l.auth_time,
    l.acr, l.amr, l.created_at, l.expires_at, l.last_used_at, coalesce(l.ended_at, c.ended_at) AS ended_at,
    CASE WHEN l.ended_at IS NULL AND c.ended_at IS NOT NULL THEN 'general_end' ELSE l.end_reason END AS end_reason,
    l.issued_at, l.iat_after, l.auth_time_after
FROM session l
CROSS JOIN (SELECT e AS row FROM general_end e WHERE e.only_row) AS e
CROSS JOIN LATERAL (
    SELECT CASE WHEN is_covered(e.row, l.created_at, l.issued_at, l.auth_time) THEN (e.row).began_until END AS ended_at) AS c;
COMMENT ON VIEW session_state IS 'The sessions, where those that the general end covers have ended.';

-- Whether an operator's name means this session: the SHA-256 of a sid of its issuer, or of the IdP's logout tokens, or its session_id.
-- Inlined where it is used.
CREATE OR REPLACE FUNCTION is_named(s session_state, p_issuer text, p_sid bytea, p_session_id uuid) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT s.issuer = p_issuer AND s.sid = p_sid OR s.idp_issuer = p_issuer AND s.idp_sid = p_sid OR s.session_id = p_session_id
$$;

-- Whether an operator's selection holds this session; NULL selects all. Inlined where it is used.
CREATE OR REPLACE FUNCTION is_selected(
    s session_state, p_issuer text, p_sid bytea, p_session_id uuid, p_idp_issuer text, p_subject text, p_device bytea, p_client text,
    p_began_until timestamptz)
RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT (p_sid IS NULL OR native_sso.is_named(s, p_issuer, p_sid, p_session_id))
        AND (p_idp_issuer IS NULL OR s.idp_issuer = p_idp_issuer) AND (p_subject IS NULL OR s.subject = p_subject)
        AND (p_device IS NULL OR s.device_digest = p_device) AND (p_client IS NULL OR s.source_client_id = p_client)
        AND (p_began_until IS NULL OR s.created_at <= p_began_until)
$$;

-- An operator's end. The user must log in again, with a later auth_time; or, where the same login may return, bring an id_token with a
-- later iat. Sessions that have ended already are not ended again, but the limits of their names are tightened as well.
CREATE OR REPLACE FUNCTION end_sessions(
    p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb, p_request_id uuid DEFAULT NULL,
    p_only_free boolean DEFAULT false, p_same_login_may_return boolean DEFAULT false)
RETURNS SETOF uuid LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_now timestamptz := date_trunc('second', now());
    v_ids uuid[];
BEGIN
    -- In one order for all, so that two of these cannot block each other.
    IF p_only_free THEN
        v_ids := ARRAY(
            SELECT l.session_id FROM session l WHERE l.session_id = ANY (p_session_ids)
            ORDER BY l.session_id FOR NO KEY UPDATE SKIP LOCKED);
    ELSE
        v_ids := ARRAY(
            SELECT l.session_id FROM session l WHERE l.session_id = ANY (p_session_ids)
            ORDER BY l.session_id FOR NO KEY UPDATE);
    END IF;
    UPDATE session l
    SET iat_after = CASE WHEN p_same_login_may_return THEN greatest(l.iat_after, v_now) ELSE l.iat_after END,
        auth_time_after = CASE WHEN p_same_login_may_return THEN l.auth_time_after ELSE greatest(l.auth_time_after, v_now) END
    WHERE l.session_id = ANY (v_ids);
    RETURN QUERY
    WITH ended AS (
        UPDATE session l SET ended_at = v_now, end_reason = p_reason
        WHERE l.session_id = ANY (v_ids) AND l.ended_at IS NULL
        RETURNING l.session_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason, actor, details)
        SELECT now(), 'session_ended', p_request_id, e.session_id, p_reason, p_actor, p_details FROM ended e
    )
    SELECT e.session_id FROM ended e;
END
$$;

-- Records refusals, codes whose tokens no client got, and ends that were asked for again. It passes over other kinds, and over events beyond the first 1,000 of a
-- call: the statement that changes state records the change itself. An id of zeros means none. An outage may delay events; the
-- instant of an event is moved to at most a day ago, so that a stolen service password cannot rewrite older times.
CREATE OR REPLACE FUNCTION record_audit(
    p_occurred_at timestamptz[], p_kinds text[], p_request_ids uuid[], p_client_ids text[], p_reasons text[],
    p_session_ids uuid[] DEFAULT NULL, p_grant_ids uuid[] DEFAULT NULL, p_source_clients text[] DEFAULT NULL,
    p_trace_ids uuid[] DEFAULT NULL)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    INSERT INTO audit_event (occurred_at, kind, request_id, client_id, reason, session_id, grant_id, details, trace_id)
    SELECT greatest(least(occurred_at, now()), now() - interval '1 day'), kind, request_id, nullif(client_id, ''), reason,
        nullif(session_id, '00000000-0000-0000-0000-000000000000'),
        nullif(grant_id, '00000000-0000-0000-0000-000000000000'),
        CASE WHEN source_client <> '' THEN jsonb_build_object('source_client', source_client) END,
        nullif(trace_id, '00000000-0000-0000-0000-000000000000')
    FROM unnest(
            p_occurred_at, p_kinds, p_request_ids, p_client_ids, p_reasons, p_session_ids, p_grant_ids, p_source_clients,
            p_trace_ids)
        AS event (occurred_at, kind, request_id, client_id, reason, session_id, grant_id, source_client, trace_id)
    WHERE kind LIKE '%\_refused' OR kind = 'code_orphaned'
    LIMIT 1000
$$;
GRANT EXECUTE ON FUNCTION record_audit TO native_sso_broker;

-- $1 issuer; $2 to $8 thumbprint, kid, algorithm, public JWK, first and last sighting, and tag of each entry of the set that
-- was just fetched. Rows are replaced as they were tagged, but for those of a revoked key, which stay as they are.
-- At most 256 unrevoked rows of an issuer are kept, those seen last, and none that was not seen for 430 days: no session
-- lives longer than 400.
CREATE OR REPLACE FUNCTION record_idp_keys(
    p_issuer text, p_thumbprints text[], p_kids text[], p_algorithms text[], p_jwks text[],
    p_first_seen_at timestamptz[], p_last_seen_at timestamptz[], p_tags text[])
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    INSERT INTO idp_key (issuer, thumbprint, kid, algorithm, public_jwk, first_seen_at, last_seen_at, tag)
    SELECT p_issuer, key.thumbprint, key.kid, key.algorithm, key.jwk::jsonb, key.first_seen_at, key.last_seen_at, key.tag
    FROM unnest(p_thumbprints, p_kids, p_algorithms, p_jwks, p_first_seen_at, p_last_seen_at, p_tags)
        AS key (thumbprint, kid, algorithm, jwk, first_seen_at, last_seen_at, tag)
    ON CONFLICT (issuer, thumbprint, kid, algorithm) DO UPDATE SET
        public_jwk = excluded.public_jwk, first_seen_at = excluded.first_seen_at,
        last_seen_at = excluded.last_seen_at, tag = excluded.tag
    WHERE idp_key.revoked_at IS NULL;

    WITH unrevoked AS (
        SELECT ctid, last_seen_at, row_number() OVER (ORDER BY last_seen_at DESC, thumbprint, kid, algorithm) AS place
        FROM idp_key WHERE issuer = p_issuer AND revoked_at IS NULL)
    DELETE FROM idp_key
    WHERE ctid IN (SELECT ctid FROM unrevoked WHERE place > 256 OR last_seen_at < now() - interval '430 days')
        AND revoked_at IS NULL
$$;
GRANT EXECUTE ON FUNCTION record_idp_keys TO native_sso_broker;

-- How users of each IdP that has had sessions are named. Sessions are looked for too: the note of use may be an hour late.
CREATE OR REPLACE FUNCTION subject_prefixes_in_use() RETURNS TABLE (issuer text, prefix text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    SELECT p.issuer, p.prefix FROM subject_prefix p
    WHERE p.used_at IS NOT NULL OR EXISTS (SELECT FROM session l WHERE l.idp_issuer = p.issuer)
$$;
GRANT EXECUTE ON FUNCTION subject_prefixes_in_use TO native_sso_broker;

CREATE OR REPLACE FUNCTION note_used_prefixes() RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    UPDATE subject_prefix p SET used_at = now()
    WHERE p.used_at IS NULL AND EXISTS (SELECT FROM session l WHERE l.idp_issuer = p.issuer)
$$;

-- $1 and $2: issuer and prefix of each configured IdP. A prefix in use stays, so a stolen password of the service changes no name.
CREATE OR REPLACE FUNCTION record_subject_prefixes(p_issuers text[], p_prefixes text[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
    SELECT note_used_prefixes();
    INSERT INTO subject_prefix AS p (issuer, prefix)
    SELECT given.issuer, given.prefix FROM unnest(p_issuers, p_prefixes) AS given (issuer, prefix) ORDER BY given.issuer
    ON CONFLICT (issuer) DO UPDATE SET prefix = excluded.prefix
    WHERE p.used_at IS NULL AND p.prefix <> excluded.prefix
$$;
GRANT EXECUTE ON FUNCTION record_subject_prefixes TO native_sso_broker;

-- Makes the partitions of this month and the next three. A month whose events already lie in the default partition
-- keeps them there.
-- Makes a table first and attaches it then: CREATE TABLE ... PARTITION OF would lock the whole audit against every exchange.
-- ATTACH locks the default partition, which gets no rows while the month has a partition of its own.
CREATE OR REPLACE FUNCTION prepare_audit_partitions() RETURNS void
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

-- Whether no other sweep is running; locks the others out until the end of the transaction. The number 7017280452245743465 is
-- arbitrary and belongs to this schema.
CREATE OR REPLACE FUNCTION try_sweep() RETURNS boolean LANGUAGE sql AS 'SELECT pg_try_advisory_xact_lock(7017280452245743465)';

-- $1 least number of seconds since the last sweep began; 0: now. True: the caller sweeps now. A sweep that does not wait an hour is not
-- recorded, so a stolen service password cannot put off the sweeps of the brokers by calls that sweep nothing.
CREATE OR REPLACE FUNCTION begin_sweep(p_interval_seconds bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
BEGIN
    IF NOT try_sweep() THEN
        RETURN false;
    END IF;
    -- Before the last session of an IdP is swept.
    PERFORM note_used_prefixes();
    DELETE FROM broker_count c WHERE c.counted_at < now() - interval '400 days';
    DELETE FROM service_gap g WHERE g.ended_at < now() - interval '8 days';
    IF p_interval_seconds <= 0 THEN
        RETURN true;
    END IF;
    UPDATE sweep SET begun_at = now() WHERE begun_at <= now() - make_interval(secs => greatest(p_interval_seconds, 3600));
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION begin_sweep TO native_sso_broker;

-- For a broker's new connection: its number, NULL if it has never counted here; when an operator accepted this database, and when the
-- server was started, in microseconds since 1970.
CREATE OR REPLACE FUNCTION broker_number(p_broker uuid, OUT number bigint, OUT accepted_at bigint, OUT started_at bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    SELECT c.number INTO number FROM broker_count c WHERE c.broker_id = p_broker;
    SELECT CASE WHEN isfinite(a.accepted_at) THEN (extract(epoch FROM a.accepted_at) * 1000000)::bigint ELSE 0 END INTO accepted_at
    FROM database_acceptance a WHERE a.only_row;
    started_at := (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;
END
$$;
GRANT EXECUTE ON FUNCTION broker_number TO native_sso_broker;

-- Counts, and returns the new number. NULL: the database lacks the number that the broker knows, and nothing is written.
-- p_serves: whether the broker can answer requests. If for more than 6 s no broker counted that could, that was a gap of service.
-- Two brokers do not wait for each other: the count of one is enough.
CREATE OR REPLACE FUNCTION count_broker(p_broker uuid, p_known bigint, p_serves boolean) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_number bigint;
    v_last timestamptz;
    v_now timestamptz;
BEGIN
    UPDATE broker_count c SET number = c.number + 1, counted_at = now() WHERE c.broker_id = p_broker AND c.number >= p_known
    RETURNING c.number INTO v_number;
    IF v_number IS NULL AND p_known = 0 THEN
        INSERT INTO broker_count AS c VALUES (p_broker, 1, now())
        ON CONFLICT (broker_id) DO UPDATE SET number = c.number + 1, counted_at = now()
        RETURNING c.number INTO v_number;
    END IF;
    IF v_number IS NOT NULL AND p_serves THEN
        SELECT c.counted_at INTO v_last FROM service_count c WHERE c.only_row FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            -- Under the lock, so that no later count is followed by an earlier one.
            v_now := clock_timestamp();
            IF isfinite(v_last) AND v_last < v_now - interval '6 seconds' THEN
                INSERT INTO service_gap VALUES (v_last, v_now);
            END IF;
            UPDATE service_count c SET counted_at = v_now WHERE c.only_row;
        END IF;
    END IF;
    RETURN v_number;
END
$$;
GRANT EXECUTE ON FUNCTION count_broker TO native_sso_broker;

-- How many sessions and grants live, estimated from about 128 pages of each table; and when the last sweep began, in seconds since
-- 1970, or 0.
CREATE OR REPLACE FUNCTION registry_size(OUT sessions bigint, OUT grants bigint, OUT swept_at bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
DECLARE
    v_pages CONSTANT float8 := 128;
    v_page CONSTANT float8 := current_setting('block_size');
    v_percent float8;
BEGIN
    v_percent := least(100, 100 * v_pages * v_page / greatest(pg_relation_size('session'), 1));
    SELECT round(count(*) * 100 / v_percent) INTO sessions
    FROM session l TABLESAMPLE SYSTEM (v_percent) CROSS JOIN general_end e
    WHERE l.ended_at IS NULL AND l.expires_at > now() AND NOT is_covered(e, l.created_at, l.issued_at, l.auth_time);
    v_percent := least(100, 100 * v_pages * v_page / greatest(pg_relation_size('sso_grant'), 1));
    SELECT round(count(*) * 100 / v_percent) INTO grants
    FROM sso_grant g TABLESAMPLE SYSTEM (v_percent) JOIN session_state l USING (session_id)
    WHERE g.revoked_at IS NULL AND g.expires_at > now() AND l.ended_at IS NULL AND l.expires_at > now();
    SELECT CASE WHEN isfinite(s.begun_at) THEN extract(epoch FROM s.begun_at)::bigint ELSE 0 END INTO swept_at FROM sweep s;
END
$$;
GRANT EXECUTE ON FUNCTION registry_size TO native_sso_broker;

-- A sweep deletes rows that ended before this instant. The day allows for clocks that differ.
CREATE OR REPLACE FUNCTION sweep_limit() RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT now() - make_interval(days => r.session_days) - interval '1 day' FROM native_sso.retention r WHERE r.only_row $$;

-- The rules of retention. A dry run counts these rows, and a sweep deletes them.
CREATE OR REPLACE VIEW dead_session AS
SELECT l.session_id FROM session l WHERE greatest(l.expires_at, l.ended_at) < (SELECT sweep_limit());

-- A grant whose token was reused stays as long as its session: only a later login gets a new grant.
CREATE OR REPLACE VIEW dead_grant AS
SELECT g.grant_id, g.revoked_at FROM sso_grant g
WHERE g.revoked_at < (SELECT sweep_limit()) AND g.revoke_reason <> 'refresh_token_reused';

-- Devices that are not blocked. A session keeps its own device, and each device on which one of its grants has a bound key: a login may
-- have a second device value. A deleted device that appears again is new.
CREATE OR REPLACE VIEW dead_device AS
SELECT d.issuer, d.device_digest FROM device d
WHERE d.blocked_at IS NULL AND d.first_seen_at < (SELECT sweep_limit())
    AND NOT EXISTS (
        SELECT FROM session l
        WHERE l.device_digest = d.device_digest AND NOT greatest(l.expires_at, l.ended_at) < (SELECT sweep_limit()))
    AND NOT EXISTS (
        SELECT FROM sso_grant g JOIN session l USING (session_id)
        WHERE g.device_digest = d.device_digest AND g.jkt IS NOT NULL
            AND NOT greatest(l.expires_at, l.ended_at) < (SELECT sweep_limit()));

CREATE OR REPLACE VIEW dead_proof AS
SELECT p.kind, p.digest, p.expires_at FROM used_proof p WHERE p.expires_at < now() - interval '1 hour';

CREATE OR REPLACE VIEW dead_code AS
SELECT r.code, r.expires_at FROM relayed_code r WHERE r.expires_at < now();

CREATE OR REPLACE VIEW dead_web_handoff AS
SELECT h.code, h.expires_at FROM web_handoff h WHERE h.expires_at < now() - interval '1 hour';

-- The marks of logouts that are older than any login that a token can still bring. A disabled account stays disabled.
CREATE OR REPLACE VIEW dead_logout AS
SELECT o.idp_issuer, o.subject, o.recorded_at FROM subject_logout o
WHERE o.recorded_at < (SELECT sweep_limit()) AND o.disabled_at IS NULL;

-- Months of the audit that are not empty yet.
CREATE OR REPLACE VIEW dead_audit_month AS
SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'audit_event'::regclass AND pg_relation_size(c.oid) > 0
    AND to_date(substring(c.relname FROM '^audit_event_p(\d{4}_\d{2})$'), 'YYYY_MM') + interval '1 month'
        <= (SELECT now() AT TIME ZONE 'UTC' - make_interval(days => r.audit_days) FROM retention r WHERE r.only_row);

-- Each function below does one batch of at most $1 rows, and never more than 1,000. No row: another sweep is running. `WHERE only_row`
-- lets the plan use an index: a disabled scan has such a cost that the server would compile the plan (jit) in each batch.
-- Sessions go in the order of their ids, which is that of their creation, up to those that cannot be old enough. Their grants go with
-- them. Then come the ids whose time is more than a day in the future: a broker with a wrong clock made them, or a thief. After the last
-- one the next batch begins anew.
CREATE OR REPLACE FUNCTION sweep_sessions(p_limit bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_limit bigint := least(p_limit, 1000);
    v_before timestamptz := sweep_limit();
    v_ids uuid[];
    v_looked_at bigint;
    v_removed bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    v_ids := ARRAY(
        SELECT l.session_id FROM session l
        WHERE l.session_id > (SELECT s.after_session FROM sweep s WHERE s.only_row)
            AND l.session_id < (
                lpad(to_hex((extract(epoch FROM v_before) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
        ORDER BY l.session_id LIMIT v_limit);
    IF cardinality(v_ids) < v_limit THEN
        v_ids := v_ids || ARRAY(
            SELECT l.session_id FROM session l
            WHERE l.session_id > (SELECT s.after_session FROM sweep s WHERE s.only_row)
                AND l.session_id >= (
                    lpad(to_hex((extract(epoch FROM now() + interval '1 day') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
            ORDER BY l.session_id LIMIT v_limit - cardinality(v_ids));
    END IF;
    v_looked_at := cardinality(v_ids);
    WITH dead AS (
        SELECT l.session_id FROM dead_session l WHERE l.session_id = ANY (v_ids) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM session l USING dead WHERE l.session_id = dead.session_id RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    UPDATE sweep SET after_session = CASE WHEN v_looked_at < v_limit THEN '00000000-0000-0000-0000-000000000000'
        ELSE v_ids[v_looked_at] END
    WHERE only_row;
    RETURN NEXT ROW (v_looked_at, v_removed)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_sessions TO native_sso_broker;

CREATE OR REPLACE FUNCTION sweep_grants(p_limit bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_removed bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    WITH dead AS (
        SELECT g.grant_id FROM dead_grant g ORDER BY g.revoked_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM sso_grant g USING dead WHERE g.grant_id = dead.grant_id RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    RETURN NEXT ROW (v_removed, v_removed)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_grants TO native_sso_broker;

-- Devices in the order of their key. After the last one the next batch begins anew.
CREATE OR REPLACE FUNCTION sweep_devices(p_limit bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_limit bigint := least(p_limit, 1000);
    v_looked_at bigint;
    v_removed bigint;
    v_issuer text;
    v_device bytea;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    WITH looked AS (
        SELECT d.issuer, d.device_digest FROM device d
        WHERE (d.issuer, d.device_digest) > (SELECT s.after_issuer, s.after_device FROM sweep s WHERE s.only_row)
        ORDER BY d.issuer, d.device_digest LIMIT v_limit
    ), dead AS (
        SELECT d.issuer, d.device_digest FROM dead_device d JOIN looked USING (issuer, device_digest)
        FOR UPDATE OF d SKIP LOCKED
    ), gone AS (
        DELETE FROM device d USING dead
        WHERE d.issuer = dead.issuer AND d.device_digest = dead.device_digest RETURNING 1
    )
    SELECT count(*), (SELECT count(*) FROM gone), (array_agg(l.issuer ORDER BY l.issuer DESC, l.device_digest DESC))[1],
        (array_agg(l.device_digest ORDER BY l.issuer DESC, l.device_digest DESC))[1]
    INTO v_looked_at, v_removed, v_issuer, v_device FROM looked l;
    UPDATE sweep SET after_issuer = CASE WHEN v_looked_at < v_limit THEN '' ELSE v_issuer END,
        after_device = CASE WHEN v_looked_at < v_limit THEN '' ELSE v_device END
    WHERE only_row;
    RETURN NEXT ROW (v_looked_at, v_removed)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_devices TO native_sso_broker;

-- Used proofs, relayed codes and codes of hand-offs. A kept answer is erased; the row of a relayed code goes once no IdP knows the code
-- any more.
CREATE OR REPLACE FUNCTION sweep_proofs(p_limit bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_removed bigint;
    v_codes bigint;
    v_handoffs bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    PERFORM erase_kept_answers(least(p_limit, 1000));
    WITH dead AS (
        SELECT p.kind, p.digest FROM dead_proof p ORDER BY p.expires_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM used_proof p USING dead WHERE p.kind = dead.kind AND p.digest = dead.digest RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    WITH dead AS (
        SELECT r.code FROM dead_code r ORDER BY r.expires_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM relayed_code r USING dead WHERE r.code = dead.code RETURNING 1
    )
    SELECT count(*) INTO v_codes FROM gone;
    WITH dead AS (
        SELECT h.code FROM dead_web_handoff h ORDER BY h.expires_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM web_handoff h USING dead WHERE h.code = dead.code RETURNING 1
    )
    SELECT count(*) INTO v_handoffs FROM gone;
    RETURN NEXT ROW (greatest(v_removed, v_codes, v_handoffs), v_removed + v_codes + v_handoffs)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_proofs TO native_sso_broker;

CREATE OR REPLACE FUNCTION sweep_logouts(p_limit bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
DECLARE
    v_removed bigint;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    WITH dead AS (
        SELECT o.idp_issuer, o.subject FROM dead_logout o
        ORDER BY o.recorded_at LIMIT least(p_limit, 1000) FOR UPDATE SKIP LOCKED
    ), gone AS (
        DELETE FROM subject_logout o USING dead WHERE o.idp_issuer = dead.idp_issuer AND o.subject = dead.subject RETURNING 1
    )
    SELECT count(*) INTO v_removed FROM gone;
    RETURN NEXT ROW (v_removed, v_removed)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_logouts TO native_sso_broker;

CREATE OR REPLACE FUNCTION sweep_audit(p_limit bigint) RETURNS SETOF sweep_batch
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    v_name text;
    v_removed bigint := 0;
BEGIN
    IF NOT try_sweep() THEN
        RETURN;
    END IF;
    FOR v_name IN SELECT m.relname FROM dead_audit_month m ORDER BY m.relname LIMIT least(p_limit, 1000) LOOP
        EXECUTE format('TRUNCATE %I', v_name);
        v_removed := v_removed + 1;
    END LOOP;
    RETURN NEXT ROW (v_removed, v_removed)::sweep_batch;
END
$$;
GRANT EXECUTE ON FUNCTION sweep_audit TO native_sso_broker;
