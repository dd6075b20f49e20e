CREATE SCHEMA native_sso;

COMMENT ON SCHEMA native_sso IS 'Native SSO token-exchange broker: registry, sessions, grants, keys, audit.';

CREATE TYPE native_sso.code_claim AS (
	standing text,
	answer bytea
);

COMMENT ON TYPE native_sso.code_claim IS '
    standing text, answer bytea';

CREATE DOMAIN native_sso.copied_claims AS text COLLATE pg_catalog."C"
	CONSTRAINT copied_claims_check CHECK ((octet_length(VALUE) <= 2048));

COMMENT ON DOMAIN native_sso.copied_claims IS 'Claims of an id_token, as one JSON object.';

CREATE DOMAIN native_sso.digest AS bytea
	CONSTRAINT digest_check CHECK ((octet_length(VALUE) = 32));

COMMENT ON DOMAIN native_sso.digest IS '32 octets.';

CREATE TYPE native_sso.enrolment AS (
	seen_at timestamp with time zone,
	client_enabled boolean,
	member_group text,
	member_role text,
	device_blocked boolean,
	login_ended boolean,
	token_used boolean,
	session_id uuid,
	expires_at timestamp with time zone,
	pinned_jkt text,
	proof_used boolean,
	assertion_used boolean,
	account_disabled boolean
);

COMMENT ON TYPE native_sso.enrolment IS '
    seen_at timestamptz, client_enabled boolean, member_group text, member_role text, device_blocked boolean,
    login_ended boolean, token_used boolean, session_id uuid, expires_at timestamptz, pinned_jkt text, proof_used boolean,
    assertion_used boolean, account_disabled boolean';

CREATE TYPE native_sso.exchange_answer AS (
	place bigint,
	seen_at timestamp with time zone,
	assertion_used boolean,
	proof_used boolean,
	client_enabled boolean,
	source_group text,
	source_role text,
	target_group text,
	target_role text,
	scope_ceiling text[],
	other_audience_in_group boolean,
	session_id uuid,
	subject text,
	ended_at timestamp with time zone,
	expires_at timestamp with time zone,
	last_used_at timestamp with time zone,
	has_auth_time boolean,
	iat_after timestamp with time zone,
	auth_time_after timestamp with time zone,
	device_blocked boolean,
	pinned_jkt text,
	needs_later_login boolean,
	account_disabled boolean,
	token_covered boolean,
	grant_id uuid,
	generation integer,
	grant_expires_at timestamp with time zone
);

COMMENT ON TYPE native_sso.exchange_answer IS '
    place bigint, seen_at timestamptz, assertion_used boolean, proof_used boolean, client_enabled boolean,
    source_group text, source_role text, target_group text, target_role text, scope_ceiling text[],
    other_audience_in_group boolean, session_id uuid, subject text, ended_at timestamptz, expires_at timestamptz,
    last_used_at timestamptz, has_auth_time boolean, iat_after timestamptz, auth_time_after timestamptz,
    device_blocked boolean, pinned_jkt text, needs_later_login boolean, account_disabled boolean, token_covered boolean,
    grant_id uuid, generation integer, grant_expires_at timestamptz';

CREATE TYPE native_sso.exchange_call AS (
	request_id uuid,
	issuer text COLLATE pg_catalog."C",
	sid bytea,
	subject text COLLATE pg_catalog."C",
	source_client text COLLATE pg_catalog."C",
	other_audience text[],
	auth_time timestamp with time zone,
	acr text,
	amr text[],
	issued_at timestamp with time zone,
	client text COLLATE pg_catalog."C",
	allows_self_exchange boolean,
	device bytea,
	profile text,
	scope text[],
	audiences text[],
	jkt text COLLATE pg_catalog."C",
	heeds_pin boolean,
	permitted boolean,
	idle_seconds bigint,
	grant_seconds bigint,
	first_sight_seconds bigint,
	grant_id uuid,
	session_id uuid,
	claims text COLLATE pg_catalog."C",
	trace_id uuid
);

COMMENT ON TYPE native_sso.exchange_call IS '
    request_id uuid, issuer text COLLATE "C", sid bytea, subject text COLLATE "C", source_client text COLLATE "C",
    other_audience text[], auth_time timestamptz, acr text, amr text[], issued_at timestamptz, client text COLLATE "C",
    allows_self_exchange boolean, device bytea, profile text, scope text[], audiences text[], jkt text COLLATE "C",
    heeds_pin boolean, permitted boolean, idle_seconds bigint, grant_seconds bigint, first_sight_seconds bigint,
    grant_id uuid, session_id uuid, claims text COLLATE "C", trace_id uuid';

CREATE DOMAIN native_sso.identifier AS text COLLATE pg_catalog."C"
	CONSTRAINT identifier_check CHECK ((VALUE ~ '^[\x20-\x7e]{1,255}$'::text));

COMMENT ON DOMAIN native_sso.identifier IS 'A name in the protocol: printable ASCII, compared octet by octet.';

CREATE DOMAIN native_sso.issued_identifier AS text COLLATE pg_catalog."C"
	CONSTRAINT issued_identifier_check CHECK (((octet_length(VALUE) >= 1) AND (octet_length(VALUE) <= 255)));

COMMENT ON DOMAIN native_sso.issued_identifier IS 'A sub as its issuer wrote it, compared octet by octet.';

CREATE DOMAIN native_sso.issuer_identifier AS text COLLATE pg_catalog."C"
	CONSTRAINT issuer_identifier_check CHECK (((octet_length(VALUE) >= 1) AND (octet_length(VALUE) <= 512)));

COMMENT ON DOMAIN native_sso.issuer_identifier IS 'An iss, compared octet by octet.';

CREATE DOMAIN native_sso.jwk_thumbprint AS text COLLATE pg_catalog."C"
	CONSTRAINT jwk_thumbprint_check CHECK ((octet_length(VALUE) = 43));

COMMENT ON DOMAIN native_sso.jwk_thumbprint IS 'RFC 7638 with SHA-256, in base64url.';

CREATE DOMAIN native_sso.keys_by_client AS jsonb
	CONSTRAINT keys_by_client_check CHECK ((jsonb_typeof(VALUE) = 'object'::text));

COMMENT ON DOMAIN native_sso.keys_by_client IS 'An object: client_id to JWK thumbprint.';

CREATE TYPE native_sso.logout_batch AS (
	ended bigint,
	after uuid
);

COMMENT ON TYPE native_sso.logout_batch IS '
    ended bigint, after uuid';

CREATE DOMAIN native_sso.profile_name AS text COLLATE pg_catalog."C"
	CONSTRAINT profile_name_check CHECK ((VALUE = ANY (ARRAY['device-id'::text, 'device-secret-x-oath'::text, 'device-secret'::text])));

COMMENT ON DOMAIN native_sso.profile_name IS 'The profile of Native SSO.';

CREATE TYPE native_sso.refresh_answer AS (
	place bigint,
	seen_at timestamp with time zone,
	assertion_used boolean,
	proof_used boolean,
	effect text,
	client text,
	generation integer,
	exchanged_generation integer,
	keyless_before integer,
	was_spent boolean,
	rotated_at timestamp with time zone,
	revoked_at timestamp with time zone,
	came_late boolean,
	grant_expires_at timestamp with time zone,
	jkt text,
	scope text[],
	audiences text[],
	auth_time timestamp with time zone,
	acr text,
	amr text[],
	claims text,
	issuer text,
	session_id uuid,
	subject text,
	ended_at timestamp with time zone,
	expires_at timestamp with time zone,
	last_used_at timestamp with time zone,
	client_enabled boolean,
	shares_login boolean,
	scope_ceiling text[],
	device_blocked boolean
);

COMMENT ON TYPE native_sso.refresh_answer IS '
    place bigint, seen_at timestamptz, assertion_used boolean, proof_used boolean, effect text, client text, generation integer,
    exchanged_generation integer, keyless_before integer, was_spent boolean, rotated_at timestamptz, revoked_at timestamptz,
    came_late boolean, grant_expires_at timestamptz, jkt text, scope text[], audiences text[], auth_time timestamptz, acr text,
    amr text[], claims text, issuer text, session_id uuid, subject text, ended_at timestamptz, expires_at timestamptz,
    last_used_at timestamptz, client_enabled boolean, shares_login boolean, scope_ceiling text[], device_blocked boolean';

CREATE TYPE native_sso.refresh_call AS (
	request_id uuid,
	grant_id uuid,
	generation integer,
	client text COLLATE pg_catalog."C",
	scope text[],
	jkt text COLLATE pg_catalog."C",
	allowed_scope text[],
	may_change_key boolean,
	grace_seconds bigint,
	bound_grace_seconds bigint,
	idle_seconds bigint,
	resource text COLLATE pg_catalog."C"
);

COMMENT ON TYPE native_sso.refresh_call IS '
    request_id uuid, grant_id uuid, generation integer, client text COLLATE "C", scope text[], jkt text COLLATE "C",
    allowed_scope text[], may_change_key boolean, grace_seconds bigint, bound_grace_seconds bigint, idle_seconds bigint,
    resource text COLLATE "C"';

CREATE TYPE native_sso.refresh_misuse AS (
	place bigint,
	grant_id uuid,
	session_id uuid,
	version xid,
	verdict text,
	request_id uuid
);

COMMENT ON TYPE native_sso.refresh_misuse IS '
    place bigint, grant_id uuid, session_id uuid, version xid, verdict text, request_id uuid';

CREATE TYPE native_sso.registration AS (
	outcome text,
	session_id uuid
);

COMMENT ON TYPE native_sso.registration IS '
    outcome text, session_id uuid';

CREATE DOMAIN native_sso.scope_token AS text COLLATE pg_catalog."C"
	CONSTRAINT scope_token_check CHECK ((VALUE ~ '^[\x21\x23-\x5b\x5d-\x7e]{1,255}$'::text));

COMMENT ON DOMAIN native_sso.scope_token IS 'RFC 6749 section 3.3.';

CREATE TYPE native_sso.shown AS (
	place bigint,
	assertion bytea,
	assertion_expires_at timestamp with time zone,
	proof bytea,
	proof_seconds bigint
);

COMMENT ON TYPE native_sso.shown IS '
    place bigint, assertion bytea, assertion_expires_at timestamptz, proof bytea, proof_seconds bigint';

CREATE TYPE native_sso.supported_session AS (
	session_id uuid,
	idp_issuer text,
	subject text,
	clients text[],
	created_at timestamp with time zone,
	last_used_at timestamp with time zone,
	expires_at timestamp with time zone,
	ended_at timestamp with time zone,
	end_reason text
);

COMMENT ON TYPE native_sso.supported_session IS '
    session_id uuid, idp_issuer text, subject text, clients text[], created_at timestamptz, last_used_at timestamptz,
    expires_at timestamptz, ended_at timestamptz, end_reason text';

CREATE TYPE native_sso.sweep_batch AS (
	looked_at bigint,
	removed bigint
);

COMMENT ON TYPE native_sso.sweep_batch IS '
    looked_at bigint, removed bigint';

CREATE DOMAIN native_sso.token_generation AS integer
	CONSTRAINT token_generation_check CHECK ((VALUE > 0));

COMMENT ON DOMAIN native_sso.token_generation IS 'A position in a token family, from 1 on.';

CREATE FUNCTION native_sso.announce_registry_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_notify('native_sso_registry', TG_TABLE_NAME);
    RETURN NULL;
END
$$;

CREATE FUNCTION native_sso.are_in_group(p_issuer text, p_group text, p_clients text[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN NOT EXISTS (
        SELECT FROM unnest(p_clients) AS other (client_id)
        WHERE NOT EXISTS (
            SELECT FROM sharing_group_member m
            WHERE m.issuer = p_issuer AND m.client_id = other.client_id AND m.group_id = p_group));
END
$$;

CREATE FUNCTION native_sso.begin_grants(p_calls native_sso.exchange_call[], p_answers native_sso.exchange_answer[], p_now timestamp with time zone) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_sessions pg_catalog.uuid[];
    v_moved pg_catalog.int8[];
BEGIN
    -- Most new grants are in a live session. Even an INSERT of no rows would open the session table's indexes.
    IF EXISTS (SELECT FROM unnest(p_answers) AS m WHERE m.session_id = (p_calls[m.place]).session_id) THEN
        WITH sessions AS (
            INSERT INTO session AS l (
                session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id, auth_time, acr,
                amr, issued_at, created_at, expires_at, last_used_at)
            SELECT k.session_id, (k.call).issuer, (k.call).sid, (k.call).issuer, (k.call).sid, (k.call).subject, (k.call).profile,
                (k.call).device, (k.call).source_client, (k.call).auth_time, (k.call).acr, (k.call).amr, (k.call).issued_at,
                p_now, k.expires_at, p_now
            FROM (SELECT m.*, p_calls[m.place] AS call FROM unnest(p_answers) AS m) AS k
            WHERE k.grant_id = (k.call).grant_id AND k.session_id = (k.call).session_id
            ON CONFLICT DO NOTHING
            RETURNING l.session_id
        )
        SELECT array_agg(s.session_id) INTO v_sessions FROM sessions s;
    END IF;
    WITH begun AS MATERIALIZED (
        SELECT m.*, p_calls[m.place] AS call FROM unnest(p_answers) AS m
        WHERE m.grant_id = (p_calls[m.place]).grant_id
    ), grants AS (
        INSERT INTO sso_grant AS g (
            grant_id, session_id, client_id, source_client_id, device_digest, generation, rotated_at, scope, audiences, auth_time,
            acr, amr, jkt, created_at, expires_at, replayed_before, claims)
        SELECT k.grant_id, k.session_id, (k.call).client, (k.call).source_client, (k.call).device, 1, p_now, (k.call).scope,
            (k.call).audiences, (k.call).auth_time, (k.call).acr, (k.call).amr, (k.call).jkt, p_now, k.grant_expires_at,
            CASE WHEN k.session_id <> (k.call).session_id
                THEN (SELECT e.last_at FROM reuse(k.session_id, (k.call).client) AS e) END, (k.call).claims
        FROM begun k
        WHERE k.session_id <> (k.call).session_id OR k.session_id = ANY (v_sessions)
        ON CONFLICT DO NOTHING
        RETURNING g.grant_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, trace_id)
        SELECT clock_timestamp(), 'exchange_granted', (k.call).request_id, (k.call).client, k.session_id, k.grant_id,
            (k.call).trace_id
        FROM begun k WHERE k.grant_id = ANY (ARRAY (SELECT g.grant_id FROM grants g))
    )
    SELECT array_agg(k.place) INTO v_moved FROM begun k WHERE k.grant_id <> ALL (ARRAY (SELECT g.grant_id FROM grants g));
    RETURN v_moved;
END
$$;

CREATE FUNCTION native_sso.begin_logout(p_digest bytea, p_issuer text, p_sid bytea, p_subject text, p_issued_at timestamp with time zone, p_session_id uuid, p_without_sid boolean DEFAULT false, p_cause text DEFAULT 'logout_token'::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_now timestamptz := date_trunc('second', now());
    v_issued_at timestamptz := instant_that_counts(p_issued_at);
BEGIN
    IF EXISTS (SELECT FROM used_proof p WHERE p.kind = p_cause AND p.digest = p_digest) THEN
        RETURN NULL;
    END IF;
    IF p_subject IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(logout_lock('sub', p_issuer, p_subject));
        INSERT INTO subject_logout AS o (
            idp_issuer, subject, issued_at, without_sid_issued_at, disabled_at, enabled_at, recorded_at)
        VALUES (
            p_issuer, p_subject, CASE WHEN NOT p_without_sid AND p_cause <> 'account_enabled' THEN v_issued_at END,
            CASE WHEN p_without_sid THEN v_issued_at END, CASE WHEN p_cause = 'account_disabled' THEN v_issued_at END,
            CASE WHEN p_cause = 'account_enabled' THEN v_issued_at END, v_now)
        ON CONFLICT (idp_issuer, subject) DO UPDATE SET
            issued_at = greatest(o.issued_at, excluded.issued_at),
            without_sid_issued_at = greatest(o.without_sid_issued_at, excluded.without_sid_issued_at),
            disabled_at = CASE WHEN excluded.disabled_at >= coalesce(o.enabled_at, '-infinity')
                    THEN greatest(o.disabled_at, excluded.disabled_at)
                WHEN excluded.enabled_at >= o.disabled_at THEN NULL ELSE o.disabled_at END,
            enabled_at = CASE WHEN excluded.enabled_at >= coalesce(o.disabled_at, '-infinity')
                    THEN greatest(o.enabled_at, excluded.enabled_at)
                WHEN excluded.disabled_at >= o.enabled_at THEN NULL ELSE o.enabled_at END,
            recorded_at = excluded.recorded_at;
    END IF;
    IF p_sid IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(logout_lock('sid', p_issuer, encode(p_sid, 'hex')));
        UPDATE session l SET auth_time_after = greatest(l.auth_time_after, v_issued_at)
        WHERE l.idp_issuer = p_issuer AND l.idp_sid = p_sid AND l.ended_at IS NOT NULL
            AND (l.auth_time_after IS NULL OR l.auth_time_after < v_issued_at);
        IF NOT EXISTS (
            SELECT FROM session l WHERE l.idp_issuer = p_issuer AND l.idp_sid = p_sid AND l.ended_at IS NOT NULL)
        THEN
            -- The mark has the name itself, so that a first sight finds it. Where another session has the name, the mark has the name
            -- of its own row, and the last step deletes it.
            INSERT INTO session (
                session_id, issuer, sid, idp_issuer, idp_sid, created_at, expires_at, last_used_at, ended_at, end_reason,
                auth_time_after)
            SELECT p_session_id, p_issuer, CASE WHEN l.is_taken THEN own_sid(p_session_id) ELSE p_sid END, p_issuer, p_sid, v_now,
                v_now, v_now, v_now, 'logout', v_issued_at
            FROM (SELECT EXISTS (SELECT FROM session t WHERE t.issuer = p_issuer AND t.sid = p_sid)) AS l (is_taken);
        END IF;
    END IF;
    -- The locks above waited for logins that were arriving: all of them are older than this instant.
    RETURN date_trunc('second', clock_timestamp()) + interval '1 second';
END
$$;

CREATE FUNCTION native_sso.begin_sweep(p_interval_seconds bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
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

CREATE FUNCTION native_sso.broker_number(p_broker uuid, OUT number bigint, OUT accepted_at bigint, OUT started_at bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    SELECT c.number INTO number FROM broker_count c WHERE c.broker_id = p_broker;
    SELECT CASE WHEN isfinite(a.accepted_at) THEN (extract(epoch FROM a.accepted_at) * 1000000)::bigint ELSE 0 END INTO accepted_at
    FROM database_acceptance a WHERE a.only_row;
    started_at := (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint;
END
$$;

CREATE FUNCTION native_sso.count_broker(p_broker uuid, p_known bigint, p_serves boolean) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION native_sso.count_registry_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE native_sso.registry_serial SET serial = serial + 1, changed_in = pg_current_xact_id()
    WHERE changed_in <> pg_current_xact_id();
    RETURN NULL;
END
$$;

CREATE FUNCTION native_sso.end_logged_out(p_request_id uuid, p_issuer text, p_sid bytea, p_subject text, p_until timestamp with time zone, p_after uuid, p_limit bigint, p_without_sid boolean, p_issued_at timestamp with time zone) RETURNS native_sso.logout_batch
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
DECLARE
    v_after uuid := coalesce(p_after, '00000000-0000-0000-0000-000000000000');
    v_issued_at timestamptz := instant_that_counts(p_issued_at);
    v_is_disabled boolean := p_subject IS NOT NULL AND EXISTS (
        SELECT FROM subject_logout o
        WHERE o.idp_issuer = p_issuer AND o.subject = p_subject AND o.disabled_at IS NOT NULL);
    v_ids uuid[];
    v_ended bigint;
BEGIN
    IF p_sid IS NOT NULL THEN
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            -- The ORDER BY names the columns of the index of names. By session_id, the plan could walk all sessions.
            WHERE l.idp_issuer = p_issuer AND l.idp_sid BETWEEN p_sid AND p_sid AND l.ended_at IS NULL
            ORDER BY l.idp_sid LIMIT 1 FOR NO KEY UPDATE);
        IF v_ids = '{}' THEN
            -- A session that was registered under another name later is also found by this one.
            v_ids := ARRAY(
                SELECT l.session_id FROM session l
                WHERE l.issuer = p_issuer AND l.sid = p_sid AND l.idp_issuer = p_issuer AND l.ended_at IS NULL
                FOR NO KEY UPDATE);
        END IF;
    ELSIF p_limit > 1 THEN
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            WHERE l.idp_issuer = p_issuer AND l.subject = p_subject AND l.session_id > v_after
                AND l.ended_at IS NULL AND l.created_at <= p_until AND l.expires_at > now()
                AND (NOT p_without_sid OR l.idp_sid IS NULL)
                -- A login of unknown age may be from before the logout.
                AND (v_is_disabled OR coalesce(least(l.auth_time, l.issued_at) <= v_issued_at, true))
            ORDER BY l.idp_issuer, l.subject, l.session_id LIMIT least(p_limit, 1000) FOR NO KEY UPDATE SKIP LOCKED);
    ELSE
        v_ids := ARRAY(
            SELECT l.session_id FROM session l
            WHERE l.idp_issuer = p_issuer AND l.subject = p_subject AND l.session_id > v_after
                AND l.ended_at IS NULL AND l.created_at <= p_until AND l.expires_at > now()
                AND (NOT p_without_sid OR l.idp_sid IS NULL)
                -- A login of unknown age may be from before the logout.
                AND (v_is_disabled OR coalesce(least(l.auth_time, l.issued_at) <= v_issued_at, true))
            ORDER BY l.idp_issuer, l.subject, l.session_id LIMIT 1 FOR NO KEY UPDATE);
    END IF;
    WITH ended AS (
        UPDATE session l
        SET ended_at = date_trunc('second', now()), end_reason = 'logout',
            auth_time_after = greatest(l.auth_time_after, v_issued_at)
        WHERE l.session_id = ANY (v_ids) AND l.ended_at IS NULL
        RETURNING l.session_id
    ), audited AS (
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason)
        SELECT clock_timestamp(), 'session_ended', p_request_id, session_id, 'logout' FROM ended
    )
    SELECT count(*) INTO v_ended FROM ended;
    RETURN ROW (v_ended, CASE WHEN v_ids <> '{}' THEN v_ids[cardinality(v_ids)] END)::logout_batch;
END
$$;

CREATE TABLE native_sso.general_end (
    only_row boolean NOT NULL,
    began_until timestamp(0) with time zone NOT NULL,
    login_until timestamp(0) with time zone,
    CONSTRAINT general_end_only_row_check CHECK (only_row)
);

COMMENT ON TABLE native_sso.general_end IS 'The last end of all sessions at once, whether this database knows them or not: by session end --all, or after a restore.';

COMMENT ON COLUMN native_sso.general_end.only_row IS 'There is one row.';

COMMENT ON COLUMN native_sso.general_end.began_until IS 'What began up to then is over: sessions with their grants, codes, kept answers, and id_tokens by their iat. It only grows.';

COMMENT ON COLUMN native_sso.general_end.login_until IS 'The same for the auth_time of an id_token: the user must log in again. Never later than began_until; NULL: no limit.';

CREATE FUNCTION native_sso.end_over(p_call native_sso.exchange_call, p_now timestamp with time zone, p_end native_sso.general_end) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH ended AS (
        UPDATE session l SET
            ended_at = o.died_at, end_reason = o.reason,
            iat_after = CASE WHEN o.needs_login THEN l.iat_after ELSE greatest(l.iat_after, o.died_at) END,
            auth_time_after = CASE WHEN o.needs_login THEN greatest(l.auth_time_after, o.died_at) ELSE l.auth_time_after END
        FROM (
            SELECT h.session_id,
                CASE WHEN p_now >= h.expires_at THEN h.expires_at WHEN p_now >= h.idle_at THEN h.idle_at
                    ELSE p_end.began_until END AS died_at,
                CASE WHEN p_now >= h.expires_at THEN 'expired' WHEN p_now >= h.idle_at THEN 'idle' ELSE 'general_end' END AS reason,
                p_now >= h.expires_at AND h.auth_time IS NOT NULL AS needs_login
            FROM (
                SELECT h.session_id, h.expires_at, h.created_at, h.issued_at, h.auth_time,
                    h.last_used_at + make_interval(secs => p_call.idle_seconds) AS idle_at
                FROM session h
                WHERE h.issuer = p_call.issuer AND h.sid = p_call.sid AND coalesce(h.ended_at, 'infinity') = 'infinity'
                FOR NO KEY UPDATE) AS h
            WHERE p_now >= h.expires_at OR p_now >= h.idle_at
                OR is_covered(p_end, h.created_at, h.issued_at, h.auth_time)) AS o
        WHERE l.session_id = o.session_id
        RETURNING l.session_id, l.end_reason
    )
    INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason)
    SELECT clock_timestamp(), 'session_ended', p_call.request_id, e.session_id, e.end_reason FROM ended e;
END
$$;

CREATE FUNCTION native_sso.end_sessions(p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb, p_request_id uuid DEFAULT NULL::uuid, p_only_free boolean DEFAULT false, p_same_login_may_return boolean DEFAULT false) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
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

CREATE FUNCTION native_sso.end_signed_out(p_request_id uuid, p_client text, p_issuers text[], p_devices text[], p_grant_id uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_session_id uuid;
    v_now timestamptz;
BEGIN
    SELECT l.session_id INTO v_session_id
    FROM (
        SELECT d.issuer, decode(d.hexadecimal, 'hex') AS device FROM unnest(p_issuers, p_devices) AS d (issuer, hexadecimal)) AS k
    JOIN session l ON l.issuer = k.issuer AND l.device_digest = k.device
    JOIN sharing_group_member t ON t.issuer = l.idp_issuer AND t.client_id = p_client
    LEFT JOIN sharing_group_member s ON s.issuer = l.idp_issuer AND s.client_id = l.source_client_id
    WHERE l.ended_at IS NULL AND (l.source_client_id IS NULL OR s.group_id = t.group_id)
        AND (p_grant_id IS NULL OR EXISTS (
            SELECT FROM sso_grant g
            JOIN session h ON h.session_id = g.session_id
            JOIN general_end e ON e.only_row AND NOT is_covered(e, h.created_at, h.issued_at, h.auth_time)
            WHERE g.grant_id = p_grant_id AND g.client_id = p_client AND g.device_digest = k.device
                AND g.revoked_at IS NULL AND g.expires_at > now()))
    ORDER BY l.session_id LIMIT 1 FOR NO KEY UPDATE OF l;
    IF v_session_id IS NULL THEN
        RETURN NULL;
    END IF;
    v_now := date_trunc('second', clock_timestamp());
    UPDATE session l
    SET ended_at = v_now, end_reason = 'app', iat_after = greatest(l.iat_after, v_now),
        auth_time_after = CASE WHEN l.expires_at <= v_now AND l.auth_time IS NOT NULL
            THEN greatest(l.auth_time_after, l.expires_at) ELSE l.auth_time_after END
    WHERE l.session_id = v_session_id;
    INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, reason)
    VALUES (clock_timestamp(), 'session_ended', p_request_id, p_client, v_session_id, 'app');
    RETURN v_session_id;
END
$$;

CREATE FUNCTION native_sso.enrol(p_request_id uuid, p_issuer text, p_idp_sid bytea, p_subject text, p_client text, p_device bytea, p_profile text, p_token bytea, p_token_expires_at timestamp with time zone, p_auth_time timestamp with time zone, p_acr text, p_amr text[], p_session_seconds bigint, p_permitted boolean, p_session_id uuid, p_issued_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_by text DEFAULT 'exchange'::text, p_heeds_pin boolean DEFAULT false, p_jkt native_sso.jwk_thumbprint DEFAULT NULL::text, p_proof bytea DEFAULT NULL::bytea, p_proof_seconds bigint DEFAULT NULL::bigint, p_assertion bytea DEFAULT NULL::bytea, p_assertion_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_trace_id uuid DEFAULT NULL::uuid) RETURNS native_sso.enrolment
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_now timestamptz;
    v_client_enabled boolean;
    v_group text;
    v_role text;
    v_device_blocked boolean;
    v_pinned_jkt text;
    v_login_ended boolean;
    v_account_disabled boolean;
    v_token_used boolean := false;
    v_session_id uuid;
    v_expires_at timestamptz;
    v_proof_used boolean := false;
    v_assertion_used boolean := false;
    v_is_done boolean := false;
    v_end general_end;
BEGIN
    -- The sweep may have deleted the row of a token that expired an hour ago, so its second use would not be seen: no answer. The
    -- broker's checks refuse an old token anyway.
    IF p_permitted AND p_token_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    IF p_assertion IS NOT NULL THEN
        v_assertion_used := NOT use_client_assertion(p_assertion, p_assertion_expires_at);
    END IF;
    IF p_proof IS NOT NULL AND NOT v_assertion_used THEN
        v_proof_used := NOT use_dpop_proof(p_proof, p_proof_seconds);
    END IF;
    IF p_permitted AND NOT v_assertion_used AND NOT v_proof_used THEN
        -- From here on no other call binds a key on this device, and no logout comes between the look and the write.
        IF p_heeds_pin AND p_jkt IS NOT NULL THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
        END IF;
        PERFORM pg_advisory_xact_lock_shared(logout_lock('sub', p_issuer, p_subject));
        IF p_idp_sid IS NOT NULL THEN
            PERFORM pg_advisory_xact_lock_shared(logout_lock('sid', p_issuer, encode(p_idp_sid, 'hex')));
        END IF;
    END IF;
    FOR v_attempt IN 1..3 LOOP
        v_now := date_trunc('second', clock_timestamp());
        SELECT * INTO v_end FROM general_end e WHERE e.only_row;
        SELECT c.enabled INTO v_client_enabled FROM client c WHERE c.client_id = p_client;
        v_client_enabled := coalesce(v_client_enabled, false);
        SELECT m.group_id, m.role INTO v_group, v_role
        FROM sharing_group_member m WHERE m.issuer = p_issuer AND m.client_id = p_client;
        SELECT d.blocked_at IS NOT NULL, CASE WHEN p_heeds_pin THEN d.pinned_keys ->> p_client END
        INTO v_device_blocked, v_pinned_jkt
        FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device;
        v_device_blocked := coalesce(v_device_blocked, false);
        -- A login is not later than its id_token.
        v_login_ended := NOT (
            SELECT satisfies_limits(p_issued_at, p_auth_time, n.iat_after, n.auth_time_after)
            FROM idp_session_limits(p_issuer, p_idp_sid) n
        ) OR is_covered(v_end, v_now, p_issued_at, p_auth_time) OR EXISTS (
            SELECT FROM subject_logout o
            WHERE o.idp_issuer = p_issuer AND o.subject = p_subject AND least(p_auth_time, p_issued_at) <= o.issued_at);
        v_account_disabled := EXISTS (
            SELECT FROM subject_logout o
            WHERE o.idp_issuer = p_issuer AND o.subject = p_subject AND o.disabled_at IS NOT NULL);
        SELECT l.session_id, l.expires_at,
            l.device_digest IS DISTINCT FROM p_device OR l.ended_at IS NOT NULL OR l.expires_at <= v_now
                OR is_covered(v_end, l.created_at, l.issued_at, l.auth_time)
        INTO v_session_id, v_expires_at, v_token_used
        FROM used_proof u LEFT JOIN session l ON l.session_id = u.session_id
        WHERE u.kind = 'enrolment' AND u.digest = p_token;
        v_token_used := coalesce(v_token_used, false);

        IF NOT coalesce(
            p_permitted AND NOT v_assertion_used AND NOT v_proof_used
                AND v_client_enabled AND v_role <> 'target' AND NOT v_device_blocked
                AND (v_pinned_jkt IS NULL OR v_pinned_jkt = p_jkt)
                AND NOT v_account_disabled AND NOT v_login_ended AND NOT v_token_used,
            false)
        THEN
            v_session_id := NULL;
            v_expires_at := NULL;
            v_is_done := true;
            EXIT;
        END IF;

        IF v_session_id IS NULL THEN
            -- Waits here for another call with the same token.
            INSERT INTO used_proof (kind, digest, expires_at, session_id)
            VALUES ('enrolment', p_token, least(p_token_expires_at, v_now + interval '1 hour'), p_session_id)
            ON CONFLICT (kind, digest) DO NOTHING;
            -- The session exists now: look again.
            CONTINUE WHEN NOT FOUND;
            v_session_id := p_session_id;
            v_expires_at := v_now + make_interval(secs => p_session_seconds);
            INSERT INTO session (
                issued_at, session_id, issuer, sid, idp_issuer, idp_sid, subject, profile, device_digest, source_client_id,
                auth_time, acr, amr, created_at, expires_at, last_used_at)
            VALUES (
                p_issued_at,
                p_session_id, p_issuer, own_sid(p_session_id), p_issuer, p_idp_sid, p_subject, p_profile, p_device, p_client,
                p_auth_time, p_acr, p_amr, v_now, v_expires_at, v_now);
            IF NOT FOUND THEN
                -- A rule for new logins ended the session at once: its row exists, as an ended one.
                v_login_ended := true;
                v_session_id := NULL;
                v_expires_at := NULL;
                v_is_done := true;
                EXIT;
            END IF;
            INSERT INTO device (issuer, device_digest, first_seen_at) VALUES (p_issuer, p_device, v_now) ON CONFLICT DO NOTHING;
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, details, trace_id)
            VALUES (
                clock_timestamp(), 'session_enrolled', p_request_id, p_client, p_session_id, jsonb_build_object('by', p_by),
                p_trace_id);
        ELSE
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, details, trace_id)
            SELECT clock_timestamp(), 'enrolment_repeated', p_request_id, p_client, u.session_id, jsonb_build_object('by', p_by),
                p_trace_id
            FROM used_proof u WHERE u.kind = 'enrolment' AND u.digest = p_token;
        END IF;
        IF p_heeds_pin AND p_jkt IS NOT NULL AND v_pinned_jkt IS NULL AND pin_key(p_issuer, p_device, p_client, p_jkt) <> p_jkt
        THEN
            RAISE EXCEPTION 'a key was pinned under the lock of its device' USING ERRCODE = 'serialization_failure';
        END IF;
        v_is_done := true;
        EXIT;
    END LOOP;
    IF NOT v_is_done THEN
        RAISE EXCEPTION 'the id_token of an enrolment comes and goes' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN ROW (
        v_now, v_client_enabled, v_group, v_role, v_device_blocked, v_login_ended, v_token_used, v_session_id,
        v_expires_at, v_pinned_jkt, v_proof_used, v_assertion_used, v_account_disabled)::enrolment;
