-- The clients, their credentials, the scopes, and which clients share logins. The tables are small: every broker holds a copy
-- in memory, and the functions that grant anything read them again.
-- Release: 0.1
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE DOMAIN identifier AS text COLLATE "C" CHECK (VALUE ~ '^[\x20-\x7e]{1,255}$');
COMMENT ON DOMAIN identifier IS 'A name in the protocol: printable ASCII, compared octet by octet.';
CREATE DOMAIN scope_token AS text COLLATE "C" CHECK (VALUE ~ '^[\x21\x23-\x5b\x5d-\x7e]{1,255}$');
COMMENT ON DOMAIN scope_token IS 'RFC 6749 section 3.3.';

CREATE TABLE client (
    client_id identifier PRIMARY KEY,
    authentication text NOT NULL CHECK (authentication IN ('none', 'client_secret_basic', 'private_key_jwt')),
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
    allows_self_exchange boolean NOT NULL,
    dpop text NOT NULL CHECK (dpop IN ('off', 'optional', 'required')),
    accepted_acr text[] NOT NULL,
    maximum_authentication_seconds bigint CHECK (maximum_authentication_seconds > 0),
    copied_claims identifier[] NOT NULL DEFAULT '{}' CHECK (cardinality(copied_claims) <= 8),
    assertion_audience text NOT NULL DEFAULT 'issuer' CHECK (assertion_audience IN ('issuer', 'token_endpoint')),
    assertion_seconds bigint NOT NULL DEFAULT 300 CHECK (assertion_seconds BETWEEN 10 AND 3600),
    introspects text[] NOT NULL DEFAULT '{}' CHECK (array_position(introspects, NULL) IS NULL),
    access_token_algorithm text,
    id_token_algorithm text,
    created_at timestamptz(0) NOT NULL DEFAULT now(),
    managed_by identifier,
    -- Credentials refer to both columns, so that a client has those of its own method only.
    UNIQUE (client_id, authentication)
);
COMMENT ON TABLE client IS 'The OAuth clients, RFC 6749 section 2.';
COMMENT ON COLUMN client.client_id IS 'RFC 6749 section 2.2.';
COMMENT ON COLUMN client.authentication IS 'How it authenticates at the token endpoint: none for a public client.';
COMMENT ON COLUMN client.enabled IS 'False: every exchange and every refresh of it is refused.';
COMMENT ON COLUMN client.grants IS 'The grant types that it may use.';
COMMENT ON COLUMN client.allowed_scope IS 'The most that it may ask for.';
COMMENT ON COLUMN client.default_scope IS 'What it gets when it names no scope.';
COMMENT ON COLUMN client.audiences IS 'aud of its access tokens.';
COMMENT ON COLUMN client.access_token_seconds IS 'Lifetime of its access tokens in seconds; NULL: the configured one.';
COMMENT ON COLUMN client.refresh_token_seconds IS 'Lifetime of its grants in seconds; NULL: that of the session.';
COMMENT ON COLUMN client.issues_refresh_token IS 'Whether an exchange of the current profile gives a refresh token.';
COMMENT ON COLUMN client.issues_id_token IS 'Whether an exchange gives an id_token too.';
COMMENT ON COLUMN client.allows_self_exchange IS 'Whether it may exchange an id_token of its own.';
COMMENT ON COLUMN client.dpop IS 'Whether it may or must show a DPoP key, RFC 9449.';
COMMENT ON COLUMN client.accepted_acr IS 'The acr values that satisfy it, best first; empty: any.';
COMMENT ON COLUMN client.maximum_authentication_seconds IS 'Greatest age of a login in seconds, from auth_time; NULL: any.';
COMMENT ON COLUMN client.copied_claims IS 'The claims of an id_token that its access tokens repeat.';
COMMENT ON COLUMN client.assertion_audience IS 'What aud of its assertions may name: the issuer alone, or the token endpoint too.';
COMMENT ON COLUMN client.assertion_seconds IS 'Longest life of its assertions in seconds.';
COMMENT ON COLUMN client.introspects IS 'The aud of the access tokens that it may introspect, RFC 7662; empty: none.';
COMMENT ON COLUMN client.access_token_algorithm IS 'JWS algorithm of its access tokens; NULL: the broker''s first active one.';
COMMENT ON COLUMN client.id_token_algorithm IS 'JWS algorithm of its id_tokens; NULL: that of its access tokens.';
COMMENT ON COLUMN client.created_at IS 'When it was registered.';
COMMENT ON COLUMN client.managed_by IS 'The registry file that manages it; NULL: none.';

