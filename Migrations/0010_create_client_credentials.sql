-- Why: clients that prove who they are. A secret and its successor are good side by side, so that one is replaced without
-- an outage; an assertion is good once, at whichever broker.
-- Locks: ACCESS EXCLUSIVE on client and client_key until the commit: every exchange and refresh reads client and stands still
-- meanwhile, and so does it behind this migration while that waits for somebody else's lock. The tables are small and nothing of
-- them is rewritten, so that it takes milliseconds; it waits half a second and gives up: run it again.
-- Old code: unaffected; it knows public clients only, and never read the column that goes, nor any key. A key that somebody put
-- in by hand without kty and alg stops the migration: remove it.
SET LOCAL ROLE native_sso_admin;
SET LOCAL lock_timeout = '500ms';
SET LOCAL search_path = native_sso;

-- No command could ever set it.
ALTER TABLE client DROP COLUMN secret_digest;
-- What a client proves itself with hangs on this: it belongs to the method that the client is registered for, and to no
-- other, and while it is there the client has no other.
ALTER TABLE client ADD UNIQUE (client_id, authentication);

CREATE TABLE client_secret (
    client_id identifier NOT NULL,
    authentication text NOT NULL DEFAULT 'client_secret_basic' CHECK (authentication = 'client_secret_basic'),
    -- Two at most.
    slot smallint NOT NULL CHECK (slot IN (1, 2)),
    -- SHA-256 of a generated secret of 256 bits.
    digest bytea NOT NULL CHECK (octet_length(digest) = 32),
    -- To the microsecond: it says which of two is the older.
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (client_id, slot),
    FOREIGN KEY (client_id, authentication) REFERENCES client (client_id, authentication) ON DELETE CASCADE
);
GRANT SELECT ON client_secret TO native_sso_broker;
CREATE TRIGGER announce AFTER INSERT OR UPDATE OR DELETE ON client_secret EXECUTE FUNCTION announce_registry_change();

ALTER TABLE client_key
    DROP CONSTRAINT client_key_client_id_fkey,
    DROP CONSTRAINT client_key_public_jwk_check,
    ADD CHECK (
        public_jwk ? 'kty' AND public_jwk ? 'alg'
        AND NOT public_jwk ?| ARRAY['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']),
    ADD COLUMN authentication text NOT NULL DEFAULT 'private_key_jwt' CHECK (authentication = 'private_key_jwt'),
    ADD FOREIGN KEY (client_id, authentication) REFERENCES client (client_id, authentication) ON DELETE CASCADE;

-- $1 digest of client and jti, $2 when the assertion is refused for its age. True: this was its first use.
-- No assertion is good for as long as an hour; a stolen password of the service must not leave rows for ever. And none comes
-- long after it expired, unless the broker's clock is behind this one: its row could be swept, which is done an hour after, and
-- the assertion be used again. Then there is no answer.
CREATE FUNCTION use_client_assertion(p_digest bytea, p_expires_at timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp AS $$
BEGIN
    IF p_expires_at < now() - interval '30 minutes' THEN
        RAISE EXCEPTION 'the clocks of broker and database are more than 30 minutes apart' USING ERRCODE = 'system_error';
    END IF;
    INSERT INTO used_proof (kind, digest, expires_at)
    VALUES ('client_assertion', p_digest, least(p_expires_at, now() + interval '1 hour'))
    ON CONFLICT (kind, digest) DO NOTHING;
    RETURN FOUND;
END
$$;
GRANT EXECUTE ON FUNCTION use_client_assertion TO native_sso_broker;