END
$$;

CREATE FUNCTION native_sso.erase_kept_answers(p_limit bigint) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
    WITH old AS (
        SELECT code FROM relayed_code WHERE answer IS NOT NULL AND valid_until < clock_timestamp()
        ORDER BY valid_until LIMIT p_limit FOR UPDATE SKIP LOCKED
    ), gone AS (
        UPDATE relayed_code r SET state = 'lost', answer = NULL FROM old WHERE r.code = old.code RETURNING 1
    )
    SELECT count(*) FROM gone
$$;

CREATE FUNCTION native_sso.exchange(p_calls native_sso.exchange_call[], p_shown native_sso.shown[] DEFAULT NULL::native_sso.shown[]) RETURNS native_sso.exchange_answer[]
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
DECLARE
    v_now pg_catalog.timestamptz;
    v_end native_sso.general_end;
    v_assertion_used pg_catalog.int8[] := '{}';
    v_proof_used pg_catalog.int8[] := '{}';
    v_answers native_sso.exchange_answer[] := '{}';
    v_answered pg_catalog.int8[] := '{}';
    v_more native_sso.exchange_answer[];
    v_begins boolean;
    v_pins boolean;
    v_over pg_catalog.int4[];
    v_moved pg_catalog.int8[];
    v_due pg_catalog.uuid[];
    v_devices pg_catalog.bytea[];
    v_pin record;
    v_idle_turns integer := 0;
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'exchange runs with search_path = native_sso, pg_temp'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF p_shown IS NOT NULL THEN
        v_assertion_used := used_assertions(p_shown);
        v_proof_used := used_proofs(p_shown, v_assertion_used);
    END IF;
    -- An end that commits after this look covers what begins here, by its iat or its auth_time. What began in the second of the end
    -- is covered, so nothing begins in it.
    SELECT * INTO v_end FROM general_end e WHERE e.only_row;
    LOOP
        v_now := date_trunc('second', clock_timestamp());
        WITH judged AS MATERIALIZED (
            SELECT a.place, a.call, r.in_order, later.is_needed AS needs_later_login,
                -- Whether every check passed, and the judged version of the session is locked.
                CASE WHEN NOT r.in_order OR later.is_needed THEN false
                    WHEN l.is_open AND h.is_held IS NULL THEN false
                    WHEN (a.call).heeds_pin AND (a.call).jkt IS NOT NULL AND d.pinned_jkt IS NULL
                        THEN pin_is_free((a.call).issuer, (a.call).device, (a.call).client, (a.call).jkt)
                    ELSE true END AS is_granted, (a.call).grant_id IS NOT NULL AS is_asked,
                -- A session that is over ends in this turn. In the next turn another may begin under its name.
                r.in_order AND l.died_at IS NOT NULL AND l.is_open AS is_over,
                l.is_open IS NOT TRUE AS is_new,
                l.lacks_device
                    OR l.last_used_at < v_now - make_interval(secs => least(300, (a.call).idle_seconds / 4)) AS is_due,
                g.grant_at, g.version AS grant_version, g.repeats, coalesce(g.grant_id, (a.call).grant_id) AS grant_id,
                CASE WHEN g.grant_at IS NULL THEN 1 WHEN g.repeats THEN g.generation ELSE g.generation + 1 END AS generation,
                c.enabled AS client_enabled, s.group_id AS source_group, s.role AS source_role, t.group_id AS target_group,
                t.role AS target_role, t.scope_ceiling, r.others_in_group, l.session_id, l.subject, l.ended_at, l.expires_at,
                l.last_used_at, l.auth_time, l.iat_after, l.auth_time_after, d.is_blocked, d.pinned_jkt, u.is_disabled, r.is_token_covered
            FROM (SELECT unnest(p_calls) AS call, generate_subscripts(p_calls, 1) AS place) AS a
            -- The look: the same for every refusal, so that each takes the same time. OFFSET 0 makes each a look by a whole key.
            LEFT JOIN LATERAL (SELECT c.enabled FROM client c WHERE c.client_id = (a.call).client OFFSET 0) AS c ON true
            LEFT JOIN LATERAL (
                SELECT m.group_id, m.role FROM sharing_group_member m
                WHERE m.issuer = (a.call).issuer AND m.client_id = (a.call).source_client OFFSET 0) AS s ON true
            LEFT JOIN LATERAL (
                SELECT m.group_id, m.role, m.scope_ceiling::text[] AS scope_ceiling FROM sharing_group_member m
                WHERE m.issuer = (a.call).issuer AND m.client_id = (a.call).client OFFSET 0) AS t ON true
            LEFT JOIN LATERAL (
                SELECT d.blocked_at IS NOT NULL AS is_blocked,
                    CASE WHEN (a.call).heeds_pin THEN d.pinned_keys ->> (a.call).client END AS pinned_jkt
                FROM device d WHERE d.issuer = (a.call).issuer AND d.device_digest = (a.call).device OFFSET 0) AS d ON true
            -- The live session of the name, else the one that ended last.
            LEFT JOIN LATERAL (
                SELECT l.ctid AS at, l.xmin AS version, l.session_id, l.subject, l.ended_at IS NULL AS is_open,
                    coalesce(l.ended_at, CASE WHEN o.died_at IS NULL THEN c.died_at END) AS ended_at, l.expires_at, l.last_used_at,
                    l.auth_time, l.iat_after, l.auth_time_after, l.device_digest IS NULL AS lacks_device,
                    coalesce(l.ended_at, o.died_at, c.died_at) AS died_at
                FROM session l
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN v_now >= l.expires_at THEN l.expires_at
                        WHEN v_now >= l.last_used_at + make_interval(secs => (a.call).idle_seconds)
                            THEN l.last_used_at + make_interval(secs => (a.call).idle_seconds) END AS died_at) AS o
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN is_covered(v_end, l.created_at, l.issued_at, l.auth_time)
                        THEN v_end.began_until END AS died_at) AS c
                WHERE l.issuer = (a.call).issuer AND l.sid = (a.call).sid
                ORDER BY coalesce(l.ended_at, 'infinity') DESC LIMIT 1) AS l ON true
            -- Whether the IdP has disabled the user's account: looked up only where a session may begin, because that end ended
            -- every live session.
            LEFT JOIN LATERAL (
                SELECT o.disabled_at IS NOT NULL AS is_disabled FROM subject_logout o
                WHERE (l.session_id IS NULL OR l.died_at IS NOT NULL)
                    AND o.idp_issuer = (a.call).issuer AND o.subject = (a.call).subject OFFSET 0) AS u ON true
            -- THE RULE, in the order of `refusal` in Decision.swift.
            CROSS JOIN LATERAL (
                SELECT o.others_in_group, o.is_token_covered, coalesce(
                    a.place <> ALL (v_assertion_used) AND a.place <> ALL (v_proof_used) AND (a.call).permitted
                    AND c.enabled AND s.group_id = t.group_id AND s.role <> 'target' AND t.role <> 'source' AND o.others_in_group AND NOT o.is_token_covered
                    AND ((a.call).client <> (a.call).source_client OR (a.call).allows_self_exchange)
                    AND CASE WHEN l.session_id IS NULL
                        THEN (a.call).first_sight_seconds IS NOT NULL AND u.is_disabled IS NOT TRUE
                        ELSE (l.subject IS NULL OR l.subject = (a.call).subject)
                            -- The limits that earlier ends under this name set for an id_token.
                            AND satisfies_limits((a.call).issued_at, (a.call).auth_time, l.iat_after, l.auth_time_after)
                            -- Another session may begin under the name of a dead one.
                            AND (l.died_at IS NULL OR (a.call).first_sight_seconds IS NOT NULL AND u.is_disabled IS NOT TRUE
                                AND (l.ended_at IS NOT NULL
                                OR CASE WHEN v_now >= l.expires_at AND l.auth_time IS NOT NULL THEN (a.call).auth_time
                                    ELSE (a.call).issued_at END > l.died_at)) END
                    AND d.is_blocked IS NOT TRUE AND (d.pinned_jkt IS NULL OR d.pinned_jkt = (a.call).jkt)
                    AND (t.scope_ceiling IS NULL OR (a.call).scope <@ t.scope_ceiling), false) AS in_order
                FROM (SELECT cardinality((a.call).other_audience) = 0
                    OR are_in_group((a.call).issuer, s.group_id, (a.call).other_audience) AS others_in_group,
                    is_covered(v_end, v_now, (a.call).issued_at, (a.call).auth_time) AS is_token_covered) AS o
                OFFSET 0) AS r
            -- From here on an end of the session waits for the commit. A faster end has made another version.
            LEFT JOIN LATERAL (
                SELECT true AS is_held FROM session h
                WHERE h.ctid = l.at AND h.xmin = l.version AND r.in_order AND l.died_at IS NULL
                OFFSET 0 FOR SHARE) AS h ON true
            LEFT JOIN LATERAL (
                SELECT g.ctid AS grant_at, g.xmin AS version, g.grant_id, g.generation, g.replayed_before,
                    -- The same exchange within 10 s gets the same refresh token, unless that was used: the answer may be lost.
                    g.rotated_at > v_now - interval '10 seconds' AND g.generation > g.refreshed_generation
                    AND g.jkt IS NOT DISTINCT FROM (a.call).jkt AND g.source_client_id = (a.call).source_client
                    AND g.device_digest = (a.call).device AND g.scope <@ (a.call).scope AND g.scope @> (a.call).scope AND g.audiences = (a.call).audiences
                    AND g.auth_time IS NOT DISTINCT FROM (a.call).auth_time
                    AND g.acr IS NOT DISTINCT FROM (a.call).acr AND g.amr = (a.call).amr
                    AND g.claims IS NOT DISTINCT FROM (a.call).claims AS repeats
                FROM sso_grant g
                WHERE g.session_id = l.session_id AND g.client_id = (a.call).client AND g.revoked_at IS NULL
                    AND r.in_order AND l.died_at IS NULL
                OFFSET 0) AS g ON true
            -- After reuse of a refresh token the thief may have this id_token, too. Only a later login gets a grant.
            CROSS JOIN LATERAL (
                SELECT r.in_order AND l.session_id IS NOT NULL AND l.died_at IS NULL AND coalesce(
                    CASE WHEN g.grant_at IS NULL THEN (SELECT e.last_at FROM reuse(l.session_id, (a.call).client) AS e)
                        ELSE g.replayed_before END
                    >= coalesce((a.call).auth_time, '-infinity'), false) AS is_needed
                OFFSET 0) AS later
            -- BETWEEN tells the planner to expect few calls, so that it uses the keys.
            WHERE a.place BETWEEN 1 AND 1000 AND a.place <> ALL (v_answered)
        ), advanced AS (
            UPDATE sso_grant g SET
                generation = k.generation, exchanged_generation = k.generation,
                keyless_before = CASE WHEN g.jkt IS NULL THEN k.generation ELSE g.keyless_before END,
                spent = CASE WHEN is_spending(g) THEN spent_by_exchange(g) ELSE g.spent END,
                rotated_at = CASE WHEN k.repeats THEN g.rotated_at ELSE v_now END,
                source_client_id = (k.call).source_client, device_digest = (k.call).device, scope = (k.call).scope,
                audiences = (k.call).audiences, auth_time = (k.call).auth_time, acr = (k.call).acr, amr = (k.call).amr,
                jkt = (k.call).jkt, claims = (k.call).claims,
                expires_at = least(k.expires_at, v_now + make_interval(secs => (k.call).grant_seconds))
            FROM judged k WHERE k.is_granted AND k.is_asked AND g.ctid = k.grant_at AND g.xmin = k.grant_version
            RETURNING k.place, (k.call).request_id, g.client_id, g.session_id, g.grant_id, (k.call).trace_id
        ), audited AS (
            INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, trace_id)
            SELECT clock_timestamp(), 'exchange_granted', k.request_id, k.client_id, k.session_id, k.grant_id, k.trace_id
            FROM advanced k
        )
        SELECT
            array_agg(ROW (
                k.place, v_now, k.place = ANY (v_assertion_used), k.place = ANY (v_proof_used), coalesce(k.client_enabled, false),
                k.source_group, k.source_role, k.target_group, k.target_role, k.scope_ceiling, k.others_in_group,
                -- The values of a session that begins.
                CASE WHEN k.begins THEN (k.call).session_id ELSE k.session_id END,
                CASE WHEN k.begins THEN (k.call).subject ELSE k.subject END,
                CASE WHEN NOT k.begins THEN k.ended_at END, k.session_expires_at,
                CASE WHEN k.begins THEN v_now ELSE k.last_used_at END,
                CASE WHEN k.begins THEN (k.call).auth_time ELSE k.auth_time END IS NOT NULL, k.iat_after, k.auth_time_after,
                coalesce(k.is_blocked, false), k.pinned_jkt, k.needs_later_login, coalesce(k.is_disabled, false), k.is_token_covered,
                CASE WHEN k.may_write THEN k.grant_id END, CASE WHEN k.may_write THEN k.generation WHEN k.is_granted THEN 0 END,
                CASE WHEN k.may_write THEN least(k.session_expires_at, v_now + make_interval(secs => (k.call).grant_seconds)) END
            )::exchange_answer) FILTER (WHERE NOT k.is_over),
            bool_or(k.may_write AND k.grant_at IS NULL),
            bool_or(k.may_write AND (k.call).heeds_pin AND (k.call).jkt IS NOT NULL AND k.pinned_jkt IS NULL),
            array_agg(k.place) FILTER (WHERE k.is_over),
            array_agg(k.session_id) FILTER (WHERE k.may_write AND k.is_due AND NOT k.is_new),
            array_agg((k.call).device) FILTER (WHERE k.may_write AND k.is_due AND NOT k.is_new)
        INTO v_more, v_begins, v_pins, v_over, v_due, v_devices
        FROM (
            SELECT k.*, k.is_granted AND k.is_asked AS may_write, k.is_granted AND k.is_asked AND k.is_new AS begins,
                CASE WHEN k.is_granted AND k.is_asked AND k.is_new THEN v_now + make_interval(secs => (k.call).first_sight_seconds)
                    ELSE k.expires_at END AS session_expires_at
            FROM judged k) AS k
        -- Refused, only judged, written, to be begun, or to be ended. For the other calls a row moved since the look.
        WHERE CASE WHEN k.may_write THEN k.grant_at IS NULL OR k.place = ANY (ARRAY (SELECT u.place FROM advanced u))
            ELSE k.is_granted OR NOT k.in_order OR k.needs_later_login OR k.is_over END;

        IF v_over IS NOT NULL THEN
            PERFORM end_over(p_calls[over.place], v_now, v_end) FROM unnest(v_over) AS over (place);
        END IF;
        IF v_begins THEN
            v_moved := begin_grants(p_calls, v_more, v_now);
            IF v_moved IS NOT NULL THEN
                v_more := ARRAY (SELECT m FROM unnest(v_more) AS m WHERE m.place <> ALL (v_moved));
            END IF;
        END IF;
        IF v_pins THEN
            -- Only after the grant is recorded: a refusal binds no key.
            FOR v_pin IN
                SELECT (a.call).issuer, (a.call).device, (a.call).client, (a.call).jkt
                FROM (SELECT p_calls[m.place] AS call FROM unnest(v_more) AS m
                    WHERE m.grant_id IS NOT NULL AND m.pinned_jkt IS NULL) AS a
                WHERE (a.call).heeds_pin AND (a.call).jkt IS NOT NULL
            LOOP
                IF pin_key(v_pin.issuer, v_pin.device, v_pin.client, v_pin.jkt) <> v_pin.jkt THEN
                    RAISE EXCEPTION 'two calls show different keys for one device' USING ERRCODE = 'serialization_failure';
                END IF;
            END LOOP;
        END IF;
        IF v_due IS NOT NULL THEN
            PERFORM touch_sessions(v_due, v_devices, v_now);
        END IF;
        v_answers := v_answers || v_more;
        EXIT WHEN cardinality(v_answers) = cardinality(p_calls);
        v_idle_turns := CASE WHEN coalesce(cardinality(v_more), 0) = 0 THEN v_idle_turns + 1 ELSE 0 END;
        IF v_idle_turns = 3 THEN
            RAISE EXCEPTION 'the rows of an exchange do not stand still' USING ERRCODE = 'serialization_failure';
        END IF;
        v_answered := ARRAY (SELECT m.place FROM unnest(v_answers) AS m);
    END LOOP;
    RETURN v_answers;
