-- Why: which key signs, which keys an identity provider has used, which proofs were used up. No private part is here.
-- Locks: none that anybody waits for.  Old code: there is none.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE TABLE signing_key (
    kid identifier PRIMARY KEY,
    use text NOT NULL CHECK (use IN ('access-token', 'refresh-token', 'device')),
    algorithm text NOT NULL,
    -- Where the provider finds the private part: a file name, an object label.
    reference text NOT NULL,
    public_jwk jsonb CHECK (NOT public_jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']),
    state text NOT NULL CHECK (state IN ('pending', 'published', 'active', 'retired', 'removed')),
    created_at timestamptz(0) NOT NULL,
    published_at timestamptz(0),
    activated_at timestamptz(0),
    retired_at timestamptz(0),
    removed_at timestamptz(0),
    CHECK ((use = 'access-token') = (public_jwk IS NOT NULL)),
    CHECK (state IN ('pending', 'removed') OR published_at IS NOT NULL),
    CHECK (state NOT IN ('active') OR activated_at IS NOT NULL),
    CHECK (state NOT IN ('retired') OR retired_at IS NOT NULL),
    CHECK ((state = 'removed') = (removed_at IS NOT NULL))
);
CREATE UNIQUE INDEX signing_key_active ON signing_key (use) WHERE state = 'active';
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON signing_key EXECUTE FUNCTION announce_registry_change();
GRANT SELECT ON signing_key TO native_sso_broker;

-- The keys that an identity provider's JWKS has shown, and when: a subject token may be older than the key set. Per
-- issuer, since the tenants of one large provider share keys: a key counts for the issuer that showed it, and no other.
-- A row is an entry of a key set; one key may stand in several, under another kid or for another algorithm.
CREATE TABLE idp_key (
    issuer text COLLATE "C" NOT NULL,
    thumbprint text COLLATE "C" NOT NULL CHECK (octet_length(thumbprint) = 43),
    -- Empty where the entry does not say.
    kid text COLLATE "C" NOT NULL,
    algorithm text COLLATE "C" NOT NULL,
    public_jwk jsonb NOT NULL CHECK (NOT public_jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']),
    first_seen_at timestamptz(0) NOT NULL CHECK (isfinite(first_seen_at)),
    last_seen_at timestamptz(0) NOT NULL CHECK (isfinite(last_seen_at)),
    -- HMAC by the broker's device key over the columns above. The broker's database role may write here, and an id_token
    -- by a key of this table is good: a row that no broker made must not count.
    tag text COLLATE "C" NOT NULL CHECK (octet_length(tag) = 43),
    -- One revoked row revokes the key, whatever entries it stands in.
    revoked_at timestamptz(0),
    PRIMARY KEY (issuer, thumbprint, kid, algorithm)
);
CREATE TRIGGER revoked_is_for_ever BEFORE UPDATE ON idp_key FOR EACH ROW
    WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
    EXECUTE FUNCTION refuse_change('a revoked key stays revoked');
GRANT SELECT ON idp_key TO native_sso_broker;

-- $1 issuer; $2 to $8 thumbprint, kid, algorithm, public JWK, first and last sighting, and tag of each entry of the set that
-- was just fetched. Rows are replaced as they were tagged, but for those of a revoked key, which stay as they are.
CREATE FUNCTION record_idp_keys(
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
    WHERE idp_key.revoked_at IS NULL
$$;
GRANT EXECUTE ON FUNCTION record_idp_keys TO native_sso_broker;

-- Single-use things that were used, by kind, so that one kind is never taken for another.
CREATE TABLE used_proof (
    kind text NOT NULL CHECK (kind IN ('dpop', 'client_assertion', 'logout_token', 'enrolment')),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    expires_at timestamptz(0) NOT NULL,
    PRIMARY KEY (kind, digest)
);
