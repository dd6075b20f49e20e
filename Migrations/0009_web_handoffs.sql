-- The hand-off of a login from an app to a web app: which members of a group may hand off and receive, and the codes that wait for
-- their redemption.
-- Release: 0.1
-- Locks: sharing_group_member, for the moment that it takes to add two columns.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

-- The defaults allow nothing, and a release that does not know the columns goes on as before.
ALTER TABLE sharing_group_member
    ADD COLUMN handoff text CHECK (handoff IN ('bearer', 'dpop')),
    ADD COLUMN handoff_origins text[] NOT NULL DEFAULT '{}' CHECK (array_position(handoff_origins, NULL) IS NULL);
COMMENT ON COLUMN sharing_group_member.handoff IS
    'Whether it may hand a login to the web apps of the group: bearer, unless it shows a DPoP key; dpop, also then; NULL: it may not.';
COMMENT ON COLUMN sharing_group_member.handoff_origins IS 'The web origins at which it receives logins of the group; empty: it receives none.';

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
COMMENT ON COLUMN web_handoff.expires_at IS 'From then on the code is refused.';
COMMENT ON COLUMN web_handoff.redeemed_at IS 'When the web app got tokens for it. Set once; NULL: it has not.';