END
$$;

CREATE TABLE native_sso.web_handoff (
    code native_sso.digest NOT NULL,
    challenge native_sso.digest NOT NULL,
    origin text NOT NULL COLLATE pg_catalog."C",
    app_client_id text NOT NULL COLLATE pg_catalog."C",
    app_is_bound boolean NOT NULL,
    client_id text NOT NULL COLLATE pg_catalog."C",
    audience native_sso.issuer_identifier NOT NULL,
    issuer native_sso.issuer_identifier NOT NULL,
    sid native_sso.digest NOT NULL,
    subject native_sso.issued_identifier NOT NULL,
    source_client_id text NOT NULL COLLATE pg_catalog."C",
    other_audience text[] NOT NULL,
    auth_time timestamp(0) with time zone,
    acr text,
    amr text[] NOT NULL,
    issued_at timestamp(0) with time zone NOT NULL,
    token_expires_at timestamp(0) with time zone NOT NULL,
    key_is_current boolean NOT NULL,
    device_digest native_sso.digest NOT NULL,
    profile native_sso.profile_name NOT NULL,
    scope text[] NOT NULL,
    claims native_sso.copied_claims,
    request_id uuid NOT NULL,
    made_at timestamp(0) with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    redeemed_at timestamp with time zone
);

COMMENT ON TABLE native_sso.web_handoff IS 'The codes by which apps hand a login to a web app, each with what the exchange of the web app will be judged by. A row goes by the sweep, an hour after it expired.';

COMMENT ON COLUMN native_sso.web_handoff.code IS 'HMAC of the code under the brokers'' device key.';

COMMENT ON COLUMN native_sso.web_handoff.challenge IS 'SHA-256 of the verifier that the web app keeps for the browser.';

COMMENT ON COLUMN native_sso.web_handoff.origin IS 'The web origin to which the app sends the browser.';

COMMENT ON COLUMN native_sso.web_handoff.app_client_id IS 'The app that asked for the code.';

COMMENT ON COLUMN native_sso.web_handoff.app_is_bound IS 'Whether the app showed a DPoP key.';

COMMENT ON COLUMN native_sso.web_handoff.client_id IS 'The web app, the only client that may redeem the code.';

COMMENT ON COLUMN native_sso.web_handoff.audience IS 'The issuer that the app named: the IdP, or the broker for an enrolled login.';

COMMENT ON COLUMN native_sso.web_handoff.issuer IS 'The IdP of the login.';

COMMENT ON COLUMN native_sso.web_handoff.sid IS 'SHA-256 of the sid in the id_token.';

COMMENT ON COLUMN native_sso.web_handoff.subject IS 'sub of the id_token.';

COMMENT ON COLUMN native_sso.web_handoff.source_client_id IS 'The app that logged in.';

COMMENT ON COLUMN native_sso.web_handoff.other_audience IS 'aud of the id_token without the app that logged in.';

COMMENT ON COLUMN native_sso.web_handoff.auth_time IS 'auth_time of the id_token.';

COMMENT ON COLUMN native_sso.web_handoff.acr IS 'acr of the id_token.';

COMMENT ON COLUMN native_sso.web_handoff.amr IS 'amr of the id_token.';

COMMENT ON COLUMN native_sso.web_handoff.issued_at IS 'iat of the id_token.';

COMMENT ON COLUMN native_sso.web_handoff.token_expires_at IS 'exp of the id_token.';

COMMENT ON COLUMN native_sso.web_handoff.key_is_current IS 'Whether the key of the id_token was in the IdP''s key set.';

COMMENT ON COLUMN native_sso.web_handoff.device_digest IS 'The device of the app.';

COMMENT ON COLUMN native_sso.web_handoff.profile IS 'The profile of the request.';

COMMENT ON COLUMN native_sso.web_handoff.scope IS 'The most that the web app gets.';

COMMENT ON COLUMN native_sso.web_handoff.claims IS 'What the web app''s access tokens copy of the id_token; NULL: nothing.';

COMMENT ON COLUMN native_sso.web_handoff.request_id IS 'X-Request-Id of the answer with the code.';

COMMENT ON COLUMN native_sso.web_handoff.made_at IS 'When the app got it.';

COMMENT ON COLUMN native_sso.web_handoff.expires_at IS 'From then on the code is refused.';

COMMENT ON COLUMN native_sso.web_handoff.redeemed_at IS 'When the web app got tokens for it. Set once; NULL: it has not.';

CREATE FUNCTION native_sso.find_web_handoff(p_code bytea) RETURNS SETOF native_sso.web_handoff
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
    SELECT * FROM web_handoff h WHERE h.code = p_code
$$;

