-- The ends of sessions that resource servers must learn of before the access tokens expire. Each end but that by time writes a row, in
-- the same transaction, whichever function ended the session. Resource servers poll the rows (RFC 8936).
-- Release: 0.1
-- Locks: session, for the moment that it takes to add a trigger.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE TABLE ended_session (
    session_id uuid PRIMARY KEY,
    ended_at timestamptz(0) NOT NULL,
    reason text NOT NULL,
    audiences text[] NOT NULL,
    recorded_at timestamptz NOT NULL,
    position bigint
);
CREATE UNIQUE INDEX ended_session_position ON ended_session (position);
CREATE INDEX ended_session_unnumbered ON ended_session (session_id) WHERE position IS NULL;
CREATE INDEX ended_session_age ON ended_session (recorded_at);
CREATE SEQUENCE ended_session_number;
COMMENT ON TABLE ended_session IS 'The ends of which resource servers learn. A row goes by the sweep, once no access token of the session can be alive.';
COMMENT ON COLUMN ended_session.session_id IS 'The session; session_id of its access tokens.';
COMMENT ON COLUMN ended_session.ended_at IS 'When it ended.';
COMMENT ON COLUMN ended_session.reason IS 'What ended it, as in end_reason of the session.';
COMMENT ON COLUMN ended_session.audiences IS 'Every aud that an access token of the session may have.';
COMMENT ON COLUMN ended_session.recorded_at IS 'When the row was made.';
COMMENT ON COLUMN ended_session.position IS
    'The order in which receivers get it, given after the commit, so that no receiver passes over a row that commits late; NULL: not yet given.';

CREATE TABLE event_receiver (
    client_id identifier REFERENCES client ON DELETE CASCADE,
    receiver text COLLATE "C" CHECK (octet_length(receiver) <= 64),
    position bigint NOT NULL DEFAULT 0,
    acknowledged bigint[] NOT NULL DEFAULT '{}',
    polled_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (client_id, receiver)
) WITH (fillfactor = 50);
COMMENT ON TABLE event_receiver IS 'How far each process of a resource server has come.';
COMMENT ON COLUMN event_receiver.client_id IS 'The resource server.';
COMMENT ON COLUMN event_receiver.receiver IS 'The name that the process gave itself; empty: it gave none.';
COMMENT ON COLUMN event_receiver.position IS 'It has acknowledged every end up to here.';
COMMENT ON COLUMN event_receiver.acknowledged IS 'The ends behind position that it has acknowledged before others.';
COMMENT ON COLUMN event_receiver.polled_at IS 'When it polled last, within a minute.';

-- The trigger fires only for a statement that sets ended_at, so that exchange and refresh do not pay. A session without grants has no
-- access token. A client that got another audience since the grant may have tokens for both.
CREATE FUNCTION announce_end() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.ended_at IS NULL AND NEW.ended_at IS NOT NULL AND NEW.end_reason NOT IN ('expired', 'idle') THEN
        INSERT INTO native_sso.ended_session (session_id, ended_at, reason, audiences, recorded_at)
        SELECT NEW.session_id, NEW.ended_at, NEW.end_reason, array_agg(DISTINCT a.audience), clock_timestamp()
        FROM native_sso.sso_grant g
        JOIN native_sso.client c ON c.client_id = g.client_id
        CROSS JOIN LATERAL unnest(g.audiences || c.audiences) AS a (audience)
        WHERE g.session_id = NEW.session_id
        HAVING count(*) > 0
        ON CONFLICT (session_id) DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER announce_end AFTER UPDATE OF ended_at ON session FOR EACH ROW EXECUTE FUNCTION announce_end();
