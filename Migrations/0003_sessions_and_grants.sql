-- One row per login, one per device, one per client in a login.
--
-- What a refresh or a repeated exchange changes is in no index, so that each of these updates is a HOT update.
-- A rule about one column is a domain; rules about several are in one trigger function per table. No table here has a CHECK or a
-- trigger with WHEN: PostgreSQL parses and plans those anew in every statement that writes the table, which made up half of
-- the cost of an exchange. A domain is kept for the connection, and so is a trigger's function.
-- Instants are whole seconds like those of the tokens, so that statement and broker never differ by a rounding.
-- Release: 0.1
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE DOMAIN digest AS bytea CHECK (octet_length(VALUE) = 32);
COMMENT ON DOMAIN digest IS '32 octets.';
CREATE DOMAIN jwk_thumbprint AS text COLLATE "C" CHECK (octet_length(VALUE) = 43);
COMMENT ON DOMAIN jwk_thumbprint IS 'RFC 7638 with SHA-256, in base64url.';
CREATE DOMAIN issuer_identifier AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 512);
COMMENT ON DOMAIN issuer_identifier IS 'An iss, compared octet by octet.';
CREATE DOMAIN issued_identifier AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 255);
COMMENT ON DOMAIN issued_identifier IS 'A sub as its issuer wrote it, compared octet by octet.';
CREATE DOMAIN profile_name AS text COLLATE "C" CHECK (VALUE IN ('device-id', 'device-secret-x-oath', 'device-secret'));
COMMENT ON DOMAIN profile_name IS 'The profile of Native SSO.';
CREATE DOMAIN token_generation AS integer CHECK (VALUE > 0);
COMMENT ON DOMAIN token_generation IS 'A position in a token family, from 1 on.';
CREATE DOMAIN keys_by_client AS jsonb CHECK (jsonb_typeof(VALUE) = 'object');
COMMENT ON DOMAIN keys_by_client IS 'An object: client_id to JWK thumbprint.';

CREATE DOMAIN copied_claims AS text COLLATE "C" CHECK (octet_length(VALUE) <= 2048);
COMMENT ON DOMAIN copied_claims IS 'Claims of an id_token, as one JSON object.';