CREATE FUNCTION native_sso.finish_code(p_code bytea, p_binding bytea, p_answer bytea) RETURNS bytea
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION native_sso.finish_logout(p_request_id uuid, p_digest bytea, p_expires_at timestamp with time zone, p_issuer text, p_of_subject boolean, p_ended bigint, p_session_id uuid DEFAULT NULL::uuid, p_cause text DEFAULT 'logout_token'::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF p_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    DELETE FROM session m
    WHERE m.session_id = p_session_id AND m.sid = own_sid(p_session_id) AND m.end_reason = 'logout'
        AND EXISTS (
            SELECT FROM session l
            WHERE l.idp_issuer = m.idp_issuer AND l.idp_sid = m.idp_sid AND l.ended_at IS NOT NULL
                AND l.auth_time_after >= m.auth_time_after AND l.session_id <> m.session_id);
    INSERT INTO used_proof (kind, digest, expires_at)
    VALUES (
        p_cause, p_digest, least(p_expires_at, now() + CASE WHEN p_cause IN ('logout_token', 'global_token_revocation')
            THEN interval '1 hour' ELSE interval '25 hours' END))
    ON CONFLICT (kind, digest) DO NOTHING;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO audit_event (occurred_at, kind, request_id, reason, details)
    VALUES (
        clock_timestamp(), 'logout_recorded', p_request_id, CASE WHEN p_of_subject THEN 'subject' ELSE 'session' END,
        jsonb_strip_nulls(jsonb_build_object(
            'issuer', p_issuer, 'sessions_ended', p_ended, 'cause', nullif(p_cause, 'logout_token'))));
    RETURN true;
END
$$;

CREATE FUNCTION native_sso.forget_code(p_code bytea, p_binding bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    UPDATE relayed_code r SET state = 'lost', answer = NULL
    WHERE r.code = p_code AND r.binding = p_binding AND r.state = 'kept';
    RETURN FOUND;
END
$$;

CREATE FUNCTION native_sso.guard_grant() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF OLD.revoked_at IS NOT NULL THEN
        IF OLD.revoke_reason <> 'refresh_token_late' OR NEW.revoke_reason IS DISTINCT FROM 'refresh_token_reused'
            OR NEW.revoked_at IS DISTINCT FROM OLD.revoked_at OR NEW.generation <> OLD.generation
        THEN
            RAISE EXCEPTION 'a revoked grant stays as it is' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    ELSIF NEW.generation NOT IN (OLD.generation, OLD.generation + 1)
        OR NEW.refreshed_generation NOT IN (OLD.refreshed_generation, NEW.generation)
        OR NEW.exchanged_generation NOT IN (OLD.exchanged_generation, NEW.generation)
    THEN
        RAISE EXCEPTION 'a token family advances by one generation, and a revoked grant does not change'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION native_sso.guard_limits() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NEW.ended_at IS NULL AND EXISTS (
        SELECT FROM native_sso.session l
        WHERE l.issuer = NEW.issuer AND l.sid = NEW.sid
            AND (greatest(l.iat_after, NEW.iat_after) IS DISTINCT FROM NEW.iat_after
                OR greatest(l.auth_time_after, NEW.auth_time_after) IS DISTINCT FROM NEW.auth_time_after))
    THEN
        RAISE EXCEPTION 'a session of the same name ended meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION native_sso.guard_revocation() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF (NEW.revoked_at IS NULL) <> (NEW.revoke_reason IS NULL) THEN
        RAISE EXCEPTION 'a grant is revoked at a time and for a reason, or not at all' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION native_sso.guard_session() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_tightened native_sso.session;
BEGIN
    IF (NEW.ended_at IS NULL) <> (NEW.end_reason IS NULL) THEN
        RAISE EXCEPTION 'a session ends at a time and for a reason, or not at all' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.subject IS NULL AND NEW.ended_at IS NULL THEN
        RAISE EXCEPTION 'a live session has a subject' USING ERRCODE = 'check_violation';
    END IF;
    IF NEW.expires_at > NEW.created_at + interval '400 days' THEN
        RAISE EXCEPTION 'no session lives longer than 400 days' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'INSERT' THEN
        NEW.auth_time := native_sso.instant_that_counts(NEW.auth_time);
        NEW.issued_at := native_sso.instant_that_counts(NEW.issued_at);
    ELSE
        IF greatest(NEW.iat_after, OLD.iat_after) IS DISTINCT FROM NEW.iat_after
            OR greatest(NEW.auth_time_after, OLD.auth_time_after) IS DISTINCT FROM NEW.auth_time_after
        THEN
            RAISE EXCEPTION 'the limits of a name are never loosened' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF OLD.ended_at IS NOT NULL THEN
            v_tightened := OLD;
            v_tightened.iat_after := NEW.iat_after;
            v_tightened.auth_time_after := NEW.auth_time_after;
            IF NEW IS DISTINCT FROM v_tightened THEN
                RAISE EXCEPTION 'an ended session stays as it is' USING ERRCODE = 'integrity_constraint_violation';
            END IF;
            RETURN NEW;
        END IF;
        IF NEW.session_id <> OLD.session_id OR NEW.issuer <> OLD.issuer OR NEW.sid <> OLD.sid
            OR NEW.idp_issuer <> OLD.idp_issuer
            OR NEW.idp_sid IS DISTINCT FROM OLD.idp_sid
                AND NOT (
                    (OLD.idp_sid IS NULL OR OLD.idp_sid = OLD.sid) AND OLD.idp_issuer = OLD.issuer
                    AND NEW.idp_sid IS NOT NULL)
            OR NEW.subject IS DISTINCT FROM OLD.subject OR NEW.created_at <> OLD.created_at
            OR NEW.expires_at > OLD.expires_at
        THEN
            RAISE EXCEPTION 'the identity of a session is fixed, and its life is never prolonged'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END IF;
    IF NEW.ended_at IS NOT NULL THEN
        IF NEW.iat_after IS NULL AND NEW.auth_time_after IS NULL THEN
            NEW.auth_time_after := NEW.ended_at;
        END IF;
        NEW.ended_at := greatest(NEW.ended_at, (
            SELECT max(l.ended_at) + interval '1 second' FROM native_sso.session l
            WHERE l.issuer = NEW.issuer AND l.sid = NEW.sid AND l.session_id <> NEW.session_id));
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION native_sso.handoff_permission(p_issuer text, p_app text, p_app_is_bound boolean, p_web text, p_origin text, OUT permission text, OUT takes_origin boolean, OUT is_given boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    SELECT m.handoff INTO permission FROM sharing_group_member m WHERE m.issuer = p_issuer AND m.client_id = p_app;
    takes_origin := EXISTS (
        SELECT FROM sharing_group_member m
        WHERE m.issuer = p_issuer AND m.client_id = p_web AND p_origin = ANY (m.handoff_origins));
    is_given := takes_origin AND coalesce(permission = 'dpop' OR permission = 'bearer' AND NOT p_app_is_bound, false);
END
$$;

CREATE FUNCTION native_sso.have_common(p_one text[], p_two text[], p_three text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    RETURN EXISTS (SELECT FROM unnest(p_one) AS word WHERE word = ANY (p_two) AND word = ANY (p_three));
END
$$;

CREATE FUNCTION native_sso.idp_session_limits(p_issuer text, p_sid bytea, OUT iat_after timestamp with time zone, OUT auth_time_after timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    SET enable_sort TO 'off'
    AS $$
BEGIN
    SELECT max(n.iat_after), max(n.auth_time_after) INTO iat_after, auth_time_after
    FROM (
        SELECT l.iat_after, l.auth_time_after FROM native_sso.session l
        WHERE l.idp_issuer = p_issuer AND l.idp_sid BETWEEN p_sid AND p_sid
        ORDER BY l.idp_sid) AS n;
END
$$;

CREATE FUNCTION native_sso.instant_that_counts(p_instant timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$ SELECT CASE WHEN p_instant IS NOT NULL THEN least(p_instant, date_trunc('second', now()) + interval '1 minute') END $$;

CREATE FUNCTION native_sso.is_covered(e native_sso.general_end, p_began_at timestamp with time zone, p_iat timestamp with time zone, p_auth_time timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT coalesce(p_began_at <= e.began_until, false) OR coalesce(p_iat <= e.began_until, false)
        OR coalesce(p_auth_time <= e.login_until, false)
$$;

CREATE FUNCTION native_sso.is_grant_live(p_session_id uuid, p_client text, p_issued_at timestamp with time zone, p_idle_seconds bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_now timestamptz := date_trunc('second', clock_timestamp());
BEGIN
    RETURN EXISTS (
        SELECT FROM session l
        JOIN sso_grant g ON g.session_id = l.session_id AND g.client_id = p_client AND g.revoked_at IS NULL
        JOIN client c ON c.client_id = g.client_id
        JOIN sharing_group_member t ON t.issuer = l.idp_issuer AND t.client_id = g.client_id
        JOIN sharing_group_member s ON s.issuer = l.idp_issuer AND s.client_id = g.source_client_id AND s.group_id = t.group_id
        JOIN general_end e ON e.only_row AND NOT is_covered(e, l.created_at, l.issued_at, l.auth_time)
        LEFT JOIN device d ON d.issuer = l.issuer AND d.device_digest = g.device_digest
        WHERE l.session_id = p_session_id AND l.ended_at IS NULL AND v_now < l.expires_at
            AND v_now < l.last_used_at + make_interval(secs => p_idle_seconds)
            AND v_now < g.expires_at AND g.created_at <= p_issued_at
            AND c.enabled AND s.role <> 'target' AND t.role <> 'source' AND d.blocked_at IS NULL);
END
$$;

CREATE TABLE native_sso.session (
    session_id uuid NOT NULL,
    issuer native_sso.issuer_identifier NOT NULL,
    sid native_sso.digest NOT NULL,
    idp_issuer native_sso.issuer_identifier NOT NULL,
    idp_sid native_sso.digest,
    subject native_sso.issued_identifier,
    profile native_sso.profile_name,
    device_digest native_sso.digest,
    source_client_id text COLLATE pg_catalog."C",
    auth_time timestamp(0) with time zone,
    acr text,
    amr text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp(0) with time zone NOT NULL,
    expires_at timestamp(0) with time zone NOT NULL,
    last_used_at timestamp(0) with time zone NOT NULL,
    ended_at timestamp(0) with time zone,
    end_reason text,
    issued_at timestamp(0) with time zone,
    iat_after timestamp(0) with time zone,
    auth_time_after timestamp(0) with time zone
)
WITH (fillfactor='90');

COMMENT ON TABLE native_sso.session IS 'One login at an IdP. A statement that changes what an exchange of the login is judged by writes a new version of this row, or of the grant: exchange and refresh name the version that they judged.';

COMMENT ON COLUMN native_sso.session.session_id IS 'UUIDv7, the broker''s own name of the session.';

COMMENT ON COLUMN native_sso.session.issuer IS 'The IdP whose groups and devices count. For an enrolled login too, although its id_token has the broker as iss.';

COMMENT ON COLUMN native_sso.session.sid IS 'SHA-256 of the sid in the id_tokens that the clients share. At some IdPs a sid is the session cookie, so no sid is stored.';

COMMENT ON COLUMN native_sso.session.idp_issuer IS 'The issuer of the logout tokens that end it.';

COMMENT ON COLUMN native_sso.session.idp_sid IS 'SHA-256 of the sid in those logout tokens; NULL: the IdP gave the login none.';

COMMENT ON COLUMN native_sso.session.subject IS 'sub; NULL for a login that was logged out before a client brought it.';

COMMENT ON COLUMN native_sso.session.profile IS 'The profile of the exchange or enrolment that began it; NULL: it was registered.';

COMMENT ON COLUMN native_sso.session.device_digest IS 'HMAC-SHA-256 of the device value, under a key that is not in this database; NULL until an exchange shows it.';

COMMENT ON COLUMN native_sso.session.source_client_id IS 'The client that logged in.';

COMMENT ON COLUMN native_sso.session.auth_time IS 'auth_time of the id_token that began it.';

COMMENT ON COLUMN native_sso.session.acr IS 'acr of that id_token.';

COMMENT ON COLUMN native_sso.session.amr IS 'amr of that id_token.';

COMMENT ON COLUMN native_sso.session.created_at IS 'When the row was made.';

COMMENT ON COLUMN native_sso.session.expires_at IS 'Absolute end, at most 400 days after created_at. It is never moved to a later instant.';

COMMENT ON COLUMN native_sso.session.last_used_at IS 'Last exchange or refresh, within a few minutes.';

COMMENT ON COLUMN native_sso.session.ended_at IS 'When the session ended. Set once and never cleared. An ended session gets no tokens.';

COMMENT ON COLUMN native_sso.session.end_reason IS 'What ended it.';

COMMENT ON COLUMN native_sso.session.issued_at IS 'iat of the id_token that began it; of a registration, when it came.';

COMMENT ON COLUMN native_sso.session.iat_after IS 'An id_token under this name counts only if its iat is later. Each end tightens it, a new session takes it over; NULL: no limit.';

COMMENT ON COLUMN native_sso.session.auth_time_after IS 'The same for auth_time. An id_token without auth_time does not count then. An end that sets neither sets this one.';

CREATE VIEW native_sso.session_state AS
 SELECT l.session_id,
    l.issuer,
    l.sid,
    l.idp_issuer,
    l.idp_sid,
    l.subject,
    l.profile,
    l.device_digest,
    l.source_client_id,
    l.auth_time,
    l.acr,
    l.amr,
    l.created_at,
    l.expires_at,
    l.last_used_at,
    COALESCE(l.ended_at, c.ended_at) AS ended_at,
        CASE
            WHEN ((l.ended_at IS NULL) AND (c.ended_at IS NOT NULL)) THEN 'general_end'::text
            ELSE l.end_reason
        END AS end_reason,
    l.issued_at,
    l.iat_after,
    l.auth_time_after
   FROM ((native_sso.session l
     CROSS JOIN ( SELECT e_1.*::native_sso.general_end AS "row"
           FROM native_sso.general_end e_1
          WHERE e_1.only_row) e)
     CROSS JOIN LATERAL ( SELECT
                CASE
                    WHEN native_sso.is_covered(e."row", l.created_at, l.issued_at, l.auth_time) THEN (e."row").began_until
                    ELSE NULL::timestamp with time zone
                END AS ended_at) c);

COMMENT ON VIEW native_sso.session_state IS 'The sessions, where those that the general end covers have ended.';

CREATE FUNCTION native_sso.is_named(s native_sso.session_state, p_issuer text, p_sid bytea, p_session_id uuid) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT s.issuer = p_issuer AND s.sid = p_sid OR s.idp_issuer = p_issuer AND s.idp_sid = p_sid OR s.session_id = p_session_id
$$;

CREATE FUNCTION native_sso.is_selected(s native_sso.session_state, p_issuer text, p_sid bytea, p_session_id uuid, p_idp_issuer text, p_subject text, p_device bytea, p_client text, p_began_until timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT (p_sid IS NULL OR native_sso.is_named(s, p_issuer, p_sid, p_session_id))
        AND (p_idp_issuer IS NULL OR s.idp_issuer = p_idp_issuer) AND (p_subject IS NULL OR s.subject = p_subject)
        AND (p_device IS NULL OR s.device_digest = p_device) AND (p_client IS NULL OR s.source_client_id = p_client)
        AND (p_began_until IS NULL OR s.created_at <= p_began_until)
$$;

CREATE TABLE native_sso.sso_grant (
    grant_id uuid NOT NULL,
    session_id uuid NOT NULL,
    client_id text NOT NULL COLLATE pg_catalog."C",
    source_client_id text NOT NULL COLLATE pg_catalog."C",
    device_digest native_sso.digest NOT NULL,
    generation native_sso.token_generation NOT NULL,
    rotated_at timestamp(0) with time zone NOT NULL,
    scope text[] NOT NULL,
    audiences text[] NOT NULL,
    auth_time timestamp(0) with time zone,
    acr text,
    amr text[] NOT NULL,
    jkt native_sso.jwk_thumbprint,
    created_at timestamp(0) with time zone NOT NULL,
    expires_at timestamp(0) with time zone NOT NULL,
    revoked_at timestamp(0) with time zone,
    revoke_reason text,
    refreshed_generation integer DEFAULT 0 NOT NULL,
    replayed_before timestamp(0) with time zone,
    exchanged_generation integer DEFAULT 1 NOT NULL,
    keyless_before integer DEFAULT 1 NOT NULL,
    spent int4multirange,
    claims native_sso.copied_claims
)
WITH (fillfactor='80');

COMMENT ON TABLE native_sso.sso_grant IS 'What one client holds in one session: its token family. Refresh tokens are not stored; they name grant and generation under a MAC.';

COMMENT ON COLUMN native_sso.sso_grant.grant_id IS 'UUIDv7, part of each refresh token.';

COMMENT ON COLUMN native_sso.sso_grant.session_id IS 'The session that it dies with.';

COMMENT ON COLUMN native_sso.sso_grant.client_id IS 'The client that holds it.';

COMMENT ON COLUMN native_sso.sso_grant.source_client_id IS 'The client whose login it uses.';

COMMENT ON COLUMN native_sso.sso_grant.device_digest IS 'The device that the last exchange showed.';

COMMENT ON COLUMN native_sso.sso_grant.generation IS 'The current position of the token family. It grows by 1.';

COMMENT ON COLUMN native_sso.sso_grant.rotated_at IS 'When the current generation was made: the grace period begins here. The end of the grant, if no answer could be made.';

COMMENT ON COLUMN native_sso.sso_grant.scope IS 'What the last exchange granted.';

COMMENT ON COLUMN native_sso.sso_grant.audiences IS 'aud of the access tokens since the last exchange.';

COMMENT ON COLUMN native_sso.sso_grant.auth_time IS 'auth_time of the login, for the access tokens of refreshes.';

COMMENT ON COLUMN native_sso.sso_grant.acr IS 'acr of the login, likewise.';

COMMENT ON COLUMN native_sso.sso_grant.amr IS 'amr of the login, likewise.';

COMMENT ON COLUMN native_sso.sso_grant.jkt IS 'Thumbprint of the key that binds the family (DPoP); NULL: unbound.';

COMMENT ON COLUMN native_sso.sso_grant.created_at IS 'When the first exchange made it.';

COMMENT ON COLUMN native_sso.sso_grant.expires_at IS 'When it ends, at the latest with its session.';

COMMENT ON COLUMN native_sso.sso_grant.revoked_at IS 'Set once and never cleared.';

COMMENT ON COLUMN native_sso.sso_grant.revoke_reason IS 'Why it was revoked. refresh_token_late may still become refresh_token_reused.';

COMMENT ON COLUMN native_sso.sso_grant.refreshed_generation IS 'The last generation that a refresh made; 0: none.';

COMMENT ON COLUMN native_sso.sso_grant.replayed_before IS 'When an earlier family of this client in this session was replayed: a login from before does not continue.';

COMMENT ON COLUMN native_sso.sso_grant.exchanged_generation IS 'The generation that the last exchange made: the current run begins here.';

COMMENT ON COLUMN native_sso.sso_grant.keyless_before IS 'The generation of the exchange that bound the key: earlier tokens have none. It counts only where jkt is set.';

COMMENT ON COLUMN native_sso.sso_grant.spent IS 'Generations of earlier runs whose successors were presented.';

COMMENT ON COLUMN native_sso.sso_grant.claims IS 'What the last exchange copied of its id_token into access tokens; NULL: nothing, or the grant was revoked.';

CREATE FUNCTION native_sso.is_spending(g native_sso.sso_grant) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT g.generation = g.refreshed_generation AND g.generation - g.exchanged_generation >= 2
$$;

CREATE FUNCTION native_sso.keep_logged_out() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_iat timestamptz := coalesce(NEW.issued_at, NEW.auth_time, NEW.created_at);
    v_newest native_sso.session;
    v_iat_after timestamptz;
    v_auth_time_after timestamptz;
    v_logout timestamptz;
    v_disabled_at timestamptz;
BEGIN
    IF NEW.ended_at IS NOT NULL THEN
        RETURN NEW;
    END IF;
    PERFORM pg_advisory_xact_lock_shared(native_sso.logout_lock('sub', NEW.idp_issuer, NEW.subject));
    IF NEW.idp_sid IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock_shared(native_sso.logout_lock('sid', NEW.idp_issuer, encode(NEW.idp_sid, 'hex')));
        SELECT n.iat_after, n.auth_time_after INTO v_iat_after, v_auth_time_after
        FROM native_sso.idp_session_limits(NEW.idp_issuer, NEW.idp_sid) n;
    END IF;
    SELECT * INTO v_newest FROM native_sso.session l
    WHERE l.issuer = NEW.issuer AND l.sid = NEW.sid
    ORDER BY coalesce(l.ended_at, 'infinity') DESC LIMIT 1;
    IF NOT native_sso.satisfies_limits(v_iat, NEW.auth_time, v_newest.iat_after, v_newest.auth_time_after) THEN
        RETURN NULL;
    END IF;
    SELECT CASE WHEN NEW.idp_sid IS NULL THEN greatest(o.issued_at, o.without_sid_issued_at) ELSE o.issued_at END, o.disabled_at
    INTO v_logout, v_disabled_at
    FROM native_sso.subject_logout o WHERE o.idp_issuer = NEW.idp_issuer AND o.subject = NEW.subject;
    -- id_tokens of an enrolled login are the broker's, with an iat of its clock: they are judged at the enrolment.
    IF NEW.idp_sid = NEW.sid THEN
        NEW.iat_after := greatest(v_iat_after, v_newest.iat_after);
        NEW.auth_time_after := greatest(v_auth_time_after, v_newest.auth_time_after);
    ELSE
        NEW.iat_after := v_newest.iat_after;
        NEW.auth_time_after := v_newest.auth_time_after;
    END IF;
    IF coalesce(least(NEW.auth_time, NEW.issued_at) <= v_logout, false) THEN
        v_iat_after := greatest(v_iat_after, v_logout);
        v_auth_time_after := greatest(v_auth_time_after, v_logout);
    END IF;
    IF v_disabled_at IS NULL AND native_sso.satisfies_limits(v_iat, NEW.auth_time, v_iat_after, v_auth_time_after) THEN
        RETURN NEW;
    END IF;
    IF v_newest.session_id IS NULL OR v_newest.ended_at IS NOT NULL THEN
        NEW.iat_after := greatest(NEW.iat_after, v_iat_after);
        NEW.auth_time_after := greatest(NEW.auth_time_after, v_auth_time_after);
        NEW.ended_at := NEW.created_at;
        NEW.end_reason := CASE WHEN v_disabled_at IS NULL THEN 'logout' ELSE 'account_disabled' END;
        INSERT INTO native_sso.session VALUES (NEW.*) ON CONFLICT (issuer, sid, coalesce(ended_at, 'infinity')) DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION native_sso.late_verdict(p_rotated_at timestamp with time zone, p_grace_seconds bigint, p_now timestamp with time zone) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_end CONSTANT timestamptz := p_rotated_at + make_interval(secs => p_grace_seconds);
    v_until timestamptz := v_end;
    v_gap service_gap;
BEGIN
    FOR v_gap IN SELECT * FROM service_gap g WHERE g.ended_at > p_rotated_at ORDER BY g.began_at LOOP
        EXIT WHEN v_gap.began_at >= v_until;
        v_until := greatest(v_until, v_gap.ended_at + interval '2 minutes');
    END LOOP;
    v_until := least(v_until, v_end + interval '24 hours');
    -- The next gap begins at the newest count. So a count from before the end of the grace period proves nothing yet.
    RETURN CASE
        WHEN p_now < v_until THEN 'extended'
        WHEN EXISTS (
            SELECT FROM service_count c
            WHERE c.only_row AND c.counted_at >= greatest(v_until, clock_timestamp() - interval '6 seconds'))
        THEN 'refresh_token_late'
        ELSE 'unsure' END;
END
$$;

CREATE FUNCTION native_sso.login_slot(p_issuer text, p_subject text) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT
    AS $$
    SELECT (get_byte(h.digest, 0) << 2) | (get_byte(h.digest, 1) >> 6)
    FROM sha256(
        int4send(octet_length(convert_to(p_issuer, 'UTF8'))) || convert_to(p_issuer, 'UTF8')
        || int4send(octet_length(convert_to(p_subject, 'UTF8'))) || convert_to(p_subject, 'UTF8')) AS h (digest)
$$;

CREATE FUNCTION native_sso.logout_lock(p_kind text, p_issuer text, p_name text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT 2947193046517340160 + CASE p_kind WHEN 'sid' THEN 256 ELSE 0 END
        + (hashtextextended(p_kind || ' ' || p_issuer || ' ' || p_name, 0) & 255) $$;

CREATE FUNCTION native_sso.make_type(p_name text, p_attributes text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF obj_description(to_regtype(p_name), 'pg_type') IS DISTINCT FROM p_attributes THEN
        IF to_regtype(p_name) IS NOT NULL THEN
            EXECUTE format('DROP TYPE %I CASCADE', p_name);
        END IF;
        EXECUTE format('CREATE TYPE %I AS (%s)', p_name, p_attributes);
        EXECUTE format('COMMENT ON TYPE %I IS %L', p_name, p_attributes);
    END IF;
END
$$;

CREATE FUNCTION native_sso.make_web_handoff(p_app native_sso.exchange_call, p_web native_sso.exchange_call, p_shown native_sso.shown[], p_code bytea, p_challenge bytea, p_origin text, p_audience text, p_token_expires_at timestamp with time zone, p_key_is_current boolean, p_seconds bigint, OUT answers native_sso.exchange_answer[], OUT permission text, OUT takes_origin boolean, OUT is_kept boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    p_app.grant_id := NULL;
    p_web.grant_id := NULL;
    answers := exchange(ARRAY[p_app, p_web], p_shown);
    SELECT p.permission, p.takes_origin, p.is_given INTO permission, takes_origin, is_kept
    FROM handoff_permission(p_app.issuer, p_app.client, p_app.jkt IS NOT NULL, p_web.client, p_origin) AS p;
    is_kept := is_kept AND (SELECT coalesce(bool_and(a.generation IS NOT DISTINCT FROM 0), false) FROM unnest(answers) AS a);
    IF is_kept THEN
        INSERT INTO web_handoff (
            code, challenge, origin, app_client_id, app_is_bound, client_id, audience, issuer, sid, subject, source_client_id,
            other_audience, auth_time, acr, amr, issued_at, token_expires_at, key_is_current, device_digest, profile, scope,
            claims, request_id, made_at, expires_at)
        VALUES (
            p_code, p_challenge, p_origin, p_app.client, p_app.jkt IS NOT NULL, p_web.client, p_audience, p_app.issuer, p_app.sid,
            p_app.subject, p_app.source_client, p_app.other_audience, p_app.auth_time, p_app.acr, p_app.amr, p_app.issued_at,
            p_token_expires_at, p_key_is_current, p_app.device, p_app.profile, p_web.scope, p_web.claims, p_app.request_id,
            date_trunc('second', clock_timestamp()), clock_timestamp() + make_interval(secs => least(p_seconds, 60)));
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, details, trace_id)
        SELECT clock_timestamp(), 'handoff_made', p_app.request_id, p_app.client, a.session_id,
            jsonb_build_object('web_client', p_web.client, 'source_client', p_app.source_client), p_app.trace_id
        FROM unnest(answers) AS a WHERE a.place = 1;
    END IF;
END
$$;

CREATE FUNCTION native_sso.mark_unanswered(p_grant_id uuid, p_generation integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
BEGIN
    UPDATE sso_grant g SET rotated_at = greatest(g.rotated_at, g.expires_at)
    WHERE g.grant_id = p_grant_id AND g.generation = p_generation AND g.refreshed_generation = p_generation
        AND g.revoked_at IS NULL;
    RETURN FOUND;
END
$$;

CREATE FUNCTION native_sso.note_used_prefixes() RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
    UPDATE subject_prefix p SET used_at = now()
    WHERE p.used_at IS NULL AND EXISTS (SELECT FROM session l WHERE l.idp_issuer = p.issuer)
$$;

CREATE FUNCTION native_sso.own_sid(p_session_id uuid) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$ SELECT sha256(convert_to(p_session_id::text, 'UTF8')) $$;

CREATE FUNCTION native_sso.pin_is_free(p_issuer text, p_device bytea, p_client text, p_jkt text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
    RETURN NOT EXISTS (
        SELECT FROM device d
        WHERE d.issuer = p_issuer AND d.device_digest = p_device AND (d.pinned_keys ->> p_client) <> p_jkt);
END
$$;

CREATE FUNCTION native_sso.pin_key(p_issuer text, p_device bytea, p_client text, p_jkt text) RETURNS text
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
    INSERT INTO device AS d (issuer, device_digest, first_seen_at, pinned_keys)
    VALUES (p_issuer, p_device, date_trunc('second', clock_timestamp()), jsonb_build_object(p_client, p_jkt))
    ON CONFLICT (issuer, device_digest) DO UPDATE SET pinned_keys = coalesce(d.pinned_keys, '{}') || excluded.pinned_keys
    WHERE (d.pinned_keys ->> p_client) IS NULL;
    RETURN (SELECT d.pinned_keys ->> p_client FROM device d WHERE d.issuer = p_issuer AND d.device_digest = p_device);
END
$$;

CREATE FUNCTION native_sso.prepare_audit_partitions() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '1s'
    AS $$
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

CREATE FUNCTION native_sso.record_administration(p_kind text, p_actor text, p_reason text, p_details jsonb, p_request_id uuid DEFAULT NULL::uuid) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
    INSERT INTO audit_event (occurred_at, kind, request_id, actor, reason, details)
    VALUES (now(), p_kind, p_request_id, p_actor, p_reason, p_details)
$$;

CREATE FUNCTION native_sso.record_audit(p_occurred_at timestamp with time zone[], p_kinds text[], p_request_ids uuid[], p_client_ids text[], p_reasons text[], p_session_ids uuid[] DEFAULT NULL::uuid[], p_grant_ids uuid[] DEFAULT NULL::uuid[], p_source_clients text[] DEFAULT NULL::text[], p_trace_ids uuid[] DEFAULT NULL::uuid[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
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

CREATE FUNCTION native_sso.record_idp_keys(p_issuer text, p_thumbprints text[], p_kids text[], p_algorithms text[], p_jwks text[], p_first_seen_at timestamp with time zone[], p_last_seen_at timestamp with time zone[], p_tags text[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
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

CREATE FUNCTION native_sso.record_subject_prefixes(p_issuers text[], p_prefixes text[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
    SELECT note_used_prefixes();
    INSERT INTO subject_prefix AS p (issuer, prefix)
    SELECT given.issuer, given.prefix FROM unnest(p_issuers, p_prefixes) AS given (issuer, prefix) ORDER BY given.issuer
    ON CONFLICT (issuer) DO UPDATE SET prefix = excluded.prefix
    WHERE p.used_at IS NULL AND p.prefix <> excluded.prefix
$$;

CREATE FUNCTION native_sso.redeem_web_handoff(p_code bytea, p_origin text, p_challenge bytea, p_call native_sso.exchange_call, p_shown native_sso.shown[], OUT answers native_sso.exchange_answer[], OUT standing text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_handoff web_handoff;
BEGIN
    SELECT * INTO v_handoff FROM web_handoff h
    WHERE h.code = p_code AND h.client_id = p_call.client AND h.origin = p_origin AND h.challenge = p_challenge FOR UPDATE;
    standing := CASE
        WHEN NOT FOUND THEN 'unknown'
        WHEN v_handoff.redeemed_at IS NOT NULL THEN 'used'
        WHEN clock_timestamp() >= v_handoff.expires_at THEN 'expired'
        WHEN EXISTS (SELECT FROM general_end e WHERE is_covered(e, v_handoff.made_at, NULL, NULL)) THEN 'withdrawn'
        WHEN NOT EXISTS (SELECT FROM client c WHERE c.client_id = v_handoff.app_client_id AND c.enabled) OR NOT (
            SELECT p.is_given FROM handoff_permission(
                v_handoff.issuer, v_handoff.app_client_id, v_handoff.app_is_bound, v_handoff.client_id, v_handoff.origin) AS p)
            THEN 'withdrawn'
        ELSE 'good' END;
    p_call.permitted := p_call.permitted AND standing = 'good';
    answers := exchange(ARRAY[p_call], p_shown);
    IF answers[1].grant_id IS NOT NULL THEN
        UPDATE web_handoff h SET redeemed_at = clock_timestamp() WHERE h.code = p_code AND h.redeemed_at IS NULL;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'a hand-off was redeemed under the lock of its row' USING ERRCODE = 'serialization_failure';
        END IF;
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, details, trace_id)
        VALUES (
            clock_timestamp(), 'handoff_redeemed', p_call.request_id, p_call.client, answers[1].session_id, answers[1].grant_id,
            jsonb_build_object('app', v_handoff.app_client_id, 'made_by', v_handoff.request_id), p_call.trace_id);
    END IF;
END
$$;

CREATE FUNCTION native_sso.refresh(p_calls native_sso.refresh_call[], p_shown native_sso.shown[] DEFAULT NULL::native_sso.shown[]) RETURNS native_sso.refresh_answer[]
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
DECLARE
    v_now pg_catalog.timestamptz;
    v_end native_sso.general_end;
    v_assertion_used pg_catalog.int8[] := '{}';
    v_proof_used pg_catalog.int8[] := '{}';
    v_answers native_sso.refresh_answer[] := '{}';
    v_answered pg_catalog.int8[] := '{}';
    v_more native_sso.refresh_answer[];
    v_misuses native_sso.refresh_misuse[];
    v_moved pg_catalog.int8[];
    v_due pg_catalog.uuid[];
    v_idle_turns integer := 0;
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'native_sso, pg_temp' THEN
        RAISE EXCEPTION 'refresh runs with search_path = native_sso, pg_temp'
            USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    IF p_shown IS NOT NULL THEN
        v_assertion_used := used_assertions(p_shown);
        v_proof_used := used_proofs(p_shown, v_assertion_used);
    END IF;
    SELECT * INTO v_end FROM general_end e WHERE e.only_row;
    LOOP
        v_now := date_trunc('second', clock_timestamp());
        WITH judged AS MATERIALIZED (
            SELECT a.place, (a.call).request_id, v.verdict, v.verdict = 'advanced' AND h.is_held AS may_write,
                l.last_used_at < v_now - make_interval(secs => least(300, (a.call).idle_seconds / 4)) AS is_due,
                g.*, l.issuer, l.subject, l.ended_at, l.expires_at AS session_expires_at, l.last_used_at,
                c.enabled AS client_enabled, shares.login AS shares_login, t.scope_ceiling, d.is_blocked
            FROM (SELECT unnest(p_calls) AS call, generate_subscripts(p_calls, 1) AS place) AS a
            -- The look: the same for every refusal. OFFSET 0 makes each a look by a whole key.
            LEFT JOIN LATERAL (
                SELECT g.ctid AS grant_at, g.xmin AS grant_version, g.grant_id, g.session_id, g.client_id, g.source_client_id,
                    g.device_digest, g.generation, g.keyless_before, g.rotated_at, g.revoked_at, g.expires_at, g.scope,
                    g.audiences, g.auth_time, g.acr, g.amr, g.claims, g.jkt,
                    -- A generation that no refresh made is the one of the last exchange.
                    CASE WHEN g.generation > g.refreshed_generation THEN g.generation ELSE g.exchanged_generation END
                        AS exchanged_generation,
                    coalesce(g.spent @> (a.call).generation, false) AS was_spent,
                    g.revoke_reason IS NOT DISTINCT FROM 'refresh_token_late' AS came_late
                FROM sso_grant g WHERE g.grant_id = (a.call).grant_id OFFSET 0) AS g ON true
            LEFT JOIN LATERAL (
                SELECT l.ctid AS at, l.xmin AS version, l.issuer, l.idp_issuer, l.sid, l.subject, l.expires_at, l.last_used_at,
                    CASE WHEN l.ended_at IS NULL AND is_covered(v_end, l.created_at, l.issued_at, l.auth_time)
                        THEN v_end.began_until ELSE l.ended_at END AS ended_at
                FROM session l WHERE l.session_id = g.session_id OFFSET 0) AS l ON true
            LEFT JOIN LATERAL (SELECT c.enabled FROM client c WHERE c.client_id = g.client_id OFFSET 0) AS c ON true
            LEFT JOIN LATERAL (
                SELECT m.group_id, m.role, m.scope_ceiling::text[] AS scope_ceiling FROM sharing_group_member m
                WHERE m.issuer = l.idp_issuer AND m.client_id = g.client_id OFFSET 0) AS t ON true
            LEFT JOIN LATERAL (
                SELECT m.group_id, m.role FROM sharing_group_member m
                WHERE m.issuer = l.idp_issuer AND m.client_id = g.source_client_id OFFSET 0) AS s ON true
            LEFT JOIN LATERAL (
                SELECT d.blocked_at IS NOT NULL AS is_blocked
                FROM device d WHERE d.issuer = l.issuer AND d.device_digest = g.device_digest OFFSET 0) AS d ON true
            CROSS JOIN LATERAL (
                SELECT coalesce(s.group_id = t.group_id AND s.role <> 'target' AND t.role <> 'source', false) AS login) AS shares
            CROSS JOIN LATERAL (
                SELECT CASE WHEN g.jkt IS NULL THEN (a.call).grace_seconds ELSE (a.call).bound_grace_seconds END AS grace) AS w
            -- THE RULE, in the order of `refusal` in RefreshDecision.swift.
            CROSS JOIN LATERAL (
                SELECT CASE
                    WHEN a.place = ANY (v_assertion_used) OR a.place = ANY (v_proof_used) OR l.sid IS NULL THEN 'none'
                    WHEN g.revoked_at IS NOT NULL AND NOT g.came_late THEN 'none'
                    -- Before the checks for misuse: a call without the key revokes nothing. A token from before the key needs none.
                    WHEN (a.call).generation >= g.keyless_before
                        AND (g.jkt <> (a.call).jkt AND NOT ((a.call).may_change_key AND g.client_id = (a.call).client)
                            OR g.jkt IS NOT NULL AND (a.call).jkt IS NULL) THEN 'none'
                    WHEN g.came_late THEN CASE
                        WHEN g.client_id = (a.call).client AND (g.was_spent
                            OR (a.call).generation BETWEEN g.exchanged_generation AND g.generation - 2
                            OR (a.call).generation = g.generation AND g.generation > g.exchanged_generation)
                        THEN 'proven' ELSE 'none' END
                    WHEN g.client_id <> (a.call).client THEN 'refresh_token_foreign_client'
                    WHEN (a.call).generation > g.generation THEN 'state_regressed'
                    WHEN g.was_spent OR (a.call).generation BETWEEN g.exchanged_generation AND g.generation - 2
                        THEN 'refresh_token_reused'
                    WHEN (a.call).generation < g.exchanged_generation THEN 'none'
                    WHEN (a.call).generation < g.generation THEN CASE
                        WHEN v_now >= g.rotated_at + make_interval(secs => w.grace)
                        THEN late_verdict(g.rotated_at, w.grace, v_now) ELSE 'none' END
                    WHEN v_now < g.expires_at AND c.enabled AND shares.login
                        AND l.ended_at IS NULL AND v_now < l.expires_at
                        AND v_now < l.last_used_at + make_interval(secs => (a.call).idle_seconds)
                        AND d.is_blocked IS NOT TRUE
                        AND ((a.call).resource IS NULL OR (a.call).resource = ANY (g.audiences))
                        AND ((a.call).scope IS NULL OR (a.call).scope <@ g.scope AND (a.call).scope <@ (a.call).allowed_scope
                            AND coalesce((a.call).scope <@ t.scope_ceiling, true))
                        AND CASE WHEN t.scope_ceiling IS NULL THEN coalesce((a.call).scope, g.scope) && (a.call).allowed_scope
                            ELSE have_common(coalesce((a.call).scope, g.scope), (a.call).allowed_scope, t.scope_ceiling) END
                        THEN 'advanced'
                    ELSE 'none' END AS verdict
                OFFSET 0) AS v
            LEFT JOIN LATERAL (
                SELECT true AS is_held FROM session h
                WHERE h.ctid = l.at AND h.xmin = l.version AND v.verdict = 'advanced'
                OFFSET 0 FOR SHARE) AS h ON true
            WHERE a.place BETWEEN 1 AND 1000 AND a.place <> ALL (v_answered)
        ), advanced AS (
            UPDATE sso_grant g SET
                generation = k.generation + 1, refreshed_generation = k.generation + 1, rotated_at = v_now
            FROM judged k WHERE k.may_write AND g.ctid = k.grant_at AND g.xmin = k.grant_version
            RETURNING k.place
        )
        SELECT
            array_agg(ROW (
                k.place, v_now, k.place = ANY (v_assertion_used), k.place = ANY (v_proof_used),
                CASE WHEN k.verdict IN ('none', 'advanced', 'extended', 'unsure') THEN k.verdict ELSE 'revoked' END,
                k.client_id, k.generation, k.exchanged_generation, k.keyless_before, k.was_spent, k.rotated_at, k.revoked_at,
                k.came_late, k.expires_at, k.jkt, k.scope, k.audiences, k.auth_time, k.acr, k.amr, k.claims, k.issuer, k.session_id,
                k.subject, k.ended_at, k.session_expires_at, k.last_used_at, coalesce(k.client_enabled, false), k.shares_login,
                k.scope_ceiling, coalesce(k.is_blocked, false))::refresh_answer),
            array_agg(ROW (
                k.place, k.grant_id, k.session_id, k.grant_version, k.verdict, k.request_id)::refresh_misuse)
                FILTER (WHERE k.verdict NOT IN ('none', 'advanced', 'extended', 'unsure')),
            array_agg(k.session_id) FILTER (WHERE k.may_write AND k.is_due)
        INTO v_more, v_misuses, v_due
        FROM judged k
        -- Of the rest a row moved since the look.
        WHERE k.verdict <> 'advanced' OR k.may_write AND k.place = ANY (ARRAY (SELECT u.place FROM advanced u));

        IF v_misuses IS NOT NULL THEN
            v_moved := ARRAY (SELECT m.place FROM unnest(v_misuses) AS m WHERE NOT revoke_grant(m, v_now));
            v_more := ARRAY (SELECT m FROM unnest(v_more) AS m WHERE m.place <> ALL (v_moved));
        END IF;
        IF v_due IS NOT NULL THEN
            PERFORM touch_sessions(v_due, NULL, v_now);
        END IF;
        v_answers := v_answers || v_more;
        EXIT WHEN cardinality(v_answers) = cardinality(p_calls);
        v_idle_turns := CASE WHEN coalesce(cardinality(v_more), 0) = 0 THEN v_idle_turns + 1 ELSE 0 END;
        IF v_idle_turns = 3 THEN
            RAISE EXCEPTION 'the rows of a refresh do not stand still' USING ERRCODE = 'serialization_failure';
        END IF;
        v_answered := ARRAY (SELECT m.place FROM unnest(v_answers) AS m);
    END LOOP;
    RETURN v_answers;
END
$$;

CREATE FUNCTION native_sso.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE FUNCTION native_sso.register_session(p_issuer text, p_sid bytea, p_subject text, p_source_client text DEFAULT NULL::text, p_auth_time timestamp with time zone DEFAULT NULL::timestamp with time zone, p_acr text DEFAULT NULL::text, p_amr text[] DEFAULT '{}'::text[], p_lifetime interval DEFAULT '90 days'::interval, p_idp_issuer text DEFAULT NULL::text, p_idp_sid bytea DEFAULT NULL::bytea, p_actor text DEFAULT NULL::text, p_why text DEFAULT NULL::text, p_request_id uuid DEFAULT NULL::uuid) RETURNS native_sso.registration
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
DECLARE
    v_now timestamptz := date_trunc('second', clock_timestamp());
    v_random text := replace(gen_random_uuid()::text, '-', '');
    -- UUIDv7, RFC 9562 §5.7: new rows lie together, and the sweep walks in this order.
    v_id uuid := (
        lpad(to_hex((extract(epoch FROM v_now) * 1000)::bigint), 12, '0') || '7'
        || lpad(to_hex(login_slot(coalesce(p_idp_issuer, p_issuer), p_subject) * 4 + floor(random() * 4)::integer), 3, '0')
        || substr(v_random, 17))::uuid;
    v_actor text := coalesce(p_actor, session_user);
    v_details jsonb := jsonb_strip_nulls(jsonb_build_object('database_user', session_user, 'why', p_why));
    v_found uuid;
    v_subject text;
    v_over boolean;
    v_idp_issuer text;
    v_idp_sid bytea;
    v_is_assumed boolean;
    v_iat_after timestamptz;
    v_auth_time_after timestamptz;
    v_end general_end;
BEGIN
    IF p_subject IS NULL THEN
        RAISE EXCEPTION 'a session has a subject' USING ERRCODE = 'check_violation';
    END IF;
    IF p_lifetime IS NULL OR p_lifetime <= interval '0' THEN
        RAISE EXCEPTION 'a session lives for a while' USING ERRCODE = 'check_violation';
    END IF;
    SELECT * INTO v_end FROM general_end e WHERE e.only_row;
    -- Where the session of the name has ended, a new one begins if this login satisfies the limits of the name.
    FOR v_attempt IN 1..2 LOOP
        SELECT l.session_id, l.subject,
            l.ended_at IS NOT NULL OR l.expires_at <= v_now OR is_covered(v_end, l.created_at, l.issued_at, l.auth_time), l.idp_issuer, l.idp_sid,
            (l.idp_sid IS NULL OR l.idp_sid = l.sid) AND l.idp_issuer = l.issuer
        INTO v_found, v_subject, v_over, v_idp_issuer, v_idp_sid, v_is_assumed
        FROM session l WHERE l.issuer = p_issuer AND l.sid = p_sid
        ORDER BY coalesce(l.ended_at, 'infinity') DESC LIMIT 1;
        IF v_subject <> p_subject THEN
            RETURN ROW ('taken', v_found)::registration;
        END IF;
        IF v_found IS NULL AND is_covered(v_end, v_now, NULL, NULL) OR is_covered(v_end, NULL, NULL, p_auth_time) THEN
            RETURN ROW ('ended', coalesce(v_found, v_id))::registration;
        END IF;
        EXIT WHEN NOT v_over;
        IF v_attempt = 2 THEN
            IF v_found IS NULL THEN
                RAISE EXCEPTION 'the session of a registration comes and goes' USING ERRCODE = 'serialization_failure';
            END IF;
            RETURN ROW ('ended', v_found)::registration;
        END IF;
        WITH ended AS (
            UPDATE session l
            SET ended_at = o.died_at, end_reason = o.reason,
                auth_time_after = CASE WHEN o.needs_login THEN greatest(l.auth_time_after, o.died_at) ELSE l.auth_time_after END,
                iat_after = CASE WHEN o.needs_login THEN l.iat_after ELSE greatest(l.iat_after, o.died_at) END
            FROM (
                SELECT h.session_id, h.expires_at <= v_now AND h.auth_time IS NOT NULL AS needs_login,
                    CASE WHEN h.expires_at <= v_now THEN h.expires_at ELSE v_end.began_until END AS died_at,
                    CASE WHEN h.expires_at <= v_now THEN 'expired' ELSE 'general_end' END AS reason
                FROM session h WHERE h.session_id = v_found) AS o
            WHERE l.session_id = o.session_id AND l.ended_at IS NULL
            RETURNING l.session_id, l.end_reason
        )
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason, actor, details)
        SELECT clock_timestamp(), 'session_ended', p_request_id, e.session_id, e.end_reason, v_actor, v_details FROM ended e;
        INSERT INTO session (
            session_id, issuer, sid, idp_issuer, idp_sid, subject, source_client_id, auth_time, acr, amr, issued_at, created_at,
            expires_at, last_used_at)
        VALUES (
            v_id, p_issuer, p_sid, coalesce(p_idp_issuer, p_issuer), coalesce(p_idp_sid, p_sid), p_subject, p_source_client,
            p_auth_time, p_acr, coalesce(p_amr, '{}'), v_now, v_now, date_trunc('second', v_now + p_lifetime), v_now)
        ON CONFLICT (issuer, sid, coalesce(ended_at, 'infinity')) DO NOTHING;
        IF FOUND THEN
            INSERT INTO audit_event (occurred_at, kind, request_id, session_id, actor, details)
            VALUES (clock_timestamp(), 'session_registered', p_request_id, v_id, v_actor, v_details);
            RETURN ROW ('registered', v_id)::registration;
        END IF;
    END LOOP;
    IF coalesce(p_idp_issuer, v_idp_issuer) = v_idp_issuer AND coalesce(p_idp_sid, v_idp_sid) IS NOT DISTINCT FROM v_idp_sid THEN
        RETURN ROW ('known', v_found)::registration;
    END IF;
    IF coalesce(p_idp_issuer, v_idp_issuer) <> v_idp_issuer OR NOT v_is_assumed THEN
        RETURN ROW ('mapped_otherwise', v_found)::registration;
    END IF;
    -- The row first, then the name: the holder of a name's lock never waits for a row.
    PERFORM FROM session l
    WHERE l.session_id = v_found AND l.idp_sid IS NOT DISTINCT FROM v_idp_sid AND l.ended_at IS NULL
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'the session of a registration changed meanwhile' USING ERRCODE = 'serialization_failure';
    END IF;
    PERFORM pg_advisory_xact_lock_shared(logout_lock('sid', v_idp_issuer, encode(p_idp_sid, 'hex')));
    SELECT n.iat_after, n.auth_time_after INTO v_iat_after, v_auth_time_after
    FROM idp_session_limits(v_idp_issuer, p_idp_sid) n;
    IF EXISTS (
        SELECT FROM session l
        WHERE l.session_id = v_found
            AND NOT satisfies_limits(
                coalesce(l.issued_at, l.auth_time, l.created_at), l.auth_time, v_iat_after, v_auth_time_after))
    THEN
        UPDATE session l
        SET ended_at = v_now, end_reason = 'logout', iat_after = greatest(l.iat_after, v_iat_after),
            auth_time_after = greatest(l.auth_time_after, v_auth_time_after)
        WHERE l.session_id = v_found;
        INSERT INTO audit_event (occurred_at, kind, request_id, session_id, reason, actor, details)
        VALUES (clock_timestamp(), 'session_ended', p_request_id, v_found, 'logout', v_actor, v_details);
        RETURN ROW ('ended', v_found)::registration;
    END IF;
    UPDATE session SET idp_sid = p_idp_sid WHERE session_id = v_found;
    INSERT INTO audit_event (occurred_at, kind, request_id, session_id, actor, details)
    VALUES (clock_timestamp(), 'session_mapped', p_request_id, v_found, v_actor, v_details);
    RETURN ROW ('mapped', v_found)::registration;
END
$$;

CREATE FUNCTION native_sso.registry_size(OUT sessions bigint, OUT grants bigint, OUT swept_at bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
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

CREATE FUNCTION native_sso.require_reason(p_why text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    IF coalesce(p_why, '') = '' THEN
        RAISE EXCEPTION 'p_why is required, such as the number of a ticket' USING ERRCODE = 'invalid_parameter_value';
    END IF;
END
$$;

CREATE FUNCTION native_sso.reserve_code(p_code bytea, p_binding bytea, p_request_id uuid, p_proof bytea DEFAULT NULL::bytea, p_proof_seconds bigint DEFAULT NULL::bigint) RETURNS native_sso.code_claim
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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
    -- Waits here for the commit of another call with this code. Takes over an expired reservation; its holder learns that in
    -- send_code.
    INSERT INTO relayed_code AS r (code, binding, request_id, state, is_sent, reserved_at, valid_until, expires_at)
    VALUES (
        p_code, p_binding, p_request_id, 'asked', false, date_trunc('second', clock_timestamp()),
        clock_timestamp() + interval '5 seconds', now() + interval '1 day')
    ON CONFLICT (code) DO UPDATE
    SET binding = excluded.binding, request_id = excluded.request_id, reserved_at = excluded.reserved_at,
        valid_until = excluded.valid_until, expires_at = excluded.expires_at
    WHERE r.state = 'asked' AND NOT r.is_sent AND r.valid_until < clock_timestamp();
    IF FOUND THEN
        PERFORM erase_kept_answers(4);
        RETURN ROW ('granted', NULL)::code_claim;
    END IF;
    SELECT * INTO v_row FROM relayed_code r WHERE r.code = p_code;
    -- The code was released since, or its holder may still release it: a repeated request may get it.
    IF NOT FOUND OR v_row.state = 'asked' AND NOT v_row.is_sent THEN
        RETURN ROW ('in_flight', NULL)::code_claim;
    END IF;
    IF v_row.binding <> p_binding OR v_row.state = 'lost' OR v_row.valid_until < clock_timestamp()
        OR EXISTS (SELECT FROM general_end e WHERE is_covered(e, v_row.reserved_at, NULL, NULL))
    THEN
        RETURN ROW ('used', NULL)::code_claim;
    END IF;
    IF v_row.state = 'asked' THEN
        RETURN ROW ('in_flight', NULL)::code_claim;
    END IF;
    RETURN ROW ('kept', v_row.answer)::code_claim;
END
$$;

CREATE FUNCTION native_sso.reuse(p_session_id uuid, p_client text) RETURNS TABLE(last_at timestamp with time zone)
    LANGUAGE sql STABLE
    AS $$
    SELECT max(g.revoked_at) FROM sso_grant g
    WHERE g.session_id = p_session_id AND g.client_id = p_client AND g.revoke_reason = 'refresh_token_reused'
$$;

CREATE FUNCTION native_sso.revoke_grant(p_misuse native_sso.refresh_misuse, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_grant sso_grant;
    v_other sso_grant;
BEGIN
    IF p_misuse.verdict IN ('refresh_token_reused', 'proven') THEN
        UPDATE session l SET last_used_at = l.last_used_at WHERE l.session_id = p_misuse.session_id AND l.ended_at IS NULL;
    END IF;
    UPDATE sso_grant g SET
        revoked_at = coalesce(g.revoked_at, p_now),
        revoke_reason = CASE p_misuse.verdict WHEN 'proven' THEN 'refresh_token_reused' ELSE p_misuse.verdict END,
        claims = NULL
    WHERE g.grant_id = p_misuse.grant_id AND g.xmin = p_misuse.version
    RETURNING g.* INTO v_grant;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF p_misuse.verdict = 'proven' THEN
        -- The grant that began since is revoked, too, unless its login came later.
        UPDATE sso_grant g SET revoked_at = p_now, revoke_reason = 'refresh_token_reused', claims = NULL
        WHERE g.session_id = v_grant.session_id AND g.client_id = v_grant.client_id AND g.revoked_at IS NULL
            AND coalesce(g.auth_time <= v_grant.revoked_at, true)
        RETURNING g.* INTO v_other;
        IF NOT FOUND THEN
            UPDATE sso_grant g SET replayed_before = greatest(g.replayed_before, v_grant.revoked_at)
            WHERE g.session_id = v_grant.session_id AND g.client_id = v_grant.client_id AND g.revoked_at IS NULL;
        END IF;
    END IF;
    IF v_grant.revoke_reason = 'refresh_token_reused' THEN
        PERFORM unpin_key(v_grant.session_id, v_grant.device_digest, v_grant.client_id, v_grant.jkt);
        PERFORM unpin_key(v_other.session_id, v_other.device_digest, v_other.client_id, v_other.jkt);
    END IF;
    INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, reason)
    SELECT clock_timestamp(), 'grant_revoked', p_misuse.request_id, v_grant.client_id, v_grant.session_id, r.grant_id,
        v_grant.revoke_reason
    FROM unnest(ARRAY[v_grant.grant_id, v_other.grant_id]) AS r (grant_id) WHERE r.grant_id IS NOT NULL;
    RETURN true;
END
$$;

CREATE FUNCTION native_sso.revoke_own_grant(p_request_id uuid, p_client text, p_grant_id uuid) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_session_id uuid;
BEGIN
    UPDATE sso_grant g SET revoked_at = date_trunc('second', clock_timestamp()), revoke_reason = 'app'
    WHERE g.grant_id = p_grant_id AND g.client_id = p_client AND g.revoked_at IS NULL
    RETURNING g.session_id INTO v_session_id;
    IF FOUND THEN
        INSERT INTO audit_event (occurred_at, kind, request_id, client_id, session_id, grant_id, reason)
        VALUES (clock_timestamp(), 'grant_revoked', p_request_id, p_client, v_session_id, p_grant_id, 'app');
        RETURN 'ended';
    END IF;
    RETURN CASE
        WHEN EXISTS (SELECT FROM sso_grant g WHERE g.grant_id = p_grant_id AND g.client_id <> p_client) THEN 'foreign'
        ELSE 'none' END;
END
$$;

CREATE FUNCTION native_sso.satisfies_limits(p_iat timestamp with time zone, p_auth_time timestamp with time zone, p_iat_after timestamp with time zone, p_auth_time_after timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT (p_iat_after IS NULL OR coalesce(p_iat > p_iat_after, false))
        AND (p_auth_time_after IS NULL OR coalesce(p_auth_time > p_auth_time_after, false))
$$;

CREATE FUNCTION native_sso.send_code(p_code bytea, p_request_id uuid, p_patience_seconds bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    UPDATE relayed_code r
    SET is_sent = true, valid_until = clock_timestamp() + make_interval(secs => least(p_patience_seconds, 300))
    WHERE r.code = p_code AND r.request_id = p_request_id AND r.state = 'asked';
    RETURN FOUND;
END
$$;

CREATE FUNCTION native_sso.settle_code(p_code bytea, p_request_id uuid, p_state text, p_answer bytea) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF p_state = 'released' THEN
        DELETE FROM relayed_code r WHERE r.code = p_code AND r.request_id = p_request_id AND r.state = 'asked';
    ELSE
        UPDATE relayed_code r
        SET state = p_state, answer = p_answer,
            -- 'answered' is the refusal of an IdP: such a code gives no tokens. Its row goes soon, so that a flood of them costs little.
            expires_at = CASE p_state
                WHEN 'answered' THEN least(r.expires_at, now() + interval '15 minutes') ELSE r.expires_at END,
            valid_until = CASE p_state
                WHEN 'lost' THEN r.valid_until
                WHEN 'kept' THEN clock_timestamp() + interval '2 minutes'
                ELSE clock_timestamp() + interval '30 seconds' END
        WHERE r.code = p_code AND r.request_id = p_request_id
            AND (r.state = 'asked' AND r.is_sent AND p_state = 'kept'
                OR r.valid_until >= clock_timestamp()
                    -- A repetition, because the first answer was lost.
                    AND (r.state = 'asked' OR r.state = 'kept' AND p_state = 'kept' AND r.answer = p_answer));
    END IF;
    RETURN FOUND;
END
$$;

CREATE FUNCTION native_sso.spent_by_exchange(g native_sso.sso_grant) RETURNS int4multirange
    LANGUAGE sql STABLE
    AS $$
    SELECT range_agg(newest.run) FROM (
        SELECT run
        FROM unnest(coalesce(g.spent, '{}') + int4multirange(int4range(g.exchanged_generation, g.generation - 1))) AS run
        ORDER BY run DESC LIMIT 16) AS newest
$$;

CREATE FUNCTION native_sso.subject_prefixes_in_use() RETURNS TABLE(issuer text, prefix text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
    SELECT p.issuer, p.prefix FROM subject_prefix p
    WHERE p.used_at IS NOT NULL OR EXISTS (SELECT FROM session l WHERE l.idp_issuer = p.issuer)
$$;

CREATE FUNCTION native_sso.support_end_sessions(p_why text, p_idp_issuer text DEFAULT NULL::text, p_subject text DEFAULT NULL::text, p_on_device_of uuid DEFAULT NULL::uuid, p_actor text DEFAULT NULL::text, p_same_login_may_return boolean DEFAULT false, p_request_id uuid DEFAULT NULL::uuid) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
BEGIN
    PERFORM require_reason(p_why);
    RETURN QUERY
    SELECT * FROM end_sessions(
        ARRAY(SELECT supported_ids(p_idp_issuer, p_subject, p_on_device_of, true)), 'support',
        coalesce(p_actor, session_user), jsonb_build_object('database_user', session_user, 'why', p_why), p_request_id,
        p_same_login_may_return => p_same_login_may_return);
END
$$;

CREATE TABLE native_sso.audit_event (
    occurred_at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    request_id uuid,
    client_id text COLLATE pg_catalog."C",
    session_id uuid,
    grant_id uuid,
    reason text,
    actor text,
    details jsonb,
    trace_id uuid,
    recorded_in bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL
)
PARTITION BY RANGE (occurred_at);

COMMENT ON TABLE native_sso.audit_event IS 'The audit. No row is changed or deleted; whole months go by retention.';

COMMENT ON COLUMN native_sso.audit_event.occurred_at IS 'When it happened.';

COMMENT ON COLUMN native_sso.audit_event.kind IS 'What happened, from a closed list.';

COMMENT ON COLUMN native_sso.audit_event.request_id IS 'X-Request-Id of the answer, or the id of an operator''s act.';

COMMENT ON COLUMN native_sso.audit_event.client_id IS 'A registered client.';

COMMENT ON COLUMN native_sso.audit_event.session_id IS 'The session that it was about.';

COMMENT ON COLUMN native_sso.audit_event.grant_id IS 'The grant that it was about.';

COMMENT ON COLUMN native_sso.audit_event.reason IS 'Why, from a closed list; an operator''s own words for an operator''s act.';

COMMENT ON COLUMN native_sso.audit_event.actor IS 'Who, where a person acted.';

COMMENT ON COLUMN native_sso.audit_event.details IS 'More, without secrets.';

COMMENT ON COLUMN native_sso.audit_event.trace_id IS 'trace-id of traceparent (W3C Trace Context), where a trusted proxy sent one.';

COMMENT ON COLUMN native_sso.audit_event.recorded_in IS 'The transaction that recorded it. A reader follows the audit by it, up to the first transaction that has not ended.';

CREATE TABLE native_sso.sharing_group_member (
    group_id native_sso.identifier NOT NULL,
    issuer text NOT NULL COLLATE pg_catalog."C",
    client_id native_sso.identifier NOT NULL,
    role text NOT NULL,
    scope_ceiling native_sso.scope_token[],
    handoff text,
    handoff_origins text[] DEFAULT '{}'::text[] NOT NULL,
    managed_by native_sso.identifier,
    CONSTRAINT sharing_group_member_handoff_check CHECK ((handoff = ANY (ARRAY['bearer'::text, 'dpop'::text]))),
    CONSTRAINT sharing_group_member_handoff_origins_check CHECK ((array_position(handoff_origins, NULL::text) IS NULL)),
    CONSTRAINT sharing_group_member_role_check CHECK ((role = ANY (ARRAY['source'::text, 'target'::text, 'both'::text])))
);

COMMENT ON TABLE native_sso.sharing_group_member IS 'A client in a group.';

COMMENT ON COLUMN native_sso.sharing_group_member.group_id IS 'The group.';

COMMENT ON COLUMN native_sso.sharing_group_member.issuer IS 'The issuer of the group.';

COMMENT ON COLUMN native_sso.sharing_group_member.client_id IS 'The client. It is in one group of an issuer at most.';

COMMENT ON COLUMN native_sso.sharing_group_member.role IS 'source: others may use its logins. target: it may use the logins of others.';

COMMENT ON COLUMN native_sso.sharing_group_member.scope_ceiling IS 'The most that an exchange grants it; NULL: its allowed scope.';

COMMENT ON COLUMN native_sso.sharing_group_member.handoff IS 'Whether it may hand a login to the web apps of the group: bearer, unless it shows a DPoP key; dpop, also then; NULL: it may not.';

COMMENT ON COLUMN native_sso.sharing_group_member.handoff_origins IS 'The web origins at which it receives logins of the group; empty: it receives none.';

COMMENT ON COLUMN native_sso.sharing_group_member.managed_by IS 'The registry file that manages it; NULL: none.';

CREATE VIEW native_sso.audit_line AS
 SELECT a.occurred_at,
    a.kind,
    a.request_id,
    a.client_id,
    a.session_id,
    a.grant_id,
    a.reason,
    a.actor,
    (a.details)::text AS details,
    ( SELECT l.issuer
           FROM native_sso.session l
          WHERE (l.session_id = a.session_id)) AS issuer,
    ( SELECT encode((l.sid)::bytea, 'hex'::text) AS encode
           FROM native_sso.session l
          WHERE (l.session_id = a.session_id)) AS sid,
    COALESCE((a.details ->> 'source_client'::text), ( SELECT g.source_client_id
           FROM native_sso.sso_grant g
          WHERE (g.grant_id = a.grant_id)), ( SELECT l.source_client_id
           FROM native_sso.session l
          WHERE (l.session_id = a.session_id))) AS source_client_id,
    ( SELECT (m.group_id)::text AS group_id
           FROM (native_sso.session l
             JOIN native_sso.sharing_group_member m ON ((m.issuer = (l.idp_issuer)::text)))
          WHERE ((l.session_id = a.session_id) AND ((m.client_id)::text = a.client_id))) AS group_id,
    (a.tableoid)::bigint AS partition,
    a.ctid AS place,
    a.trace_id,
    a.recorded_in
   FROM native_sso.audit_event a;

COMMENT ON VIEW native_sso.audit_line IS 'The audit as the command line shows it.';

CREATE FUNCTION native_sso.support_explain_request(p_why text, p_request_id uuid, p_actor text DEFAULT NULL::text) RETURNS SETOF native_sso.audit_line
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
BEGIN
    PERFORM require_reason(p_why);
    INSERT INTO audit_event (occurred_at, kind, actor, reason, details)
    VALUES (
        clock_timestamp(), 'request_explained', coalesce(p_actor, session_user), p_why,
        jsonb_build_object('database_user', session_user, 'request_id', p_request_id));
    RETURN QUERY
    SELECT * FROM audit_line a WHERE a.request_id = p_request_id AND a.actor IS NULL
    ORDER BY a.occurred_at, a.partition, a.place LIMIT 100;
END
$$;

CREATE FUNCTION native_sso.support_find_sessions(p_why text, p_idp_issuer text DEFAULT NULL::text, p_subject text DEFAULT NULL::text, p_on_device_of uuid DEFAULT NULL::uuid, p_actor text DEFAULT NULL::text) RETURNS SETOF native_sso.supported_session
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
DECLARE
    v_ids uuid[];
BEGIN
    PERFORM require_reason(p_why);
    v_ids := ARRAY(SELECT supported_ids(p_idp_issuer, p_subject, p_on_device_of, false));
    -- The newest session leads to the user: the audit itself names none.
    INSERT INTO audit_event (occurred_at, kind, session_id, actor, reason, details)
    VALUES (
        clock_timestamp(), 'sessions_found', coalesce(p_on_device_of, v_ids[1]), coalesce(p_actor, session_user), p_why,
        jsonb_build_object('database_user', session_user, 'sessions', cardinality(v_ids)));
    RETURN QUERY
    SELECT l.session_id, l.idp_issuer::text, l.subject::text,
        ARRAY(SELECT g.client_id FROM sso_grant g WHERE g.session_id = l.session_id AND g.revoked_at IS NULL ORDER BY 1),
        l.created_at::timestamptz, l.last_used_at::timestamptz, l.expires_at::timestamptz, l.ended_at::timestamptz, l.end_reason
    FROM session_state l WHERE l.session_id = ANY (v_ids) ORDER BY l.session_id DESC;
END
$$;

CREATE FUNCTION native_sso.supported_ids(p_idp_issuer text, p_subject text, p_on_device_of uuid, p_live_only boolean) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
BEGIN
    IF num_nonnulls(p_subject, p_on_device_of) <> 1 OR (p_idp_issuer IS NULL) <> (p_subject IS NULL) THEN
        RAISE EXCEPTION 'name a user by p_idp_issuer and p_subject, or a device by p_on_device_of, one of its sessions'
            USING ERRCODE = 'invalid_parameter_value';
    END IF;
    IF p_subject IS NOT NULL THEN
        RETURN QUERY
        SELECT l.session_id FROM session_state l
        WHERE l.idp_issuer = p_idp_issuer AND l.subject = p_subject
            AND (NOT p_live_only OR l.ended_at IS NULL AND l.expires_at > now())
        ORDER BY l.session_id DESC LIMIT 1000;
    ELSE
        RETURN QUERY
        SELECT l.session_id FROM session d
        JOIN session_state l ON l.session_id = d.session_id OR l.issuer = d.issuer AND l.device_digest = d.device_digest
        WHERE d.session_id = p_on_device_of
            AND (NOT p_live_only OR l.ended_at IS NULL AND l.expires_at > now())
        ORDER BY l.session_id DESC LIMIT 1000;
    END IF;
END
$$;

CREATE FUNCTION native_sso.sweep_audit(p_limit bigint) RETURNS SETOF native_sso.sweep_batch
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$
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

CREATE FUNCTION native_sso.sweep_devices(p_limit bigint) RETURNS SETOF native_sso.sweep_batch
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION native_sso.sweep_grants(p_limit bigint) RETURNS SETOF native_sso.sweep_batch
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION native_sso.sweep_limit() RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$ SELECT now() - make_interval(days => r.session_days) - interval '1 day' FROM native_sso.retention r WHERE r.only_row $$;

CREATE FUNCTION native_sso.sweep_logouts(p_limit bigint) RETURNS SETOF native_sso.sweep_batch
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION native_sso.sweep_proofs(p_limit bigint) RETURNS SETOF native_sso.sweep_batch
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION native_sso.sweep_sessions(p_limit bigint) RETURNS SETOF native_sso.sweep_batch
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
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

CREATE FUNCTION native_sso.touch_sessions(p_session_ids uuid[], p_devices bytea[], p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE session l SET last_used_at = p_now, device_digest = coalesce(l.device_digest, k.device)
    FROM (
        SELECT h.at, h.session_id, due.device
        FROM unnest(p_session_ids, p_devices) WITH ORDINALITY AS due (session_id, device, place)
        CROSS JOIN LATERAL (
            SELECT h.ctid AS at, h.session_id FROM session h
            WHERE h.session_id = due.session_id AND h.ended_at IS NULL
                AND (h.last_used_at < p_now OR h.device_digest IS NULL)
            OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED) AS h
        WHERE due.place BETWEEN 1 AND 1000) AS k
    WHERE l.ctid = k.at AND l.session_id = k.session_id;
END
$$;

CREATE FUNCTION native_sso.try_sweep() RETURNS boolean
    LANGUAGE sql
    AS $$SELECT pg_try_advisory_xact_lock(7017280452245743465)$$;

CREATE FUNCTION native_sso.unpin_key(p_session_id uuid, p_device bytea, p_client text, p_jkt text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_jkt IS NULL THEN
        RETURN;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended('native_sso.device ' || encode(p_device, 'hex'), 0));
    UPDATE device d SET pinned_keys = nullif(d.pinned_keys - p_client, '{}')
    FROM session l
    WHERE l.session_id = p_session_id AND d.issuer = l.issuer AND d.device_digest = p_device
        AND d.pinned_keys ->> p_client = p_jkt;
END
$$;

CREATE FUNCTION native_sso.use_client_assertion(p_digest bytea, p_expires_at timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'native_sso', 'pg_temp'
    AS $$
BEGIN
    IF p_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    IF NOT pg_try_advisory_xact_lock(hashtextextended('native_sso.assertion ' || encode(p_digest, 'hex'), 0)) THEN
        RETURN false;
    END IF;
    INSERT INTO used_proof (kind, digest, expires_at)
    VALUES ('client_assertion', p_digest, least(p_expires_at, now() + interval '2 hours'))
    ON CONFLICT (kind, digest) DO NOTHING;
    RETURN FOUND;
END
$$;

CREATE FUNCTION native_sso.use_dpop_proof(p_digest bytea, p_seconds bigint) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('native_sso.proof ' || encode(p_digest, 'hex'), 0)) THEN
        RETURN false;
    END IF;
    INSERT INTO used_proof (kind, digest, expires_at)
    VALUES ('dpop', p_digest, clock_timestamp() + make_interval(secs => least(p_seconds, 3600)))
    ON CONFLICT (kind, digest) DO NOTHING;
    RETURN FOUND;
END
$$;

CREATE FUNCTION native_sso.used_assertions(p_shown native_sso.shown[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN ARRAY (
        SELECT s.place FROM unnest(p_shown) AS s
        WHERE s.assertion IS NOT NULL AND NOT use_client_assertion(s.assertion, s.assertion_expires_at));
END
$$;

CREATE FUNCTION native_sso.used_proofs(p_shown native_sso.shown[], p_assertion_used bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN ARRAY (
        SELECT s.place FROM unnest(p_shown) AS s
        WHERE s.proof IS NOT NULL AND s.place <> ALL (p_assertion_used) AND NOT use_dpop_proof(s.proof, s.proof_seconds));
END
$$;

CREATE TABLE native_sso.audit_event_default (
    occurred_at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    request_id uuid,
    client_id text COLLATE pg_catalog."C",
    session_id uuid,
    grant_id uuid,
    reason text,
    actor text,
    details jsonb,
    trace_id uuid,
    recorded_in bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL
);

CREATE TABLE native_sso.broker_count (
    broker_id uuid NOT NULL,
    number bigint NOT NULL,
    counted_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

COMMENT ON TABLE native_sso.broker_count IS 'Each broker counts here, and remembers the last number whose commit was confirmed. A database with a lower number, or without the row, is from an earlier moment, and the broker does not use it.';

COMMENT ON COLUMN native_sso.broker_count.broker_id IS 'The broker''s own name, by chance. The service role cannot read those of other brokers.';

COMMENT ON COLUMN native_sso.broker_count.number IS 'How often it has counted.';

COMMENT ON COLUMN native_sso.broker_count.counted_at IS 'When it counted last. A row goes 400 days later.';

CREATE TABLE native_sso.client (
    client_id native_sso.identifier NOT NULL,
    authentication text NOT NULL,
    enabled boolean NOT NULL,
    grants text[] NOT NULL,
    allowed_scope native_sso.scope_token[] NOT NULL,
    default_scope native_sso.scope_token[] NOT NULL,
    audiences text[] NOT NULL,
    access_token_seconds bigint,
    refresh_token_seconds bigint,
    issues_refresh_token boolean NOT NULL,
    issues_id_token boolean NOT NULL,
    allows_self_exchange boolean NOT NULL,
    dpop text NOT NULL,
    accepted_acr text[] NOT NULL,
    maximum_authentication_seconds bigint,
    copied_claims native_sso.identifier[] DEFAULT '{}'::native_sso.identifier[] NOT NULL,
    assertion_audience text DEFAULT 'issuer'::text NOT NULL,
    assertion_seconds bigint DEFAULT 300 NOT NULL,
    introspects text[] DEFAULT '{}'::text[] NOT NULL,
    access_token_algorithm text,
    id_token_algorithm text,
    created_at timestamp(0) with time zone DEFAULT now() NOT NULL,
    managed_by native_sso.identifier,
    CONSTRAINT client_access_token_seconds_check CHECK (((access_token_seconds >= 10) AND (access_token_seconds <= 86400))),
    CONSTRAINT client_assertion_audience_check CHECK ((assertion_audience = ANY (ARRAY['issuer'::text, 'token_endpoint'::text]))),
    CONSTRAINT client_assertion_seconds_check CHECK (((assertion_seconds >= 10) AND (assertion_seconds <= 3600))),
    CONSTRAINT client_audiences_check CHECK (((cardinality(audiences) > 0) AND (array_position(audiences, NULL::text) IS NULL))),
    CONSTRAINT client_authentication_check CHECK ((authentication = ANY (ARRAY['none'::text, 'client_secret_basic'::text, 'private_key_jwt'::text]))),
    CONSTRAINT client_check CHECK ((default_scope <@ allowed_scope)),
    CONSTRAINT client_copied_claims_check CHECK ((cardinality(copied_claims) <= 8)),
    CONSTRAINT client_dpop_check CHECK ((dpop = ANY (ARRAY['off'::text, 'optional'::text, 'required'::text]))),
    CONSTRAINT client_grants_check CHECK ((grants <@ ARRAY['urn:ietf:params:oauth:grant-type:token-exchange'::text, 'refresh_token'::text])),
    CONSTRAINT client_introspects_check CHECK ((array_position(introspects, NULL::text) IS NULL)),
    CONSTRAINT client_maximum_authentication_seconds_check CHECK ((maximum_authentication_seconds > 0)),
    CONSTRAINT client_refresh_token_seconds_check CHECK (((refresh_token_seconds >= 1) AND (refresh_token_seconds <= 34560000)))
);

COMMENT ON TABLE native_sso.client IS 'The OAuth clients, RFC 6749 section 2.';

COMMENT ON COLUMN native_sso.client.client_id IS 'RFC 6749 section 2.2.';

COMMENT ON COLUMN native_sso.client.authentication IS 'How it authenticates at the token endpoint: none for a public client.';

COMMENT ON COLUMN native_sso.client.enabled IS 'False: every exchange and every refresh of it is refused.';

COMMENT ON COLUMN native_sso.client.grants IS 'The grant types that it may use.';

COMMENT ON COLUMN native_sso.client.allowed_scope IS 'The most that it may ask for.';

COMMENT ON COLUMN native_sso.client.default_scope IS 'What it gets when it names no scope.';

COMMENT ON COLUMN native_sso.client.audiences IS 'aud of its access tokens.';

COMMENT ON COLUMN native_sso.client.access_token_seconds IS 'Lifetime of its access tokens in seconds; NULL: the configured one.';

COMMENT ON COLUMN native_sso.client.refresh_token_seconds IS 'Lifetime of its grants in seconds; NULL: that of the session.';

COMMENT ON COLUMN native_sso.client.issues_refresh_token IS 'Whether an exchange of the current profile gives a refresh token.';

COMMENT ON COLUMN native_sso.client.issues_id_token IS 'Whether an exchange gives an id_token too.';

COMMENT ON COLUMN native_sso.client.allows_self_exchange IS 'Whether it may exchange an id_token of its own.';

COMMENT ON COLUMN native_sso.client.dpop IS 'Whether it may or must show a DPoP key, RFC 9449.';

COMMENT ON COLUMN native_sso.client.accepted_acr IS 'The acr values that satisfy it, best first; empty: any.';

COMMENT ON COLUMN native_sso.client.maximum_authentication_seconds IS 'Greatest age of a login in seconds, from auth_time; NULL: any.';

COMMENT ON COLUMN native_sso.client.copied_claims IS 'The claims of an id_token that its access tokens repeat.';

COMMENT ON COLUMN native_sso.client.assertion_audience IS 'What aud of its assertions may name: the issuer alone, or the token endpoint too.';

COMMENT ON COLUMN native_sso.client.assertion_seconds IS 'Longest life of its assertions in seconds.';

COMMENT ON COLUMN native_sso.client.introspects IS 'The aud of the access tokens that it may introspect, RFC 7662; empty: none.';

COMMENT ON COLUMN native_sso.client.access_token_algorithm IS 'JWS algorithm of its access tokens; NULL: the broker''s first active one.';

COMMENT ON COLUMN native_sso.client.id_token_algorithm IS 'JWS algorithm of its id_tokens; NULL: that of its access tokens.';

COMMENT ON COLUMN native_sso.client.created_at IS 'When it was registered.';

COMMENT ON COLUMN native_sso.client.managed_by IS 'The registry file that manages it; NULL: none.';

CREATE TABLE native_sso.client_key (
    client_id native_sso.identifier NOT NULL,
    kid native_sso.identifier NOT NULL,
    public_jwk jsonb NOT NULL,
    created_at timestamp(0) with time zone DEFAULT now() NOT NULL,
    authentication text DEFAULT 'private_key_jwt'::text NOT NULL,
    CONSTRAINT client_key_authentication_check CHECK ((authentication = 'private_key_jwt'::text)),
    CONSTRAINT client_key_public_jwk_check CHECK (((public_jwk ? 'kty'::text) AND (public_jwk ? 'alg'::text) AND (NOT (public_jwk ?| ARRAY['d'::text, 'p'::text, 'q'::text, 'dp'::text, 'dq'::text, 'qi'::text, 'oth'::text, 'k'::text]))))
);

COMMENT ON TABLE native_sso.client_key IS 'The public keys of private_key_jwt, RFC 7523.';

COMMENT ON COLUMN native_sso.client_key.client_id IS 'Whose key it is.';

COMMENT ON COLUMN native_sso.client_key.kid IS 'The kid in the header of its assertions.';

COMMENT ON COLUMN native_sso.client_key.public_jwk IS 'RFC 7517, without any private member.';

COMMENT ON COLUMN native_sso.client_key.created_at IS 'When it was added.';

COMMENT ON COLUMN native_sso.client_key.authentication IS 'Ties the key to the client''s method.';

CREATE TABLE native_sso.client_secret (
    client_id native_sso.identifier NOT NULL,
    authentication text DEFAULT 'client_secret_basic'::text NOT NULL,
    slot smallint NOT NULL,
    digest bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT client_secret_authentication_check CHECK ((authentication = 'client_secret_basic'::text)),
    CONSTRAINT client_secret_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT client_secret_slot_check CHECK ((slot = ANY (ARRAY[1, 2])))
);

COMMENT ON TABLE native_sso.client_secret IS 'The secrets of client_secret_basic. Two are live at most, so that one is replaced without an outage.';

COMMENT ON COLUMN native_sso.client_secret.client_id IS 'Whose secret it is.';

COMMENT ON COLUMN native_sso.client_secret.authentication IS 'Ties the secret to the client''s method.';

COMMENT ON COLUMN native_sso.client_secret.slot IS '1 or 2.';

COMMENT ON COLUMN native_sso.client_secret.digest IS 'SHA-256 of a generated secret of 256 bits.';

COMMENT ON COLUMN native_sso.client_secret.created_at IS 'To the microsecond: it tells which of two is the older one.';

CREATE TABLE native_sso.database_acceptance (
    only_row boolean NOT NULL,
    accepted_at timestamp with time zone NOT NULL,
    CONSTRAINT database_acceptance_only_row_check CHECK (only_row)
);

COMMENT ON TABLE native_sso.database_acceptance IS 'When an operator last accepted this database although it is from an earlier moment. A broker that has not seen that instant yet counts on from what it finds.';

COMMENT ON COLUMN native_sso.database_acceptance.only_row IS 'There is one row.';

COMMENT ON COLUMN native_sso.database_acceptance.accepted_at IS 'By database accept; -infinity: never.';

CREATE TABLE native_sso.retention (
    only_row boolean NOT NULL,
    session_days integer NOT NULL,
    audit_days integer NOT NULL,
    CONSTRAINT audit_days_from_30_to_3650 CHECK (((audit_days >= 30) AND (audit_days <= 3650))),
    CONSTRAINT retention_only_row_check CHECK (only_row),
    CONSTRAINT session_days_from_90_to_3650 CHECK (((session_days >= 90) AND (session_days <= 3650)))
);

COMMENT ON TABLE native_sso.retention IS 'How long records are kept after their end. The service role can neither read nor change it: a stolen service password must not shorten it.';

COMMENT ON COLUMN native_sso.retention.only_row IS 'There is one row.';

COMMENT ON COLUMN native_sso.retention.session_days IS 'Sessions, grants, devices and logouts of users. An id_token may be 90 days old when it is exchanged: until then the row of its ended session refuses it.';

COMMENT ON COLUMN native_sso.retention.audit_days IS 'The audit, counted from the end of its month.';

CREATE VIEW native_sso.dead_audit_month AS
 SELECT c.relname
   FROM (pg_inherits i
     JOIN pg_class c ON ((c.oid = i.inhrelid)))
  WHERE ((i.inhparent = ('native_sso.audit_event'::regclass)::oid) AND (pg_relation_size((c.oid)::regclass) > 0) AND ((to_date("substring"((c.relname)::text, '^audit_event_p(\d{4}_\d{2})$'::text), 'YYYY_MM'::text) + '1 mon'::interval) <= ( SELECT ((now() AT TIME ZONE 'UTC'::text) - make_interval(days => r.audit_days))
           FROM native_sso.retention r
          WHERE r.only_row)));

CREATE TABLE native_sso.relayed_code (
    code bytea NOT NULL,
    binding bytea NOT NULL,
    request_id uuid NOT NULL,
    state text NOT NULL,
    valid_until timestamp with time zone NOT NULL,
    answer bytea,
    expires_at timestamp with time zone NOT NULL,
    is_sent boolean NOT NULL,
    reserved_at timestamp(0) with time zone NOT NULL,
    CONSTRAINT relayed_code_answer_check CHECK ((octet_length(answer) <= 131072)),
    CONSTRAINT relayed_code_binding_check CHECK ((octet_length(binding) = 32)),
    CONSTRAINT relayed_code_check CHECK (((state = ANY (ARRAY['kept'::text, 'answered'::text])) = (answer IS NOT NULL))),
    CONSTRAINT relayed_code_code_check CHECK ((octet_length(code) = 32)),
    CONSTRAINT relayed_code_state_check CHECK ((state = ANY (ARRAY['asked'::text, 'kept'::text, 'answered'::text, 'lost'::text])))
);

COMMENT ON TABLE native_sso.relayed_code IS 'Authorization codes that were relayed to an IdP. Each is sent there once (RFC 6749 section 4.1.2).';

COMMENT ON COLUMN native_sso.relayed_code.code IS 'HMAC of issuer and code under the brokers'' device key.';

COMMENT ON COLUMN native_sso.relayed_code.binding IS 'Stands for client, verifier, redirect URI, device value, scope and key: a repeated request shows the same.';

COMMENT ON COLUMN native_sso.relayed_code.request_id IS 'The request that asks the IdP.';

COMMENT ON COLUMN native_sso.relayed_code.state IS 'asked: reserved, or at the IdP. kept: the IdP answered. answered: the broker answered too. lost: no answer can come.';

COMMENT ON COLUMN native_sso.relayed_code.valid_until IS 'Until then an answer may come, and a kept answer is given out.';

COMMENT ON COLUMN native_sso.relayed_code.answer IS 'The answer, sealed under a key that is made of code, verifier and the brokers'' device key.';

COMMENT ON COLUMN native_sso.relayed_code.expires_at IS 'When the row may be swept.';

COMMENT ON COLUMN native_sso.relayed_code.is_sent IS 'In state asked: false while the code is reserved and has not left.';

COMMENT ON COLUMN native_sso.relayed_code.reserved_at IS 'When the request that asks the IdP reserved it.';

CREATE VIEW native_sso.dead_code AS
 SELECT r.code,
    r.expires_at
   FROM native_sso.relayed_code r
  WHERE (r.expires_at < now());

CREATE TABLE native_sso.device (
    issuer text NOT NULL COLLATE pg_catalog."C",
    device_digest native_sso.digest NOT NULL,
    first_seen_at timestamp(0) with time zone NOT NULL,
    blocked_at timestamp(0) with time zone,
    pinned_keys native_sso.keys_by_client
);

COMMENT ON TABLE native_sso.device IS 'The devices of an IdP''s logins.';

COMMENT ON COLUMN native_sso.device.issuer IS 'The IdP. One device value has another digest at another issuer.';

COMMENT ON COLUMN native_sso.device.device_digest IS 'HMAC-SHA-256 of the device value, under a key that is not in this database.';

COMMENT ON COLUMN native_sso.device.first_seen_at IS 'When a grant or an enrolment first named it.';

COMMENT ON COLUMN native_sso.device.blocked_at IS 'Since when an operator keeps it out; NULL: it is not blocked.';

COMMENT ON COLUMN native_sso.device.pinned_keys IS 'The only key that a client may show on the device (DPoP), by client_id.';

CREATE VIEW native_sso.dead_device AS
 SELECT d.issuer,
    d.device_digest
   FROM native_sso.device d
  WHERE ((d.blocked_at IS NULL) AND (d.first_seen_at < ( SELECT native_sso.sweep_limit() AS sweep_limit)) AND (NOT (EXISTS ( SELECT
           FROM native_sso.session l
          WHERE (((l.device_digest)::bytea = (d.device_digest)::bytea) AND (NOT (GREATEST(l.expires_at, l.ended_at) < ( SELECT native_sso.sweep_limit() AS sweep_limit))))))) AND (NOT (EXISTS ( SELECT
           FROM (native_sso.sso_grant g
             JOIN native_sso.session l USING (session_id))
          WHERE (((g.device_digest)::bytea = (d.device_digest)::bytea) AND (g.jkt IS NOT NULL) AND (NOT (GREATEST(l.expires_at, l.ended_at) < ( SELECT native_sso.sweep_limit() AS sweep_limit))))))));

CREATE VIEW native_sso.dead_grant AS
 SELECT g.grant_id,
    g.revoked_at
   FROM native_sso.sso_grant g
  WHERE ((g.revoked_at < ( SELECT native_sso.sweep_limit() AS sweep_limit)) AND (g.revoke_reason <> 'refresh_token_reused'::text));

CREATE TABLE native_sso.subject_logout (
    idp_issuer native_sso.issuer_identifier NOT NULL,
    subject native_sso.issued_identifier NOT NULL,
    issued_at timestamp(0) with time zone,
    recorded_at timestamp(0) with time zone NOT NULL,
    without_sid_issued_at timestamp(0) with time zone,
    disabled_at timestamp(0) with time zone,
    enabled_at timestamp(0) with time zone
);

COMMENT ON TABLE native_sso.subject_logout IS 'The last logout of a user, and whether the account is disabled: a login from before the logout is dead when it comes in.';

COMMENT ON COLUMN native_sso.subject_logout.idp_issuer IS 'The IdP that said so.';

COMMENT ON COLUMN native_sso.subject_logout.subject IS 'sub of the logout token.';

COMMENT ON COLUMN native_sso.subject_logout.issued_at IS 'iat of the last logout token that ended all sessions of the user.';

COMMENT ON COLUMN native_sso.subject_logout.recorded_at IS 'When the row was written last; it goes by the sweep.';

COMMENT ON COLUMN native_sso.subject_logout.without_sid_issued_at IS 'iat of the last logout token that ended the user''s sessions without sid.';

COMMENT ON COLUMN native_sso.subject_logout.disabled_at IS 'Since when the IdP says that the account is disabled (RISC); NULL: it is not. No session begins, and the sweep keeps the row.';

COMMENT ON COLUMN native_sso.subject_logout.enabled_at IS 'When the IdP enabled it last: an older account-disabled that comes later counts as a logout only.';

CREATE VIEW native_sso.dead_logout AS
 SELECT o.idp_issuer,
    o.subject,
    o.recorded_at
   FROM native_sso.subject_logout o
  WHERE ((o.recorded_at < ( SELECT native_sso.sweep_limit() AS sweep_limit)) AND (o.disabled_at IS NULL));

CREATE TABLE native_sso.used_proof (
    kind text NOT NULL,
    digest bytea NOT NULL,
    expires_at timestamp(0) with time zone NOT NULL,
    session_id uuid,
    CONSTRAINT used_proof_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT used_proof_kind_check CHECK ((kind = ANY (ARRAY['dpop'::text, 'client_assertion'::text, 'logout_token'::text, 'enrolment'::text, 'global_token_revocation'::text, 'session_revoked'::text, 'account_disabled'::text, 'account_enabled'::text])))
);

COMMENT ON TABLE native_sso.used_proof IS 'What is good once and was used.';

COMMENT ON COLUMN native_sso.used_proof.kind IS 'So that a proof of one kind is never taken for one of another.';

COMMENT ON COLUMN native_sso.used_proof.digest IS 'SHA-256 of what names the proof.';

COMMENT ON COLUMN native_sso.used_proof.expires_at IS 'When it would be refused for its age.';

COMMENT ON COLUMN native_sso.used_proof.session_id IS 'Of an enrolment: the session that the id_token began.';

CREATE VIEW native_sso.dead_proof AS
 SELECT p.kind,
    p.digest,
    p.expires_at
   FROM native_sso.used_proof p
  WHERE (p.expires_at < (now() - '01:00:00'::interval));

CREATE VIEW native_sso.dead_session AS
 SELECT l.session_id
   FROM native_sso.session l
  WHERE (GREATEST(l.expires_at, l.ended_at) < ( SELECT native_sso.sweep_limit() AS sweep_limit));

CREATE VIEW native_sso.dead_web_handoff AS
 SELECT h.code,
    h.expires_at
   FROM native_sso.web_handoff h
  WHERE (h.expires_at < (now() - '01:00:00'::interval));

CREATE TABLE native_sso.idp_key (
    issuer text NOT NULL COLLATE pg_catalog."C",
    thumbprint text NOT NULL COLLATE pg_catalog."C",
    kid text NOT NULL COLLATE pg_catalog."C",
    algorithm text NOT NULL COLLATE pg_catalog."C",
    public_jwk jsonb NOT NULL,
    first_seen_at timestamp(0) with time zone NOT NULL,
    last_seen_at timestamp(0) with time zone NOT NULL,
    tag text NOT NULL COLLATE pg_catalog."C",
    revoked_at timestamp(0) with time zone,
    CONSTRAINT idp_key_first_seen_at_check CHECK (isfinite(first_seen_at)),
    CONSTRAINT idp_key_last_seen_at_check CHECK (isfinite(last_seen_at)),
    CONSTRAINT idp_key_public_jwk_check CHECK ((NOT (public_jwk ?| ARRAY['d'::text, 'p'::text, 'q'::text, 'dp'::text, 'dq'::text, 'qi'::text, 'k'::text]))),
    CONSTRAINT idp_key_tag_check CHECK ((octet_length(tag) = 43)),
    CONSTRAINT idp_key_thumbprint_check CHECK ((octet_length(thumbprint) = 43))
);

COMMENT ON TABLE native_sso.idp_key IS 'The entries of IdPs'' key sets: an id_token may be older than the present set. A key counts for the issuer that showed it only, because tenants of one provider share keys.';

COMMENT ON COLUMN native_sso.idp_key.issuer IS 'The IdP that published it.';

COMMENT ON COLUMN native_sso.idp_key.thumbprint IS 'RFC 7638.';

COMMENT ON COLUMN native_sso.idp_key.kid IS 'kid of the entry; empty: it has none.';

COMMENT ON COLUMN native_sso.idp_key.algorithm IS 'alg of the entry; empty: it has none.';

COMMENT ON COLUMN native_sso.idp_key.public_jwk IS 'RFC 7517.';

COMMENT ON COLUMN native_sso.idp_key.first_seen_at IS 'When a broker first fetched it.';

COMMENT ON COLUMN native_sso.idp_key.last_seen_at IS 'When a broker last fetched it.';

COMMENT ON COLUMN native_sso.idp_key.tag IS 'HMAC under the brokers'' device key over the columns before. The service role may write here, so a row that no broker made must not count.';

COMMENT ON COLUMN native_sso.idp_key.revoked_at IS 'Since when an operator distrusts it. One revoked row revokes the key in all its entries.';

CREATE TABLE native_sso.registry_serial (
    only_row boolean NOT NULL,
    serial bigint NOT NULL,
    changed_in xid8 NOT NULL,
    CONSTRAINT registry_serial_only_row_check CHECK (only_row)
);

COMMENT ON TABLE native_sso.registry_serial IS 'How often clients, scopes, groups and members have changed. Every change locks the row first, so that changes are one after another.';

COMMENT ON COLUMN native_sso.registry_serial.only_row IS 'There is one row.';

COMMENT ON COLUMN native_sso.registry_serial.serial IS 'Grows by one with each transaction that changes the registry.';

COMMENT ON COLUMN native_sso.registry_serial.changed_in IS 'The last of these transactions: its later statements count no more.';

CREATE TABLE native_sso.schema_migration (
    ordinal integer NOT NULL,
    version integer,
    name text NOT NULL COLLATE pg_catalog."C",
    sha256 bytea NOT NULL,
    applied_at timestamp with time zone NOT NULL,
    applied_by text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT schema_migration_sha256_check CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT schema_migration_version_check CHECK ((version > 0))
);

COMMENT ON TABLE native_sso.schema_migration IS 'The files of Migrations that were applied to this database.';

COMMENT ON COLUMN native_sso.schema_migration.ordinal IS 'The order in which they were applied.';

COMMENT ON COLUMN native_sso.schema_migration.version IS 'The number of a numbered file; NULL for a repeatable file, which has a row for each text.';

COMMENT ON COLUMN native_sso.schema_migration.name IS 'The name of the file, without number and suffix.';

COMMENT ON COLUMN native_sso.schema_migration.sha256 IS 'SHA-256 of the file as it was applied.';

COMMENT ON COLUMN native_sso.schema_migration.applied_at IS 'When it was applied.';

COMMENT ON COLUMN native_sso.schema_migration.applied_by IS 'The login role that applied it.';

ALTER TABLE native_sso.schema_migration ALTER COLUMN ordinal ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME native_sso.schema_migration_ordinal_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE native_sso.scope (
    name native_sso.scope_token NOT NULL,
    requires_consent boolean NOT NULL,
    managed_by native_sso.identifier
);

COMMENT ON TABLE native_sso.scope IS 'The scopes that need special handling. Others need no row.';

COMMENT ON COLUMN native_sso.scope.name IS 'The scope token.';

COMMENT ON COLUMN native_sso.scope.requires_consent IS 'Whether no exchange grants it, because the user must consent at the IdP.';

COMMENT ON COLUMN native_sso.scope.managed_by IS 'The registry file that manages it; NULL: none.';

CREATE TABLE native_sso.service_count (
    only_row boolean NOT NULL,
    counted_at timestamp with time zone NOT NULL,
    CONSTRAINT service_count_only_row_check CHECK (only_row)
)
WITH (fillfactor='50');

COMMENT ON TABLE native_sso.service_count IS 'When any broker last counted while it could answer requests. The service role only calls count_broker: with the service''s password one can hide a gap, or make one.';

COMMENT ON COLUMN native_sso.service_count.only_row IS 'There is one row.';

COMMENT ON COLUMN native_sso.service_count.counted_at IS 'By the database''s clock; -infinity: never.';

CREATE TABLE native_sso.service_gap (
    began_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    CONSTRAINT service_gap_check CHECK ((ended_at > began_at))
);

COMMENT ON TABLE native_sso.service_gap IS 'A time of more than 6 s in which no broker counted in service_count: no app could get an answer. Grace periods do not run in it.';

COMMENT ON COLUMN native_sso.service_gap.began_at IS 'The last count before it.';

COMMENT ON COLUMN native_sso.service_gap.ended_at IS 'The first count after it. A row goes 8 days later.';

CREATE TABLE native_sso.sharing_group (
    group_id native_sso.identifier NOT NULL,
    issuer text NOT NULL COLLATE pg_catalog."C",
    created_at timestamp(0) with time zone DEFAULT now() NOT NULL,
    managed_by native_sso.identifier
);

COMMENT ON TABLE native_sso.sharing_group IS 'The clients that share logins of one IdP.';

COMMENT ON COLUMN native_sso.sharing_group.group_id IS 'The name that an operator gave it.';

COMMENT ON COLUMN native_sso.sharing_group.issuer IS 'The IdP. A group never spans issuers.';

COMMENT ON COLUMN native_sso.sharing_group.created_at IS 'When it was made.';

COMMENT ON COLUMN native_sso.sharing_group.managed_by IS 'The registry file that manages it; NULL: none.';

CREATE TABLE native_sso.signing_key (
    kid native_sso.identifier NOT NULL,
    use text NOT NULL,
    algorithm text NOT NULL,
    reference text NOT NULL,
    public_jwk jsonb,
    state text NOT NULL,
    replica native_sso.identifier,
    created_at timestamp(0) with time zone NOT NULL,
    published_at timestamp(0) with time zone,
    activated_at timestamp(0) with time zone,
    retired_at timestamp(0) with time zone,
    removed_at timestamp(0) with time zone,
    suspended_at timestamp(0) with time zone,
    CONSTRAINT signing_key_check CHECK (((replica IS NULL) OR (use = 'access-token'::text))),
    CONSTRAINT signing_key_check1 CHECK (((use = 'access-token'::text) = (public_jwk IS NOT NULL))),
    CONSTRAINT signing_key_check2 CHECK (((state = ANY (ARRAY['pending'::text, 'removed'::text])) OR (published_at IS NOT NULL))),
    CONSTRAINT signing_key_check3 CHECK (((state <> 'active'::text) OR (activated_at IS NOT NULL))),
    CONSTRAINT signing_key_check4 CHECK (((state <> 'retired'::text) OR (retired_at IS NOT NULL))),
    CONSTRAINT signing_key_check5 CHECK (((state = 'removed'::text) = (removed_at IS NOT NULL))),
    CONSTRAINT signing_key_public_jwk_check CHECK ((NOT (public_jwk ?| ARRAY['d'::text, 'p'::text, 'q'::text, 'dp'::text, 'dq'::text, 'qi'::text, 'k'::text]))),
    CONSTRAINT signing_key_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'published'::text, 'active'::text, 'retired'::text, 'removed'::text]))),
    CONSTRAINT signing_key_use_check CHECK ((use = ANY (ARRAY['access-token'::text, 'refresh-token'::text, 'device'::text])))
);

COMMENT ON TABLE native_sso.signing_key IS 'The keys of the key module. One is active for each use and algorithm, and for each replica that has its own.';

COMMENT ON COLUMN native_sso.signing_key.kid IS 'kid of what it signs.';

COMMENT ON COLUMN native_sso.signing_key.use IS 'access-token signs JWTs; refresh-token and device are MAC keys.';

COMMENT ON COLUMN native_sso.signing_key.algorithm IS 'JWS algorithm, or HS256 for a MAC key.';

COMMENT ON COLUMN native_sso.signing_key.reference IS 'Where the key provider finds the private part: a file name, an object label.';

COMMENT ON COLUMN native_sso.signing_key.public_jwk IS 'What the JWKS publishes; NULL for a MAC key.';

COMMENT ON COLUMN native_sso.signing_key.state IS 'pending, published, active, retired, removed, in this order.';

COMMENT ON COLUMN native_sso.signing_key.replica IS 'keys.replica of the brokers that sign with it; NULL: all of them.';

COMMENT ON COLUMN native_sso.signing_key.created_at IS 'When it was made.';

COMMENT ON COLUMN native_sso.signing_key.published_at IS 'Since when the JWKS holds it.';

COMMENT ON COLUMN native_sso.signing_key.activated_at IS 'Since when it signs.';

COMMENT ON COLUMN native_sso.signing_key.retired_at IS 'Since when it signs no more.';

COMMENT ON COLUMN native_sso.signing_key.removed_at IS 'Since when the JWKS lacks it.';

COMMENT ON COLUMN native_sso.signing_key.suspended_at IS 'Since when an operator keeps it from signing; NULL: it may sign.';

CREATE TABLE native_sso.subject_prefix (
    issuer text NOT NULL COLLATE pg_catalog."C",
    prefix text NOT NULL COLLATE pg_catalog."C",
    used_at timestamp(0) with time zone,
    CONSTRAINT subject_prefix_prefix_check CHECK ((octet_length(prefix) <= 64))
);

COMMENT ON TABLE native_sso.subject_prefix IS 'How the broker names the users of each IdP. APIs know users by these names, so a prefix in use stays.';

COMMENT ON COLUMN native_sso.subject_prefix.issuer IS 'The IdP.';

COMMENT ON COLUMN native_sso.subject_prefix.prefix IS 'Put before each sub in the broker''s tokens; empty: nothing.';

COMMENT ON COLUMN native_sso.subject_prefix.used_at IS 'When a session of this IdP was first noticed; NULL: none was, and the prefix may change.';

CREATE TABLE native_sso.suspended_provider (
    issuer native_sso.issuer_identifier NOT NULL,
    suspended_at timestamp with time zone NOT NULL
);

COMMENT ON TABLE native_sso.suspended_provider IS 'The IdPs from which no login is taken for now. Who suspended it, and why, is in the audit.';

COMMENT ON COLUMN native_sso.suspended_provider.issuer IS 'The IdP.';

COMMENT ON COLUMN native_sso.suspended_provider.suspended_at IS 'Since when.';

CREATE TABLE native_sso.sweep (
    only_row boolean NOT NULL,
    begun_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    after_session uuid DEFAULT '00000000-0000-0000-0000-000000000000'::uuid NOT NULL,
    after_issuer text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    after_device bytea DEFAULT '\x'::bytea NOT NULL,
    CONSTRAINT sweep_only_row_check CHECK (only_row)
);

COMMENT ON TABLE native_sso.sweep IS 'When the last sweep began, so that one broker sweeps for all, and where the next batch goes on. The service role cannot read it.';

COMMENT ON COLUMN native_sso.sweep.only_row IS 'There is one row.';

COMMENT ON COLUMN native_sso.sweep.begun_at IS 'When the last sweep began.';

COMMENT ON COLUMN native_sso.sweep.after_session IS 'The last session that a sweep looked at; zero: it begins with the first.';

COMMENT ON COLUMN native_sso.sweep.after_issuer IS 'The issuer of the last device that a sweep looked at; empty: it begins with the first.';

COMMENT ON COLUMN native_sso.sweep.after_device IS 'The digest of that device.';

ALTER TABLE ONLY native_sso.audit_event ATTACH PARTITION native_sso.audit_event_default DEFAULT;

ALTER TABLE ONLY native_sso.broker_count
    ADD CONSTRAINT broker_count_pkey PRIMARY KEY (broker_id);

ALTER TABLE ONLY native_sso.client
    ADD CONSTRAINT client_client_id_authentication_key UNIQUE (client_id, authentication);

ALTER TABLE ONLY native_sso.client_key
    ADD CONSTRAINT client_key_pkey PRIMARY KEY (client_id, kid);

ALTER TABLE ONLY native_sso.client
    ADD CONSTRAINT client_pkey PRIMARY KEY (client_id);

ALTER TABLE ONLY native_sso.client_secret
    ADD CONSTRAINT client_secret_pkey PRIMARY KEY (client_id, slot);

ALTER TABLE ONLY native_sso.database_acceptance
    ADD CONSTRAINT database_acceptance_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY native_sso.device
    ADD CONSTRAINT device_pkey PRIMARY KEY (issuer, device_digest);

ALTER TABLE ONLY native_sso.general_end
    ADD CONSTRAINT general_end_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY native_sso.idp_key
    ADD CONSTRAINT idp_key_pkey PRIMARY KEY (issuer, thumbprint, kid, algorithm);

ALTER TABLE ONLY native_sso.registry_serial
    ADD CONSTRAINT registry_serial_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY native_sso.relayed_code
    ADD CONSTRAINT relayed_code_pkey PRIMARY KEY (code);

ALTER TABLE ONLY native_sso.retention
    ADD CONSTRAINT retention_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY native_sso.schema_migration
    ADD CONSTRAINT schema_migration_name_sha256_key UNIQUE (name, sha256);

ALTER TABLE ONLY native_sso.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (ordinal);

ALTER TABLE ONLY native_sso.schema_migration
    ADD CONSTRAINT schema_migration_version_key UNIQUE (version);

ALTER TABLE ONLY native_sso.scope
    ADD CONSTRAINT scope_pkey PRIMARY KEY (name);

ALTER TABLE ONLY native_sso.service_count
    ADD CONSTRAINT service_count_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY native_sso.service_gap
    ADD CONSTRAINT service_gap_pkey PRIMARY KEY (began_at);

ALTER TABLE ONLY native_sso.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (session_id);

ALTER TABLE ONLY native_sso.sharing_group
    ADD CONSTRAINT sharing_group_group_id_issuer_key UNIQUE (group_id, issuer);

ALTER TABLE ONLY native_sso.sharing_group_member
    ADD CONSTRAINT sharing_group_member_issuer_client_id_key UNIQUE (issuer, client_id);

ALTER TABLE ONLY native_sso.sharing_group_member
    ADD CONSTRAINT sharing_group_member_pkey PRIMARY KEY (group_id, client_id);

ALTER TABLE ONLY native_sso.sharing_group
    ADD CONSTRAINT sharing_group_pkey PRIMARY KEY (group_id);

ALTER TABLE ONLY native_sso.signing_key
    ADD CONSTRAINT signing_key_pkey PRIMARY KEY (kid);

ALTER TABLE ONLY native_sso.sso_grant
    ADD CONSTRAINT sso_grant_pkey PRIMARY KEY (grant_id);

ALTER TABLE ONLY native_sso.subject_logout
    ADD CONSTRAINT subject_logout_pkey PRIMARY KEY (idp_issuer, subject);

ALTER TABLE ONLY native_sso.subject_prefix
    ADD CONSTRAINT subject_prefix_pkey PRIMARY KEY (issuer);

ALTER TABLE ONLY native_sso.suspended_provider
    ADD CONSTRAINT suspended_provider_pkey PRIMARY KEY (issuer);

ALTER TABLE ONLY native_sso.sweep
    ADD CONSTRAINT sweep_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY native_sso.used_proof
    ADD CONSTRAINT used_proof_pkey PRIMARY KEY (kind, digest);

ALTER TABLE ONLY native_sso.web_handoff
    ADD CONSTRAINT web_handoff_pkey PRIMARY KEY (code);

CREATE INDEX audit_event_time ON ONLY native_sso.audit_event USING brin (occurred_at, recorded_in) WITH (pages_per_range='32', autosummarize='on');

CREATE INDEX audit_event_default_occurred_at_recorded_in_idx ON native_sso.audit_event_default USING brin (occurred_at, recorded_in) WITH (pages_per_range='32', autosummarize='on');

CREATE INDEX audit_event_request ON ONLY native_sso.audit_event USING btree (request_id) WHERE (request_id IS NOT NULL);

CREATE INDEX audit_event_default_request_id_idx ON native_sso.audit_event_default USING btree (request_id) WHERE (request_id IS NOT NULL);

CREATE UNIQUE INDEX client_key_material ON native_sso.client_key USING btree (client_id, md5((((((((((((public_jwk ->> 'kty'::text) || ' '::text) || COALESCE((public_jwk ->> 'crv'::text), ''::text)) || ' '::text) || COALESCE((public_jwk ->> 'x'::text), ''::text)) || ' '::text) || COALESCE((public_jwk ->> 'y'::text), ''::text)) || ' '::text) || COALESCE((public_jwk ->> 'n'::text), ''::text)) || ' '::text) || COALESCE((public_jwk ->> 'e'::text), ''::text))));

CREATE INDEX relayed_code_answer ON native_sso.relayed_code USING btree (valid_until) WHERE (answer IS NOT NULL);

CREATE INDEX relayed_code_expiry ON native_sso.relayed_code USING btree (expires_at);

CREATE INDEX session_device ON native_sso.session USING btree (device_digest);

CREATE INDEX session_idp_sid ON native_sso.session USING btree (idp_issuer, idp_sid);

CREATE UNIQUE INDEX session_name ON native_sso.session USING btree (issuer, sid, COALESCE(ended_at, 'infinity'::timestamp with time zone));

CREATE INDEX session_subject ON native_sso.session USING btree (idp_issuer, subject, session_id);

CREATE UNIQUE INDEX signing_key_active ON native_sso.signing_key USING btree (use, algorithm, COALESCE((replica)::text, ''::text)) WHERE (state = 'active'::text);

CREATE UNIQUE INDEX signing_key_successor ON native_sso.signing_key USING btree (use, algorithm, COALESCE((replica)::text, ''::text)) WHERE (state = 'published'::text);

CREATE INDEX sso_grant_bound ON native_sso.sso_grant USING btree (device_digest) WHERE (jkt IS NOT NULL);

CREATE UNIQUE INDEX sso_grant_live ON native_sso.sso_grant USING btree (session_id, client_id) WHERE (revoked_at IS NULL);

CREATE INDEX sso_grant_replayed ON native_sso.sso_grant USING btree (session_id, client_id) WHERE (revoke_reason = 'refresh_token_reused'::text);

CREATE INDEX sso_grant_session ON native_sso.sso_grant USING btree (session_id);

CREATE INDEX sso_grant_sweepable ON native_sso.sso_grant USING btree (revoked_at) WHERE ((revoked_at IS NOT NULL) AND (revoke_reason <> 'refresh_token_reused'::text));

CREATE INDEX subject_logout_age ON native_sso.subject_logout USING btree (recorded_at);

CREATE INDEX used_proof_expiry ON native_sso.used_proof USING btree (expires_at);

CREATE INDEX web_handoff_expiry ON native_sso.web_handoff USING btree (expires_at);

ALTER INDEX native_sso.audit_event_time ATTACH PARTITION native_sso.audit_event_default_occurred_at_recorded_in_idx;

ALTER INDEX native_sso.audit_event_request ATTACH PARTITION native_sso.audit_event_default_request_id_idx;

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON native_sso.client FOR EACH STATEMENT EXECUTE FUNCTION native_sso.announce_registry_change();

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON native_sso.client_key FOR EACH STATEMENT EXECUTE FUNCTION native_sso.announce_registry_change();

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON native_sso.client_secret FOR EACH STATEMENT EXECUTE FUNCTION native_sso.announce_registry_change();

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON native_sso.scope FOR EACH STATEMENT EXECUTE FUNCTION native_sso.announce_registry_change();

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON native_sso.sharing_group_member FOR EACH STATEMENT EXECUTE FUNCTION native_sso.announce_registry_change();

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON native_sso.signing_key FOR EACH STATEMENT EXECUTE FUNCTION native_sso.announce_registry_change();

CREATE TRIGGER announce AFTER INSERT OR DELETE OR UPDATE ON native_sso.suspended_provider FOR EACH STATEMENT EXECUTE FUNCTION native_sso.announce_registry_change();

CREATE TRIGGER append_only BEFORE DELETE OR UPDATE ON native_sso.audit_event FOR EACH ROW EXECUTE FUNCTION native_sso.refuse_change('the audit is append only');

CREATE TRIGGER count BEFORE INSERT OR DELETE OR UPDATE ON native_sso.client FOR EACH STATEMENT EXECUTE FUNCTION native_sso.count_registry_change();

CREATE TRIGGER count BEFORE INSERT OR DELETE OR UPDATE ON native_sso.scope FOR EACH STATEMENT EXECUTE FUNCTION native_sso.count_registry_change();

CREATE TRIGGER count BEFORE INSERT OR DELETE OR UPDATE ON native_sso.sharing_group FOR EACH STATEMENT EXECUTE FUNCTION native_sso.count_registry_change();

CREATE TRIGGER count BEFORE INSERT OR DELETE OR UPDATE ON native_sso.sharing_group_member FOR EACH STATEMENT EXECUTE FUNCTION native_sso.count_registry_change();

CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON native_sso.session FOR EACH ROW EXECUTE FUNCTION native_sso.guard_session();

CREATE TRIGGER guard_grant AFTER UPDATE ON native_sso.sso_grant FOR EACH ROW EXECUTE FUNCTION native_sso.guard_grant();

CREATE TRIGGER guard_identity AFTER UPDATE OF grant_id, session_id, client_id ON native_sso.sso_grant FOR EACH ROW EXECUTE FUNCTION native_sso.refuse_change('a grant stays in its session, with its client');

CREATE TRIGGER guard_limits AFTER INSERT ON native_sso.session FOR EACH ROW EXECUTE FUNCTION native_sso.guard_limits();

CREATE TRIGGER guard_revocation AFTER INSERT OR UPDATE OF revoked_at, revoke_reason ON native_sso.sso_grant FOR EACH ROW EXECUTE FUNCTION native_sso.guard_revocation();

CREATE TRIGGER keep_logged_out BEFORE INSERT ON native_sso.session FOR EACH ROW EXECUTE FUNCTION native_sso.keep_logged_out();

CREATE TRIGGER revoked_is_for_ever BEFORE UPDATE ON native_sso.idp_key FOR EACH ROW WHEN (((old.revoked_at IS NOT NULL) AND (new.revoked_at IS DISTINCT FROM old.revoked_at))) EXECUTE FUNCTION native_sso.refuse_change('a revoked key stays revoked');

CREATE TRIGGER stays BEFORE DELETE OR TRUNCATE ON native_sso.general_end FOR EACH STATEMENT EXECUTE FUNCTION native_sso.refuse_change('the general end is never taken back');

ALTER TABLE ONLY native_sso.client_key
    ADD CONSTRAINT client_key_client_id_authentication_fkey FOREIGN KEY (client_id, authentication) REFERENCES native_sso.client(client_id, authentication) ON DELETE CASCADE;

ALTER TABLE ONLY native_sso.client_secret
    ADD CONSTRAINT client_secret_client_id_authentication_fkey FOREIGN KEY (client_id, authentication) REFERENCES native_sso.client(client_id, authentication) ON DELETE CASCADE;

ALTER TABLE ONLY native_sso.sharing_group_member
    ADD CONSTRAINT sharing_group_member_client_id_fkey FOREIGN KEY (client_id) REFERENCES native_sso.client(client_id) ON DELETE CASCADE;

ALTER TABLE ONLY native_sso.sharing_group_member
    ADD CONSTRAINT sharing_group_member_group_id_issuer_fkey FOREIGN KEY (group_id, issuer) REFERENCES native_sso.sharing_group(group_id, issuer) ON DELETE CASCADE;

ALTER TABLE ONLY native_sso.sso_grant
    ADD CONSTRAINT sso_grant_client_id_fkey FOREIGN KEY (client_id) REFERENCES native_sso.client(client_id) ON DELETE CASCADE;

ALTER TABLE ONLY native_sso.sso_grant
    ADD CONSTRAINT sso_grant_session_id_fkey FOREIGN KEY (session_id) REFERENCES native_sso.session(session_id) ON DELETE CASCADE;

GRANT USAGE ON SCHEMA native_sso TO native_sso_broker;
GRANT USAGE ON SCHEMA native_sso TO native_sso_registrar;
GRANT USAGE ON SCHEMA native_sso TO native_sso_support;
GRANT USAGE ON SCHEMA native_sso TO native_sso_audit;

REVOKE ALL ON FUNCTION native_sso.announce_registry_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.are_in_group(p_issuer text, p_group text, p_clients text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.begin_grants(p_calls native_sso.exchange_call[], p_answers native_sso.exchange_answer[], p_now timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.begin_logout(p_digest bytea, p_issuer text, p_sid bytea, p_subject text, p_issued_at timestamp with time zone, p_session_id uuid, p_without_sid boolean, p_cause text) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.begin_logout(p_digest bytea, p_issuer text, p_sid bytea, p_subject text, p_issued_at timestamp with time zone, p_session_id uuid, p_without_sid boolean, p_cause text) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.begin_sweep(p_interval_seconds bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.begin_sweep(p_interval_seconds bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.broker_number(p_broker uuid, OUT number bigint, OUT accepted_at bigint, OUT started_at bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.broker_number(p_broker uuid, OUT number bigint, OUT accepted_at bigint, OUT started_at bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.count_broker(p_broker uuid, p_known bigint, p_serves boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.count_broker(p_broker uuid, p_known bigint, p_serves boolean) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.count_registry_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.end_logged_out(p_request_id uuid, p_issuer text, p_sid bytea, p_subject text, p_until timestamp with time zone, p_after uuid, p_limit bigint, p_without_sid boolean, p_issued_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.end_logged_out(p_request_id uuid, p_issuer text, p_sid bytea, p_subject text, p_until timestamp with time zone, p_after uuid, p_limit bigint, p_without_sid boolean, p_issued_at timestamp with time zone) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.end_over(p_call native_sso.exchange_call, p_now timestamp with time zone, p_end native_sso.general_end) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.end_sessions(p_session_ids uuid[], p_reason text, p_actor text, p_details jsonb, p_request_id uuid, p_only_free boolean, p_same_login_may_return boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.end_signed_out(p_request_id uuid, p_client text, p_issuers text[], p_devices text[], p_grant_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.end_signed_out(p_request_id uuid, p_client text, p_issuers text[], p_devices text[], p_grant_id uuid) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.enrol(p_request_id uuid, p_issuer text, p_idp_sid bytea, p_subject text, p_client text, p_device bytea, p_profile text, p_token bytea, p_token_expires_at timestamp with time zone, p_auth_time timestamp with time zone, p_acr text, p_amr text[], p_session_seconds bigint, p_permitted boolean, p_session_id uuid, p_issued_at timestamp with time zone, p_by text, p_heeds_pin boolean, p_jkt native_sso.jwk_thumbprint, p_proof bytea, p_proof_seconds bigint, p_assertion bytea, p_assertion_expires_at timestamp with time zone, p_trace_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.enrol(p_request_id uuid, p_issuer text, p_idp_sid bytea, p_subject text, p_client text, p_device bytea, p_profile text, p_token bytea, p_token_expires_at timestamp with time zone, p_auth_time timestamp with time zone, p_acr text, p_amr text[], p_session_seconds bigint, p_permitted boolean, p_session_id uuid, p_issued_at timestamp with time zone, p_by text, p_heeds_pin boolean, p_jkt native_sso.jwk_thumbprint, p_proof bytea, p_proof_seconds bigint, p_assertion bytea, p_assertion_expires_at timestamp with time zone, p_trace_id uuid) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.erase_kept_answers(p_limit bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.exchange(p_calls native_sso.exchange_call[], p_shown native_sso.shown[]) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.exchange(p_calls native_sso.exchange_call[], p_shown native_sso.shown[]) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.find_web_handoff(p_code bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.find_web_handoff(p_code bytea) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.finish_code(p_code bytea, p_binding bytea, p_answer bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.finish_code(p_code bytea, p_binding bytea, p_answer bytea) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.finish_logout(p_request_id uuid, p_digest bytea, p_expires_at timestamp with time zone, p_issuer text, p_of_subject boolean, p_ended bigint, p_session_id uuid, p_cause text) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.finish_logout(p_request_id uuid, p_digest bytea, p_expires_at timestamp with time zone, p_issuer text, p_of_subject boolean, p_ended bigint, p_session_id uuid, p_cause text) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.forget_code(p_code bytea, p_binding bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.forget_code(p_code bytea, p_binding bytea) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.guard_grant() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.guard_limits() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.guard_revocation() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.guard_session() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.handoff_permission(p_issuer text, p_app text, p_app_is_bound boolean, p_web text, p_origin text, OUT permission text, OUT takes_origin boolean, OUT is_given boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.have_common(p_one text[], p_two text[], p_three text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.idp_session_limits(p_issuer text, p_sid bytea, OUT iat_after timestamp with time zone, OUT auth_time_after timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.instant_that_counts(p_instant timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.is_covered(e native_sso.general_end, p_began_at timestamp with time zone, p_iat timestamp with time zone, p_auth_time timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.is_grant_live(p_session_id uuid, p_client text, p_issued_at timestamp with time zone, p_idle_seconds bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.is_grant_live(p_session_id uuid, p_client text, p_issued_at timestamp with time zone, p_idle_seconds bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.is_named(s native_sso.session_state, p_issuer text, p_sid bytea, p_session_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.is_selected(s native_sso.session_state, p_issuer text, p_sid bytea, p_session_id uuid, p_idp_issuer text, p_subject text, p_device bytea, p_client text, p_began_until timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.is_spending(g native_sso.sso_grant) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.keep_logged_out() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.late_verdict(p_rotated_at timestamp with time zone, p_grace_seconds bigint, p_now timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.login_slot(p_issuer text, p_subject text) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.logout_lock(p_kind text, p_issuer text, p_name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.make_type(p_name text, p_attributes text) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.make_web_handoff(p_app native_sso.exchange_call, p_web native_sso.exchange_call, p_shown native_sso.shown[], p_code bytea, p_challenge bytea, p_origin text, p_audience text, p_token_expires_at timestamp with time zone, p_key_is_current boolean, p_seconds bigint, OUT answers native_sso.exchange_answer[], OUT permission text, OUT takes_origin boolean, OUT is_kept boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.make_web_handoff(p_app native_sso.exchange_call, p_web native_sso.exchange_call, p_shown native_sso.shown[], p_code bytea, p_challenge bytea, p_origin text, p_audience text, p_token_expires_at timestamp with time zone, p_key_is_current boolean, p_seconds bigint, OUT answers native_sso.exchange_answer[], OUT permission text, OUT takes_origin boolean, OUT is_kept boolean) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.mark_unanswered(p_grant_id uuid, p_generation integer) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.mark_unanswered(p_grant_id uuid, p_generation integer) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.note_used_prefixes() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.own_sid(p_session_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.pin_is_free(p_issuer text, p_device bytea, p_client text, p_jkt text) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.pin_key(p_issuer text, p_device bytea, p_client text, p_jkt text) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.prepare_audit_partitions() FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.prepare_audit_partitions() TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.record_administration(p_kind text, p_actor text, p_reason text, p_details jsonb, p_request_id uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.record_audit(p_occurred_at timestamp with time zone[], p_kinds text[], p_request_ids uuid[], p_client_ids text[], p_reasons text[], p_session_ids uuid[], p_grant_ids uuid[], p_source_clients text[], p_trace_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.record_audit(p_occurred_at timestamp with time zone[], p_kinds text[], p_request_ids uuid[], p_client_ids text[], p_reasons text[], p_session_ids uuid[], p_grant_ids uuid[], p_source_clients text[], p_trace_ids uuid[]) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.record_idp_keys(p_issuer text, p_thumbprints text[], p_kids text[], p_algorithms text[], p_jwks text[], p_first_seen_at timestamp with time zone[], p_last_seen_at timestamp with time zone[], p_tags text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.record_idp_keys(p_issuer text, p_thumbprints text[], p_kids text[], p_algorithms text[], p_jwks text[], p_first_seen_at timestamp with time zone[], p_last_seen_at timestamp with time zone[], p_tags text[]) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.record_subject_prefixes(p_issuers text[], p_prefixes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.record_subject_prefixes(p_issuers text[], p_prefixes text[]) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.redeem_web_handoff(p_code bytea, p_origin text, p_challenge bytea, p_call native_sso.exchange_call, p_shown native_sso.shown[], OUT answers native_sso.exchange_answer[], OUT standing text) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.redeem_web_handoff(p_code bytea, p_origin text, p_challenge bytea, p_call native_sso.exchange_call, p_shown native_sso.shown[], OUT answers native_sso.exchange_answer[], OUT standing text) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.refresh(p_calls native_sso.refresh_call[], p_shown native_sso.shown[]) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.refresh(p_calls native_sso.refresh_call[], p_shown native_sso.shown[]) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.refuse_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.register_session(p_issuer text, p_sid bytea, p_subject text, p_source_client text, p_auth_time timestamp with time zone, p_acr text, p_amr text[], p_lifetime interval, p_idp_issuer text, p_idp_sid bytea, p_actor text, p_why text, p_request_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.register_session(p_issuer text, p_sid bytea, p_subject text, p_source_client text, p_auth_time timestamp with time zone, p_acr text, p_amr text[], p_lifetime interval, p_idp_issuer text, p_idp_sid bytea, p_actor text, p_why text, p_request_id uuid) TO native_sso_registrar;

REVOKE ALL ON FUNCTION native_sso.registry_size(OUT sessions bigint, OUT grants bigint, OUT swept_at bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.registry_size(OUT sessions bigint, OUT grants bigint, OUT swept_at bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.require_reason(p_why text) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.reserve_code(p_code bytea, p_binding bytea, p_request_id uuid, p_proof bytea, p_proof_seconds bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.reserve_code(p_code bytea, p_binding bytea, p_request_id uuid, p_proof bytea, p_proof_seconds bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.reuse(p_session_id uuid, p_client text) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.revoke_grant(p_misuse native_sso.refresh_misuse, p_now timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.revoke_own_grant(p_request_id uuid, p_client text, p_grant_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.revoke_own_grant(p_request_id uuid, p_client text, p_grant_id uuid) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.satisfies_limits(p_iat timestamp with time zone, p_auth_time timestamp with time zone, p_iat_after timestamp with time zone, p_auth_time_after timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.send_code(p_code bytea, p_request_id uuid, p_patience_seconds bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.send_code(p_code bytea, p_request_id uuid, p_patience_seconds bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.settle_code(p_code bytea, p_request_id uuid, p_state text, p_answer bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.settle_code(p_code bytea, p_request_id uuid, p_state text, p_answer bytea) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.spent_by_exchange(g native_sso.sso_grant) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.subject_prefixes_in_use() FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.subject_prefixes_in_use() TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.support_end_sessions(p_why text, p_idp_issuer text, p_subject text, p_on_device_of uuid, p_actor text, p_same_login_may_return boolean, p_request_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.support_end_sessions(p_why text, p_idp_issuer text, p_subject text, p_on_device_of uuid, p_actor text, p_same_login_may_return boolean, p_request_id uuid) TO native_sso_support;

GRANT SELECT ON TABLE native_sso.sharing_group_member TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.audit_line TO native_sso_audit;

REVOKE ALL ON FUNCTION native_sso.support_explain_request(p_why text, p_request_id uuid, p_actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.support_explain_request(p_why text, p_request_id uuid, p_actor text) TO native_sso_support;

REVOKE ALL ON FUNCTION native_sso.support_find_sessions(p_why text, p_idp_issuer text, p_subject text, p_on_device_of uuid, p_actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.support_find_sessions(p_why text, p_idp_issuer text, p_subject text, p_on_device_of uuid, p_actor text) TO native_sso_support;

REVOKE ALL ON FUNCTION native_sso.supported_ids(p_idp_issuer text, p_subject text, p_on_device_of uuid, p_live_only boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.sweep_audit(p_limit bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.sweep_audit(p_limit bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.sweep_devices(p_limit bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.sweep_devices(p_limit bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.sweep_grants(p_limit bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.sweep_grants(p_limit bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.sweep_limit() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.sweep_logouts(p_limit bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.sweep_logouts(p_limit bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.sweep_proofs(p_limit bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.sweep_proofs(p_limit bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.sweep_sessions(p_limit bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.sweep_sessions(p_limit bigint) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.touch_sessions(p_session_ids uuid[], p_devices bytea[], p_now timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.try_sweep() FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.unpin_key(p_session_id uuid, p_device bytea, p_client text, p_jkt text) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.use_client_assertion(p_digest bytea, p_expires_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION native_sso.use_client_assertion(p_digest bytea, p_expires_at timestamp with time zone) TO native_sso_broker;

REVOKE ALL ON FUNCTION native_sso.use_dpop_proof(p_digest bytea, p_seconds bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.used_assertions(p_shown native_sso.shown[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION native_sso.used_proofs(p_shown native_sso.shown[], p_assertion_used bigint[]) FROM PUBLIC;

GRANT SELECT ON TABLE native_sso.client TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.client_key TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.client_secret TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.idp_key TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.schema_migration TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.scope TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.sharing_group TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.signing_key TO native_sso_broker;

GRANT SELECT ON TABLE native_sso.suspended_provider TO native_sso_broker;

ALTER DEFAULT PRIVILEGES FOR ROLE native_sso_admin REVOKE ALL ON FUNCTIONS  FROM PUBLIC;

