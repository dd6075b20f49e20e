-- The broker's signing keys, the keys that IdPs have published, the prefixes of their users' names, used proofs, assertions and codes, and
-- the codes of hand-offs. This database holds no private key.
-- Release: 0.1
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE TABLE signing_key (
    kid identifier PRIMARY KEY,
    use text NOT NULL CHECK (use IN ('access-token', 'refresh-token', 'device')),
    algorithm text NOT NULL,
    reference text NOT NULL,
    public_jwk jsonb CHECK (NOT public_jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']),
    state text NOT NULL CHECK (state IN ('pending', 'published', 'active', 'retired', 'removed')),
    replica identifier CHECK (replica IS NULL OR use = 'access-token'),
    created_at timestamptz(0) NOT NULL,
    published_at timestamptz(0),
    activated_at timestamptz(0),
    retired_at timestamptz(0),
    removed_at timestamptz(0),
    suspended_at timestamptz(0),
    CHECK ((use = 'access-token') = (public_jwk IS NOT NULL)),
    CHECK (state IN ('pending', 'removed') OR published_at IS NOT NULL),
    CHECK (state NOT IN ('active') OR activated_at IS NOT NULL),
    CHECK (state NOT IN ('retired') OR retired_at IS NOT NULL),
    CHECK ((state = 'removed') = (removed_at IS NOT NULL))
);
CREATE UNIQUE INDEX signing_key_active ON signing_key (use, algorithm, coalesce(replica::text, ''))
    WHERE state = 'active';
-- Two rotations at once make one successor.
CREATE UNIQUE INDEX signing_key_successor ON signing_key (use, algorithm, coalesce(replica::text, ''))
    WHERE state = 'published';
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON signing_key EXECUTE FUNCTION announce_registry_change();
GRANT SELECT ON signing_key TO native_sso_broker;
COMMENT ON TABLE signing_key IS 'The keys of the key module. One is active for each use and algorithm, and for each replica that has its own.';
COMMENT ON COLUMN signing_key.kid IS 'kid of what it signs.';
COMMENT ON COLUMN signing_key.use IS 'access-token signs JWTs; refresh-token and device are MAC keys.';
COMMENT ON COLUMN signing_key.algorithm IS 'JWS algorithm, or HS256 for a MAC key.';
COMMENT ON COLUMN signing_key.reference IS 'Where the key provider finds the private part: a file name, an object label.';
COMMENT ON COLUMN signing_key.public_jwk IS 'What the JWKS publishes; NULL for a MAC key.';
COMMENT ON COLUMN signing_key.state IS 'pending, published, active, retired, removed, in this order.';
COMMENT ON COLUMN signing_key.replica IS 'keys.replica of the brokers that sign with it; NULL: all of them.';
COMMENT ON COLUMN signing_key.created_at IS 'When it was made.';
COMMENT ON COLUMN signing_key.published_at IS 'Since when the JWKS holds it.';
COMMENT ON COLUMN signing_key.activated_at IS 'Since when it signs.';
COMMENT ON COLUMN signing_key.retired_at IS 'Since when it signs no more.';
COMMENT ON COLUMN signing_key.removed_at IS 'Since when the JWKS lacks it.';
COMMENT ON COLUMN signing_key.suspended_at IS 'Since when an operator keeps it from signing; NULL: it may sign.';

CREATE TABLE idp_key (
    issuer text COLLATE "C" NOT NULL,
    thumbprint text COLLATE "C" NOT NULL CHECK (octet_length(thumbprint) = 43),
    kid text COLLATE "C" NOT NULL,
    algorithm text COLLATE "C" NOT NULL,
    public_jwk jsonb NOT NULL CHECK (NOT public_jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'k']),
    first_seen_at timestamptz(0) NOT NULL CHECK (isfinite(first_seen_at)),
    last_seen_at timestamptz(0) NOT NULL CHECK (isfinite(last_seen_at)),
    tag text COLLATE "C" NOT NULL CHECK (octet_length(tag) = 43),
    revoked_at timestamptz(0),
    PRIMARY KEY (issuer, thumbprint, kid, algorithm)
);
CREATE TRIGGER revoked_is_for_ever BEFORE UPDATE ON idp_key FOR EACH ROW
    WHEN (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
    EXECUTE FUNCTION refuse_change('a revoked key stays revoked');
GRANT SELECT ON idp_key TO native_sso_broker;
COMMENT ON TABLE idp_key IS
    'The entries of IdPs'' key sets: an id_token may be older than the present set. A key counts for the issuer that showed it only, because tenants of one provider share keys.';
COMMENT ON COLUMN idp_key.issuer IS 'The IdP that published it.';
COMMENT ON COLUMN idp_key.thumbprint IS 'RFC 7638.';
COMMENT ON COLUMN idp_key.kid IS 'kid of the entry; empty: it has none.';
COMMENT ON COLUMN idp_key.algorithm IS 'alg of the entry; empty: it has none.';
COMMENT ON COLUMN idp_key.public_jwk IS 'RFC 7517.';
COMMENT ON COLUMN idp_key.first_seen_at IS 'When a broker first fetched it.';
COMMENT ON COLUMN idp_key.last_seen_at IS 'When a broker last fetched it.';
COMMENT ON COLUMN idp_key.tag IS
    'HMAC under the brokers'' device key over the columns before. The service role may write here, so a row that no broker made must not count.';
COMMENT ON COLUMN idp_key.revoked_at IS 'Since when an operator distrusts it. One revoked row revokes the key in all its entries.';

CREATE TABLE subject_prefix (
    issuer text COLLATE "C" PRIMARY KEY,
    prefix text COLLATE "C" NOT NULL CHECK (octet_length(prefix) <= 64),
    used_at timestamptz(0)
);
COMMENT ON TABLE subject_prefix IS
    'How the broker names the users of each IdP. APIs know users by these names, so a prefix in use stays.';
COMMENT ON COLUMN subject_prefix.issuer IS 'The IdP.';
COMMENT ON COLUMN subject_prefix.prefix IS 'Put before each sub in the broker''s tokens; empty: nothing.';
COMMENT ON COLUMN subject_prefix.used_at IS 'When a session of this IdP was first noticed; NULL: none was, and the prefix may change.';

CREATE TABLE used_proof (
    kind text NOT NULL CHECK (kind IN (
        'dpop', 'client_assertion', 'logout_token', 'enrolment', 'global_token_revocation', 'session_revoked', 'account_disabled',
        'account_enabled')),
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    expires_at timestamptz(0) NOT NULL,
    session_id uuid,
    PRIMARY KEY (kind, digest)
);
CREATE INDEX used_proof_expiry ON used_proof (expires_at);
COMMENT ON TABLE used_proof IS 'What is good once and was used.';
COMMENT ON COLUMN used_proof.kind IS 'So that a proof of one kind is never taken for one of another.';
COMMENT ON COLUMN used_proof.digest IS 'SHA-256 of what names the proof.';
COMMENT ON COLUMN used_proof.expires_at IS 'When it would be refused for its age.';
COMMENT ON COLUMN used_proof.session_id IS 'Of an enrolment: the session that the id_token began.';

CREATE TABLE relayed_code (
    code bytea PRIMARY KEY CHECK (octet_length(code) = 32),
    binding bytea NOT NULL CHECK (octet_length(binding) = 32),
    request_id uuid NOT NULL,
    state text NOT NULL CHECK (state IN ('asked', 'kept', 'answered', 'lost')),
    valid_until timestamptz NOT NULL,
    answer bytea CHECK (octet_length(answer) <= 131072),
    expires_at timestamptz NOT NULL,
    is_sent boolean NOT NULL,
    reserved_at timestamptz(0) NOT NULL,
    CHECK ((state IN ('kept', 'answered')) = (answer IS NOT NULL))
);
CREATE INDEX relayed_code_answer ON relayed_code (valid_until) WHERE answer IS NOT NULL;
CREATE INDEX relayed_code_expiry ON relayed_code (expires_at);
COMMENT ON TABLE relayed_code IS 'Authorization codes that were relayed to an IdP. Each is sent there once (RFC 6749 section 4.1.2).';
COMMENT ON COLUMN relayed_code.code IS 'HMAC of issuer and code under the brokers'' device key.';
COMMENT ON COLUMN relayed_code.binding IS 'Stands for client, verifier, redirect URI, device value, scope and key: a repeated request shows the same.';
COMMENT ON COLUMN relayed_code.request_id IS 'The request that asks the IdP.';
COMMENT ON COLUMN relayed_code.state IS 'asked: reserved, or at the IdP. kept: the IdP answered. answered: the broker answered too. lost: no answer can come.';
COMMENT ON COLUMN relayed_code.valid_until IS 'Until then an answer may come, and a kept answer is given out.';
COMMENT ON COLUMN relayed_code.answer IS 'The answer, sealed under a key that is made of code, verifier and the brokers'' device key.';
COMMENT ON COLUMN relayed_code.expires_at IS 'When the row may be swept.';
COMMENT ON COLUMN relayed_code.is_sent IS 'In state asked: false while the code is reserved and has not left.';
COMMENT ON COLUMN relayed_code.reserved_at IS 'When the request that asks the IdP reserved it.';

CREATE TABLE web_handoff (
    code digest PRIMARY KEY,
    challenge digest NOT NULL,
    origin text COLLATE "C" NOT NULL,
    app_client_id text COLLATE "C" NOT NULL,
    app_is_bound boolean NOT NULL,
    client_id text COLLATE "C" NOT NULL,
    audience issuer_identifier NOT NULL,
    issuer issuer_identifier NOT NULL,
    sid digest NOT NULL,
    subject issued_identifier NOT NULL,
    source_client_id text COLLATE "C" NOT NULL,
    other_audience text[] NOT NULL,
    auth_time timestamptz(0),
    acr text,
    amr text[] NOT NULL,
    issued_at timestamptz(0) NOT NULL,
    token_expires_at timestamptz(0) NOT NULL,
    key_is_current boolean NOT NULL,
    device_digest digest NOT NULL,
    profile profile_name NOT NULL,
    scope text[] NOT NULL,
    claims copied_claims,
    request_id uuid NOT NULL,
    made_at timestamptz(0) NOT NULL,
    expires_at timestamptz NOT NULL,
    redeemed_at timestamptz
);
CREATE INDEX web_handoff_expiry ON web_handoff (expires_at);
COMMENT ON TABLE web_handoff IS
    'The codes by which apps hand a login to a web app, each with what the exchange of the web app will be judged by. A row goes by the sweep, an hour after it expired.';
COMMENT ON COLUMN web_handoff.code IS 'HMAC of the code under the brokers'' device key.';
COMMENT ON COLUMN web_handoff.challenge IS 'SHA-256 of the verifier that the web app keeps for the browser.';
COMMENT ON COLUMN web_handoff.origin IS 'The web origin to which the app sends the browser.';
COMMENT ON COLUMN web_handoff.app_client_id IS 'The app that asked for the code.';
COMMENT ON COLUMN web_handoff.app_is_bound IS 'Whether the app showed a DPoP key.';
COMMENT ON COLUMN web_handoff.client_id IS 'The web app, the only client that may redeem the code.';
COMMENT ON COLUMN web_handoff.audience IS 'The issuer that the app named: the IdP, or the broker for an enrolled login.';
COMMENT ON COLUMN web_handoff.issuer IS 'The IdP of the login.';
COMMENT ON COLUMN web_handoff.sid IS 'SHA-256 of the sid in the id_token.';
COMMENT ON COLUMN web_handoff.subject IS 'sub of the id_token.';
COMMENT ON COLUMN web_handoff.source_client_id IS 'The app that logged in.';
COMMENT ON COLUMN web_handoff.other_audience IS 'aud of the id_token without the app that logged in.';
COMMENT ON COLUMN web_handoff.auth_time IS 'auth_time of the id_token.';
COMMENT ON COLUMN web_handoff.acr IS 'acr of the id_token.';
COMMENT ON COLUMN web_handoff.amr IS 'amr of the id_token.';
COMMENT ON COLUMN web_handoff.issued_at IS 'iat of the id_token.';
COMMENT ON COLUMN web_handoff.token_expires_at IS 'exp of the id_token.';
COMMENT ON COLUMN web_handoff.key_is_current IS 'Whether the key of the id_token was in the IdP''s key set.';
COMMENT ON COLUMN web_handoff.device_digest IS 'The device of the app.';
COMMENT ON COLUMN web_handoff.profile IS 'The profile of the request.';
COMMENT ON COLUMN web_handoff.scope IS 'The most that the web app gets.';
COMMENT ON COLUMN web_handoff.claims IS 'What the web app''s access tokens copy of the id_token; NULL: nothing.';
COMMENT ON COLUMN web_handoff.request_id IS 'X-Request-Id of the answer with the code.';
COMMENT ON COLUMN web_handoff.made_at IS 'When the app got it.';
COMMENT ON COLUMN web_handoff.expires_at IS 'From then on the code is refused.';
COMMENT ON COLUMN web_handoff.redeemed_at IS 'When the web app got tokens for it. Set once; NULL: it has not.';
