-- Why: one row per login, one per device, one per app in a login. What a refresh or a repeated exchange changes is in no
-- index, so that every one of them is a HOT update.
-- Rules of one column are domains, rules of several are in one trigger function per table, and no table here has a CHECK
-- or a trigger with WHEN: PostgreSQL parses and plans those anew in every statement that writes the table, which for these
-- made up half the cost of an exchange; a domain is kept for the connection, and so is a trigger's function.
-- Instants are whole seconds, like those of the tokens, so that statement and broker cannot differ by a rounding.
-- Locks: none that anybody waits for.  Old code: there is none.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE DOMAIN digest AS bytea CHECK (octet_length(VALUE) = 32);
-- RFC 7638, SHA-256, in base64url.
CREATE DOMAIN jwk_thumbprint AS text COLLATE "C" CHECK (octet_length(VALUE) = 43);
CREATE DOMAIN issuer_identifier AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 512);
-- A `sid` or `sub`, as an issuer wrote it.
CREATE DOMAIN issued_identifier AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 255);
CREATE DOMAIN profile_name AS text COLLATE "C" CHECK (VALUE IN ('device-id', 'device-secret-x-oath', 'device-secret'));
CREATE DOMAIN chain_generation AS integer CHECK (VALUE > 0);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% of % refused: %', TG_OP, TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'integrity_constraint_violation';
END
$$;

CREATE TABLE session (
    session_id uuid PRIMARY KEY,
    -- As the apps' id_token says.
    issuer issuer_identifier NOT NULL,
    sid issued_identifier NOT NULL,
    -- As the identity provider says at logout.
    idp_issuer issuer_identifier NOT NULL,
    idp_sid issued_identifier NOT NULL,
    -- NULL only for a login that ended before it was ever seen here.
    subject issued_identifier,
    profile profile_name,
    device_digest digest,
    source_client_id text COLLATE "C",
    auth_time timestamptz(0),
    acr text,
    amr text[] NOT NULL DEFAULT '{}',
    created_at timestamptz(0) NOT NULL,
    expires_at timestamptz(0) NOT NULL,
    -- Touched at most every few minutes.
    last_used_at timestamptz(0) NOT NULL,
    ended_at timestamptz(0),
    end_reason text,
    UNIQUE (issuer, sid)
) WITH (fillfactor = 90);

-- For logout and administration; a refresh changes none of these columns.
CREATE INDEX session_idp_sid ON session (idp_issuer, idp_sid);
CREATE INDEX session_subject ON session (idp_issuer, subject);
CREATE INDEX session_device ON session (device_digest);

CREATE FUNCTION guard_session() RETURNS trigger LANGUAGE plpgsql AS $$
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
    IF TG_OP = 'UPDATE' THEN
        IF OLD.ended_at IS NOT NULL THEN
            RAISE EXCEPTION 'an ended session stays as it is' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF NEW.session_id <> OLD.session_id OR NEW.issuer <> OLD.issuer OR NEW.sid <> OLD.sid
            OR NEW.idp_issuer <> OLD.idp_issuer OR NEW.idp_sid <> OLD.idp_sid
            OR NEW.subject IS DISTINCT FROM OLD.subject OR NEW.created_at <> OLD.created_at
            OR NEW.expires_at > OLD.expires_at
        THEN
            RAISE EXCEPTION 'the identity of a session is fixed, and its life is never prolonged'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON session FOR EACH ROW EXECUTE FUNCTION guard_session();

CREATE TABLE device (
    issuer text COLLATE "C" NOT NULL,
    -- HMAC-SHA-256 of the device value under a key that is not in this database.
    device_digest digest NOT NULL,
    first_seen_at timestamptz(0) NOT NULL,
    blocked_at timestamptz(0),
    -- The only proof key that may use this device.
    pinned_jkt jwk_thumbprint,
    PRIMARY KEY (issuer, device_digest)
);

CREATE TABLE sso_grant (
    grant_id uuid PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES session ON DELETE CASCADE,
    client_id text COLLATE "C" NOT NULL REFERENCES client ON DELETE CASCADE,
    -- The app whose login this is, and the device from which it was asked for.
    source_client_id text COLLATE "C" NOT NULL,
    device_digest digest NOT NULL,
    generation chain_generation NOT NULL,
    rotated_at timestamptz(0) NOT NULL,
    scope text[] NOT NULL,
    audiences text[] NOT NULL,
    auth_time timestamptz(0),
    acr text,
    amr text[] NOT NULL,
    -- Where a proof key binds the chain: its thumbprint.
    jkt jwk_thumbprint,
    created_at timestamptz(0) NOT NULL,
    expires_at timestamptz(0) NOT NULL,
    revoked_at timestamptz(0),
    revoke_reason text
) WITH (fillfactor = 80);

-- One live grant per session and client: a repeated exchange advances it instead of adding a row.
CREATE UNIQUE INDEX sso_grant_live ON sso_grant (session_id, client_id) WHERE revoked_at IS NULL;

CREATE FUNCTION guard_sso_grant() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.revoked_at IS NULL) <> (NEW.revoke_reason IS NULL) THEN
        RAISE EXCEPTION 'a grant is revoked at a time and for a reason, or not at all' USING ERRCODE = 'check_violation';
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF OLD.revoked_at IS NOT NULL THEN
            RAISE EXCEPTION 'a revoked grant stays as it is' USING ERRCODE = 'integrity_constraint_violation';
        END IF;
        IF NEW.generation NOT IN (OLD.generation, OLD.generation + 1)
            OR NEW.grant_id <> OLD.grant_id OR NEW.session_id <> OLD.session_id OR NEW.client_id <> OLD.client_id
        THEN
            RAISE EXCEPTION 'a chain goes on by one, in its session, for its client'
                USING ERRCODE = 'integrity_constraint_violation';
        END IF;
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER guard BEFORE INSERT OR UPDATE ON sso_grant FOR EACH ROW EXECUTE FUNCTION guard_sso_grant();
