-- Ends of sessions for resource servers, which poll them (RFC 8936).
--
-- No call waits for an end: the broker waits, without a connection, and calls again.
-- One current text, applied again when it changes.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso, pg_temp;

-- Gives positions to the ends that have none, and answers the last position. One caller at a time gives them, and only to committed
-- rows: whoever has seen a position has seen all before it. The number 7017280452245743467 is arbitrary and belongs to this schema.
CREATE OR REPLACE FUNCTION number_ends() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off AS $$
BEGIN
    IF EXISTS (SELECT FROM ended_session e WHERE e.position IS NULL)
        AND pg_try_advisory_xact_lock(7017280452245743467)
    THEN
        UPDATE ended_session e SET position = nextval('ended_session_number')
        WHERE e.session_id IN (SELECT n.session_id FROM ended_session n WHERE n.position IS NULL LIMIT 10000);
    END IF;
    RETURN coalesce((SELECT e.position FROM ended_session e WHERE e.position IS NOT NULL ORDER BY e.position DESC LIMIT 1), 0);
END
$$;
GRANT EXECUTE ON FUNCTION number_ends TO native_sso_broker;

-- The next ends of a receiver, in order, after what it acknowledged. $1 client, $2 the name of the receiver, $3 the sessions whose ends
-- it has processed, $4 how many at most, $5 longest life of an access token: older ends are left out. A client learns of ends only if
-- an access token of the session may have an aud that the client may introspect. At most 64 receivers of a client are kept; a further
-- one replaces the one that polled longest ago.
CREATE OR REPLACE FUNCTION poll_ended_sessions(
    p_client text, p_receiver text, p_acknowledged uuid[], p_limit bigint, p_life_seconds bigint)
RETURNS TABLE (session_id uuid, ended_at timestamptz, reason text, place bigint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = native_sso, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    v_audiences text[];
    v_life interval;
    v_receiver event_receiver;
    v_acknowledged bigint[];
    v_last bigint;
    v_first bigint;
BEGIN
    SELECT c.introspects INTO v_audiences FROM client c WHERE c.client_id = p_client AND c.enabled;
    IF coalesce(v_audiences, '{}') = '{}' THEN
        RETURN;
    END IF;
    v_life := make_interval(secs => least(86400, greatest(
        p_life_seconds, (SELECT max(c.access_token_seconds) FROM client c)))) + interval '2 minutes';
    v_last := number_ends();
    SELECT * INTO v_receiver FROM event_receiver r WHERE r.client_id = p_client AND r.receiver = p_receiver FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        INSERT INTO event_receiver (client_id, receiver) VALUES (p_client, p_receiver)
        ON CONFLICT (client_id, receiver) DO NOTHING;
        DELETE FROM event_receiver r WHERE r.client_id = p_client AND r.receiver IN (
            SELECT o.receiver FROM event_receiver o WHERE o.client_id = p_client AND o.receiver <> p_receiver
            ORDER BY o.polled_at DESC OFFSET 63);
        SELECT * INTO v_receiver FROM event_receiver r
        WHERE r.client_id = p_client AND r.receiver = p_receiver FOR NO KEY UPDATE;
    END IF;
    v_acknowledged := ARRAY(
        SELECT a.position FROM unnest(v_receiver.acknowledged) AS a (position)
        UNION
        SELECT e.position FROM ended_session e
        WHERE e.session_id = ANY (p_acknowledged) AND e.position > v_receiver.position AND e.audiences && v_audiences
        ORDER BY 1 LIMIT 1000);
    SELECT e.position INTO v_first FROM ended_session e
    WHERE e.position > v_receiver.position AND e.recorded_at > now() - v_life AND e.audiences && v_audiences
        AND e.position <> ALL (v_acknowledged)
    ORDER BY e.position LIMIT 1;
    -- Nothing is left up to v_last. Ends that got a position since then are behind it.
    v_first := coalesce(v_first, greatest(v_last, v_receiver.position) + 1);
    v_acknowledged := ARRAY(SELECT a.position FROM unnest(v_acknowledged) AS a (position) WHERE a.position >= v_first ORDER BY 1);
    IF v_acknowledged <> v_receiver.acknowledged OR v_first - 1 > v_receiver.position
        OR v_receiver.polled_at < now() - interval '1 minute'
    THEN
        UPDATE event_receiver r
        SET position = greatest(r.position, v_first - 1), acknowledged = v_acknowledged, polled_at = now()
        WHERE r.client_id = p_client AND r.receiver = p_receiver;
    END IF;
    RETURN QUERY
    SELECT e.session_id, e.ended_at::timestamptz, e.reason, e.position FROM ended_session e
    WHERE e.position >= v_first AND e.recorded_at > now() - v_life AND e.audiences && v_audiences
        AND e.position <> ALL (v_acknowledged)
    ORDER BY e.position LIMIT least(p_limit, 1000);
END
$$;
GRANT EXECUTE ON FUNCTION poll_ended_sessions TO native_sso_broker;