-- Limits an instant that the service gives to now + 1 minute. A later instant would end future logins, or let a login outlast every
-- logout, and a stolen service password could plant it. The clocks of IdP and database may differ by the minute.
CREATE FUNCTION instant_that_counts(p_instant timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS
    $$ SELECT CASE WHEN p_instant IS NOT NULL THEN least(p_instant, date_trunc('second', now()) + interval '1 minute') END $$;

CREATE TABLE suspended_provider (
    issuer issuer_identifier PRIMARY KEY,
    suspended_at timestamptz NOT NULL
);
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON suspended_provider EXECUTE FUNCTION announce_registry_change();
GRANT SELECT ON suspended_provider TO native_sso_broker;
COMMENT ON TABLE suspended_provider IS 'The IdPs from which no login is taken for now. Who suspended it, and why, is in the audit.';
COMMENT ON COLUMN suspended_provider.issuer IS 'The IdP.';
COMMENT ON COLUMN suspended_provider.suspended_at IS 'Since when.';

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TABLE general_end (
    only_row boolean PRIMARY KEY CHECK (only_row),
    began_until timestamptz(0) NOT NULL,
    login_until timestamptz(0)
);
INSERT INTO general_end VALUES (true, '-infinity');
CREATE TRIGGER stays BEFORE DELETE OR TRUNCATE ON general_end EXECUTE FUNCTION refuse_change('the general end is never taken back');
COMMENT ON TABLE general_end IS
    'The last end of all sessions at once, whether this database knows them or not: by session end --all, or after a restore.';
COMMENT ON COLUMN general_end.only_row IS 'There is one row.';
COMMENT ON COLUMN general_end.began_until IS
    'What began up to then is over: sessions with their grants, codes, kept answers, and id_tokens by their iat. It only grows.';
COMMENT ON COLUMN general_end.login_until IS
    'The same for the auth_time of an id_token: the user must log in again. Never later than began_until; NULL: no limit.';

-- Whether the general end covers what began then. Of an instant that is NULL nothing is asked. Inlined where it is used.
CREATE FUNCTION is_covered(e general_end, p_began_at timestamptz, p_iat timestamptz, p_auth_time timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(p_began_at <= e.began_until, false) OR coalesce(p_iat <= e.began_until, false)
        OR coalesce(p_auth_time <= e.login_until, false)
$$;

CREATE TABLE session (
    session_id uuid PRIMARY KEY,
    issuer issuer_identifier NOT NULL,
    sid digest NOT NULL,
    idp_issuer issuer_identifier NOT NULL,
    idp_sid digest,
    subject issued_identifier,
    profile profile_name,
    device_digest digest,
    source_client_id text COLLATE "C",
    auth_time timestamptz(0),
    acr text,
    amr text[] NOT NULL DEFAULT '{}',
    created_at timestamptz(0) NOT NULL,
    expires_at timestamptz(0) NOT NULL,
    last_used_at timestamptz(0) NOT NULL,
    ended_at timestamptz(0),
    end_reason text,
    issued_at timestamptz(0),
    iat_after timestamptz(0),
    auth_time_after timestamptz(0)
) WITH (fillfactor = 90);
-- A name has one live session at most, and any number that have ended. The newest is the live one, else the one that ended last.
CREATE UNIQUE INDEX session_name ON session (issuer, sid, coalesce(ended_at, 'infinity'));
-- For logout and administration. A refresh changes none of these columns.
CREATE INDEX session_idp_sid ON session (idp_issuer, idp_sid);
-- A logout of a user finds the sessions batch by batch, in the order of their ids.
CREATE INDEX session_subject ON session (idp_issuer, subject, session_id);
CREATE INDEX session_device ON session (device_digest);
COMMENT ON TABLE session IS
    'One login at an IdP. A statement that changes what an exchange of the login is judged by writes a new version of this row, or of the grant: exchange and refresh name the version that they judged.';
COMMENT ON COLUMN session.session_id IS 'UUIDv7, the broker''s own name of the session.';
COMMENT ON COLUMN session.issuer IS 'The IdP whose groups and devices count. For an enrolled login too, although its id_token has the broker as iss.';
COMMENT ON COLUMN session.sid IS
    'SHA-256 of the sid in the id_tokens that the clients share. At some IdPs a sid is the session cookie, so no sid is stored.';
COMMENT ON COLUMN session.idp_issuer IS 'The issuer of the logout tokens that end it.';
COMMENT ON COLUMN session.idp_sid IS 'SHA-256 of the sid in those logout tokens; NULL: the IdP gave the login none.';
COMMENT ON COLUMN session.subject IS 'sub; NULL for a login that was logged out before a client brought it.';
COMMENT ON COLUMN session.profile IS 'The profile of the exchange or enrolment that began it; NULL: it was registered.';
COMMENT ON COLUMN session.device_digest IS 'HMAC-SHA-256 of the device value, under a key that is not in this database; NULL until an exchange shows it.';
COMMENT ON COLUMN session.source_client_id IS 'The client that logged in.';
COMMENT ON COLUMN session.auth_time IS 'auth_time of the id_token that began it.';
COMMENT ON COLUMN session.acr IS 'acr of that id_token.';
COMMENT ON COLUMN session.amr IS 'amr of that id_token.';
COMMENT ON COLUMN session.created_at IS 'When the row was made.';
COMMENT ON COLUMN session.expires_at IS 'Absolute end, at most 400 days after created_at. It is never moved to a later instant.';
COMMENT ON COLUMN session.last_used_at IS 'Last exchange or refresh, within a few minutes.';
COMMENT ON COLUMN session.ended_at IS 'When the session ended. Set once and never cleared. An ended session gets no tokens.';
COMMENT ON COLUMN session.end_reason IS 'What ended it.';
COMMENT ON COLUMN session.issued_at IS 'iat of the id_token that began it; of a registration, when it came.';
COMMENT ON COLUMN session.iat_after IS
    'An id_token under this name counts only if its iat is later. Each end tightens it, a new session takes it over; NULL: no limit.';
COMMENT ON COLUMN session.auth_time_after IS
    'The same for auth_time. An id_token without auth_time does not count then. An end that sets neither sets this one.';

-- A registration by the IdP sets the sid where the broker had none, or had the sid of the id_tokens. After that the sid is fixed.
-- The two limits only grow, also after the end. The ends of one name have different instants, so that one of them is the last.
CREATE FUNCTION guard_session() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON session FOR EACH ROW EXECUTE FUNCTION guard_session();

CREATE TABLE subject_logout (
    idp_issuer issuer_identifier,
    subject issued_identifier,
    issued_at timestamptz(0),
    recorded_at timestamptz(0) NOT NULL,
    without_sid_issued_at timestamptz(0),
    disabled_at timestamptz(0),
    enabled_at timestamptz(0),
    PRIMARY KEY (idp_issuer, subject)
);
CREATE INDEX subject_logout_age ON subject_logout (recorded_at);
COMMENT ON TABLE subject_logout IS 'The last logout of a user, and whether the account is disabled: a login from before the logout is dead when it comes in.';
COMMENT ON COLUMN subject_logout.idp_issuer IS 'The IdP that said so.';
COMMENT ON COLUMN subject_logout.subject IS 'sub of the logout token.';
COMMENT ON COLUMN subject_logout.issued_at IS 'iat of the last logout token that ended all sessions of the user.';
COMMENT ON COLUMN subject_logout.recorded_at IS 'When the row was written last; it goes by the sweep.';
COMMENT ON COLUMN subject_logout.without_sid_issued_at IS 'iat of the last logout token that ended the user''s sessions without sid.';
COMMENT ON COLUMN subject_logout.disabled_at IS 'Since when the IdP says that the account is disabled (RISC); NULL: it is not. No session begins, and the sweep keeps the row.';
COMMENT ON COLUMN subject_logout.enabled_at IS 'When the IdP enabled it last: an older account-disabled that comes later counts as a logout only.';

-- The sid of an id_token that this broker issues at an enrolment is the session_id. This is its SHA-256. The record of a logout has
-- it too, where another session has the name.
CREATE FUNCTION own_sid(p_session_id uuid) RETURNS bytea LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT sha256(convert_to(p_session_id::text, 'UTF8')) $$;

-- A transaction that brings a login in takes this lock shared; one that ends logins takes it exclusive. One of 256 for each
-- kind, so that the server has room for the locks of a transaction that brings in many.
CREATE FUNCTION logout_lock(p_kind text, p_issuer text, p_name text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
    $$ SELECT 2947193046517340160 + CASE p_kind WHEN 'sid' THEN 256 ELSE 0 END
        + (hashtextextended(p_kind || ' ' || p_issuer || ' ' || p_name, 0) & 255) $$;

-- The strictest limits of all sessions that one session at the IdP led to. The ORDER BY names the columns of one index, so that a
-- plan that was made for a small table is right for a large one.
CREATE FUNCTION idp_session_limits(p_issuer text, p_sid bytea, OUT iat_after timestamptz, OUT auth_time_after timestamptz)
LANGUAGE plpgsql SET enable_sort = off AS $$
BEGIN
    SELECT max(n.iat_after), max(n.auth_time_after) INTO iat_after, auth_time_after
    FROM (
        SELECT l.iat_after, l.auth_time_after FROM native_sso.session l
        WHERE l.idp_issuer = p_issuer AND l.idp_sid BETWEEN p_sid AND p_sid
        ORDER BY l.idp_sid) AS n;
END
$$;

-- Whether an id_token satisfies these limits.
CREATE FUNCTION satisfies_limits(
    p_iat timestamptz, p_auth_time timestamptz, p_iat_after timestamptz, p_auth_time_after timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT (p_iat_after IS NULL OR coalesce(p_iat > p_iat_after, false))
        AND (p_auth_time_after IS NULL OR coalesce(p_auth_time > p_auth_time_after, false))
$$;

-- A new session takes over the limits of its name. Where its login does not satisfy them, or those of its IdP session, or came before
-- a logout of the user, or whose account is disabled, no live row is made. An ended row that says why is made, unless the newest row of the name says so already.
-- A login began at auth_time, and no later than its id_token was issued.
CREATE FUNCTION keep_logged_out() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER keep_logged_out BEFORE INSERT ON session FOR EACH ROW EXECUTE FUNCTION keep_logged_out();

-- A session of the same name may begin and end between the look above and the insertion. Its end is committed by then.
CREATE FUNCTION guard_limits() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE TRIGGER guard_limits AFTER INSERT ON session FOR EACH ROW EXECUTE FUNCTION guard_limits();

CREATE TABLE device (
    issuer text COLLATE "C" NOT NULL,
    device_digest digest NOT NULL,
    first_seen_at timestamptz(0) NOT NULL,
    blocked_at timestamptz(0),
    pinned_keys keys_by_client,
    PRIMARY KEY (issuer, device_digest)
);
COMMENT ON TABLE device IS 'The devices of an IdP''s logins.';
COMMENT ON COLUMN device.issuer IS 'The IdP. One device value has another digest at another issuer.';
COMMENT ON COLUMN device.device_digest IS 'HMAC-SHA-256 of the device value, under a key that is not in this database.';
COMMENT ON COLUMN device.first_seen_at IS 'When a grant or an enrolment first named it.';
COMMENT ON COLUMN device.blocked_at IS 'Since when an operator keeps it out; NULL: it is not blocked.';
COMMENT ON COLUMN device.pinned_keys IS 'The only key that a client may show on the device (DPoP), by client_id.';

CREATE TABLE sso_grant (
    grant_id uuid PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES session ON DELETE CASCADE,
    client_id text COLLATE "C" NOT NULL REFERENCES client ON DELETE CASCADE,
    source_client_id text COLLATE "C" NOT NULL,
    device_digest digest NOT NULL,
    generation token_generation NOT NULL,
    rotated_at timestamptz(0) NOT NULL,
    scope text[] NOT NULL,
    audiences text[] NOT NULL,
    auth_time timestamptz(0),
    acr text,
    amr text[] NOT NULL,
    jkt jwk_thumbprint,
    created_at timestamptz(0) NOT NULL,
    expires_at timestamptz(0) NOT NULL,
    revoked_at timestamptz(0),
    revoke_reason text,
    refreshed_generation integer NOT NULL DEFAULT 0,
    replayed_before timestamptz(0),
    exchanged_generation integer NOT NULL DEFAULT 1,
    keyless_before integer NOT NULL DEFAULT 1,
    spent int4multirange,
    claims copied_claims
) WITH (fillfactor = 80);
-- One live grant per session and client: a repeated exchange advances it and adds no row.
CREATE UNIQUE INDEX sso_grant_live ON sso_grant (session_id, client_id) WHERE revoked_at IS NULL;
-- The grants of a session that is deleted.
CREATE INDEX sso_grant_session ON sso_grant (session_id);
-- For the sweep of grants. Only revoked grants are in this index, so it costs an exchange or refresh nothing.
CREATE INDEX sso_grant_sweepable ON sso_grant (revoked_at)
    WHERE revoked_at IS NOT NULL AND revoke_reason <> 'refresh_token_reused';
-- For the sweep of devices. A grant without a key is not in this index.
CREATE INDEX sso_grant_bound ON sso_grant (device_digest) WHERE jkt IS NOT NULL;
CREATE INDEX sso_grant_replayed ON sso_grant (session_id, client_id) WHERE revoke_reason = 'refresh_token_reused';
COMMENT ON TABLE sso_grant IS
    'What one client holds in one session: its token family. Refresh tokens are not stored; they name grant and generation under a MAC.';
COMMENT ON COLUMN sso_grant.grant_id IS 'UUIDv7, part of each refresh token.';
COMMENT ON COLUMN sso_grant.session_id IS 'The session that it dies with.';
COMMENT ON COLUMN sso_grant.client_id IS 'The client that holds it.';
COMMENT ON COLUMN sso_grant.source_client_id IS 'The client whose login it uses.';
COMMENT ON COLUMN sso_grant.device_digest IS 'The device that the last exchange showed.';
COMMENT ON COLUMN sso_grant.generation IS 'The current position of the token family. It grows by 1.';
COMMENT ON COLUMN sso_grant.rotated_at IS 'When the current generation was made: the grace period begins here. The end of the grant, if no answer could be made.';
COMMENT ON COLUMN sso_grant.scope IS 'What the last exchange granted.';
COMMENT ON COLUMN sso_grant.audiences IS 'aud of the access tokens since the last exchange.';
COMMENT ON COLUMN sso_grant.auth_time IS 'auth_time of the login, for the access tokens of refreshes.';
COMMENT ON COLUMN sso_grant.acr IS 'acr of the login, likewise.';
COMMENT ON COLUMN sso_grant.amr IS 'amr of the login, likewise.';
COMMENT ON COLUMN sso_grant.jkt IS 'Thumbprint of the key that binds the family (DPoP); NULL: unbound.';
COMMENT ON COLUMN sso_grant.created_at IS 'When the first exchange made it.';
COMMENT ON COLUMN sso_grant.expires_at IS 'When it ends, at the latest with its session.';
COMMENT ON COLUMN sso_grant.revoked_at IS 'Set once and never cleared.';
COMMENT ON COLUMN sso_grant.revoke_reason IS 'Why it was revoked. refresh_token_late may still become refresh_token_reused.';
COMMENT ON COLUMN sso_grant.refreshed_generation IS 'The last generation that a refresh made; 0: none.';
COMMENT ON COLUMN sso_grant.replayed_before IS 'When an earlier family of this client in this session was replayed: a login from before does not continue.';
COMMENT ON COLUMN sso_grant.exchanged_generation IS 'The generation that the last exchange made: the current run begins here.';
COMMENT ON COLUMN sso_grant.keyless_before IS 'The generation of the exchange that bound the key: earlier tokens have none. It counts only where jkt is set.';
COMMENT ON COLUMN sso_grant.spent IS 'Generations of earlier runs whose successors were presented.';
COMMENT ON COLUMN sso_grant.claims IS 'What the last exchange copied of its id_token into access tokens; NULL: nothing, or the grant was revoked.';

CREATE FUNCTION guard_revocation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.revoked_at IS NULL) <> (NEW.revoke_reason IS NULL) THEN
        RAISE EXCEPTION 'a grant is revoked at a time and for a reason, or not at all' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER guard_revocation AFTER INSERT OR UPDATE OF revoked_at, revoke_reason ON sso_grant
    FOR EACH ROW EXECUTE FUNCTION guard_revocation();

-- A family goes on by one generation. A revoked grant changes in one way only: a late token may turn out to be a reused one.
CREATE FUNCTION guard_grant() RETURNS trigger LANGUAGE plpgsql AS $$
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
-- After the update, not before: a trigger before an update locks the row, with a record in the log, ahead of the update itself.
CREATE TRIGGER guard_grant AFTER UPDATE ON sso_grant FOR EACH ROW EXECUTE FUNCTION guard_grant();
CREATE TRIGGER guard_identity AFTER UPDATE OF grant_id, session_id, client_id ON sso_grant
    FOR EACH ROW EXECUTE FUNCTION refuse_change('a grant stays in its session, with its client');
