-- Why: the apps, the scopes, and who may share logins with whom. Small tables: every broker holds a copy in memory, and
-- the statements that grant anything read them again.
-- Locks: none that anybody waits for.  Old code: there is none.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

-- What names something in the protocol: printable ASCII, compared octet by octet.
CREATE DOMAIN identifier AS text COLLATE "C" CHECK (VALUE ~ '^[\x20-\x7e]{1,255}$');
-- RFC 6749 §3.3 scope-token.
CREATE DOMAIN scope_token AS text COLLATE "C" CHECK (VALUE ~ '^[\x21\x23-\x5b\x5d-\x7e]{1,255}$');

CREATE TABLE client (
    client_id identifier PRIMARY KEY,
    authentication text NOT NULL CHECK (authentication IN ('none', 'client_secret_basic', 'private_key_jwt')),
    -- A digest of a generated 256-bit secret; a public client has none.
    secret_digest bytea CHECK (octet_length(secret_digest) = 32),
    enabled boolean NOT NULL,
    grants text[] NOT NULL
        CHECK (grants <@ ARRAY['urn:ietf:params:oauth:grant-type:token-exchange', 'refresh_token']),
    allowed_scope scope_token[] NOT NULL,
    default_scope scope_token[] NOT NULL CHECK (default_scope <@ allowed_scope),
    audiences text[] NOT NULL CHECK (cardinality(audiences) > 0 AND array_position(audiences, NULL) IS NULL),
    access_token_seconds bigint CHECK (access_token_seconds BETWEEN 10 AND 86400),
    -- No session lives longer than 400 days.
    refresh_token_seconds bigint CHECK (refresh_token_seconds BETWEEN 1 AND 34560000),
    issues_refresh_token boolean NOT NULL,
    issues_id_token boolean NOT NULL,
    includes_session_id boolean NOT NULL,
    allows_self_exchange boolean NOT NULL,
    dpop text NOT NULL CHECK (dpop IN ('off', 'optional', 'required')),
    accepted_acr text[] NOT NULL,
    maximum_authentication_seconds bigint CHECK (maximum_authentication_seconds > 0),
    created_at timestamptz(0) NOT NULL DEFAULT now(),
    CHECK ((authentication = 'client_secret_basic') = (secret_digest IS NOT NULL))
);

-- The public keys of a client that authenticates with private_key_jwt.
CREATE TABLE client_key (
    client_id identifier NOT NULL REFERENCES client ON DELETE CASCADE,
    kid identifier NOT NULL,
    public_jwk jsonb NOT NULL CHECK (NOT public_jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']),
    created_at timestamptz(0) NOT NULL DEFAULT now(),
    PRIMARY KEY (client_id, kid)
);

CREATE TABLE scope (
    name scope_token PRIMARY KEY,
    requires_consent boolean NOT NULL
);

-- A group never spans issuers.
CREATE TABLE sharing_group (
    group_id identifier PRIMARY KEY,
    issuer text COLLATE "C" NOT NULL,
    created_at timestamptz(0) NOT NULL DEFAULT now(),
    UNIQUE (group_id, issuer)
);

CREATE TABLE sharing_group_member (
    group_id identifier NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    client_id identifier NOT NULL REFERENCES client ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('source', 'target', 'both')),
    -- The most that this member gets by an exchange; NULL: whatever the client may have.
    scope_ceiling scope_token[],
    PRIMARY KEY (group_id, client_id),
    FOREIGN KEY (group_id, issuer) REFERENCES sharing_group (group_id, issuer) ON DELETE CASCADE,
    -- One group per issuer, or "which group's rules hold" would have no answer.
    UNIQUE (issuer, client_id)
);

GRANT SELECT ON client, client_key, scope, sharing_group, sharing_group_member TO native_sso_broker;

-- Brokers hold copies: tell them when to read again.
CREATE FUNCTION announce_registry_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('native_sso_registry', TG_TABLE_NAME);
    RETURN NULL;
END
$$;

CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON client EXECUTE FUNCTION announce_registry_change();
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON client_key EXECUTE FUNCTION announce_registry_change();
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON scope EXECUTE FUNCTION announce_registry_change();