CREATE TABLE client_secret (
    client_id identifier NOT NULL,
    authentication text NOT NULL DEFAULT 'client_secret_basic' CHECK (authentication = 'client_secret_basic'),
    slot smallint NOT NULL CHECK (slot IN (1, 2)),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (client_id, slot),
    FOREIGN KEY (client_id, authentication) REFERENCES client (client_id, authentication) ON DELETE CASCADE
);
COMMENT ON TABLE client_secret IS 'The secrets of client_secret_basic. Two are live at most, so that one is replaced without an outage.';
COMMENT ON COLUMN client_secret.client_id IS 'Whose secret it is.';
COMMENT ON COLUMN client_secret.authentication IS 'Ties the secret to the client''s method.';
COMMENT ON COLUMN client_secret.slot IS '1 or 2.';
COMMENT ON COLUMN client_secret.digest IS 'SHA-256 of a generated secret of 256 bits.';
COMMENT ON COLUMN client_secret.created_at IS 'To the microsecond: it tells which of two is the older one.';

CREATE TABLE client_key (
    client_id identifier NOT NULL,
    kid identifier NOT NULL,
    public_jwk jsonb NOT NULL CHECK (
        public_jwk ? 'kty' AND public_jwk ? 'alg'
        AND NOT public_jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']),
    created_at timestamptz(0) NOT NULL DEFAULT now(),
    authentication text NOT NULL DEFAULT 'private_key_jwt' CHECK (authentication = 'private_key_jwt'),
    PRIMARY KEY (client_id, kid),
    FOREIGN KEY (client_id, authentication) REFERENCES client (client_id, authentication) ON DELETE CASCADE
);
-- One key has one kid, so that its removal is complete. Other members of the JWK do not make it another key.
CREATE UNIQUE INDEX client_key_material ON client_key (client_id, md5(
    (public_jwk ->> 'kty') || ' ' || coalesce(public_jwk ->> 'crv', '') || ' ' || coalesce(public_jwk ->> 'x', '') || ' '
    || coalesce(public_jwk ->> 'y', '') || ' ' || coalesce(public_jwk ->> 'n', '') || ' ' || coalesce(public_jwk ->> 'e', '')));
COMMENT ON TABLE client_key IS 'The public keys of private_key_jwt, RFC 7523.';
COMMENT ON COLUMN client_key.client_id IS 'Whose key it is.';
COMMENT ON COLUMN client_key.kid IS 'The kid in the header of its assertions.';
COMMENT ON COLUMN client_key.public_jwk IS 'RFC 7517, without any private member.';
COMMENT ON COLUMN client_key.created_at IS 'When it was added.';
COMMENT ON COLUMN client_key.authentication IS 'Ties the key to the client''s method.';

CREATE TABLE scope (
    name scope_token PRIMARY KEY,
    requires_consent boolean NOT NULL,
    managed_by identifier
);
COMMENT ON TABLE scope IS 'The scopes that need special handling. Others need no row.';
COMMENT ON COLUMN scope.name IS 'The scope token.';
COMMENT ON COLUMN scope.requires_consent IS 'Whether no exchange grants it, because the user must consent at the IdP.';
COMMENT ON COLUMN scope.managed_by IS 'The registry file that manages it; NULL: none.';

CREATE TABLE sharing_group (
    group_id identifier PRIMARY KEY,
    issuer text COLLATE "C" NOT NULL,
    created_at timestamptz(0) NOT NULL DEFAULT now(),
    managed_by identifier,
    UNIQUE (group_id, issuer)
);
COMMENT ON TABLE sharing_group IS 'The clients that share logins of one IdP.';
COMMENT ON COLUMN sharing_group.group_id IS 'The name that an operator gave it.';
COMMENT ON COLUMN sharing_group.issuer IS 'The IdP. A group never spans issuers.';
COMMENT ON COLUMN sharing_group.created_at IS 'When it was made.';
COMMENT ON COLUMN sharing_group.managed_by IS 'The registry file that manages it; NULL: none.';

CREATE TABLE sharing_group_member (
    group_id identifier NOT NULL,
    issuer text COLLATE "C" NOT NULL,
    client_id identifier NOT NULL REFERENCES client ON DELETE CASCADE,
    role text NOT NULL CHECK (role IN ('source', 'target', 'both')),
    scope_ceiling scope_token[],
    handoff text CHECK (handoff IN ('bearer', 'dpop')),
    handoff_origins text[] NOT NULL DEFAULT '{}' CHECK (array_position(handoff_origins, NULL) IS NULL),
    managed_by identifier,
    PRIMARY KEY (group_id, client_id),
    FOREIGN KEY (group_id, issuer) REFERENCES sharing_group (group_id, issuer) ON DELETE CASCADE,
    -- One group per issuer: two groups could have different rules.
    UNIQUE (issuer, client_id)
);
COMMENT ON TABLE sharing_group_member IS 'A client in a group.';
COMMENT ON COLUMN sharing_group_member.group_id IS 'The group.';
COMMENT ON COLUMN sharing_group_member.issuer IS 'The issuer of the group.';
COMMENT ON COLUMN sharing_group_member.client_id IS 'The client. It is in one group of an issuer at most.';
COMMENT ON COLUMN sharing_group_member.role IS 'source: others may use its logins. target: it may use the logins of others.';
COMMENT ON COLUMN sharing_group_member.scope_ceiling IS 'The most that an exchange grants it; NULL: its allowed scope.';
COMMENT ON COLUMN sharing_group_member.handoff IS
    'Whether it may hand a login to the web apps of the group: bearer, unless it shows a DPoP key; dpop, also then; NULL: it may not.';
COMMENT ON COLUMN sharing_group_member.handoff_origins IS 'The web origins at which it receives logins of the group; empty: it receives none.';
COMMENT ON COLUMN sharing_group_member.managed_by IS 'The registry file that manages it; NULL: none.';

GRANT SELECT ON client, client_secret, client_key, scope, sharing_group, sharing_group_member TO native_sso_broker;

-- Tells the brokers to read their copies again.
CREATE FUNCTION announce_registry_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('native_sso_registry', TG_TABLE_NAME);
    RETURN NULL;
END
$$;

CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON client EXECUTE FUNCTION announce_registry_change();
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON client_secret EXECUTE FUNCTION announce_registry_change();
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON client_key EXECUTE FUNCTION announce_registry_change();
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON scope EXECUTE FUNCTION announce_registry_change();
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON sharing_group_member
    EXECUTE FUNCTION announce_registry_change();

-- Counts the transactions that changed what a registry file describes, so that a plan made before a change is not applied after it.
CREATE TABLE registry_serial (
    only_row boolean PRIMARY KEY CHECK (only_row),
    serial bigint NOT NULL,
    changed_in xid8 NOT NULL
);
INSERT INTO registry_serial VALUES (true, 1, '0');
COMMENT ON TABLE registry_serial IS
    'How often clients, scopes, groups and members have changed. Every change locks the row first, so that changes are one after another.';
COMMENT ON COLUMN registry_serial.only_row IS 'There is one row.';
COMMENT ON COLUMN registry_serial.serial IS 'Grows by one with each transaction that changes the registry.';
COMMENT ON COLUMN registry_serial.changed_in IS 'The last of these transactions: its later statements count no more.';

CREATE FUNCTION count_registry_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE native_sso.registry_serial SET serial = serial + 1, changed_in = pg_current_xact_id()
    WHERE changed_in <> pg_current_xact_id();
    RETURN NULL;
END
$$;

-- Before the statement, so that this row is locked before any other: two operators cannot block each other.
CREATE TRIGGER count BEFORE INSERT OR UPDATE OR DELETE ON client EXECUTE FUNCTION count_registry_change();
CREATE TRIGGER count BEFORE INSERT OR UPDATE OR DELETE ON scope EXECUTE FUNCTION count_registry_change();
CREATE TRIGGER count BEFORE INSERT OR UPDATE OR DELETE ON sharing_group EXECUTE FUNCTION count_registry_change();
CREATE TRIGGER count BEFORE INSERT OR UPDATE OR DELETE ON sharing_group_member EXECUTE FUNCTION count_registry_change();
