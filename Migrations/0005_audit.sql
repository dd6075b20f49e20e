-- The audit: tokens granted, requests refused with the reason, changes by operators. Append only, one partition a month. Also the
-- retention periods, and what brokers remember to notice that the database has gone back.
-- Release: 0.1
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

CREATE TABLE audit_event (
    occurred_at timestamptz NOT NULL,
    kind text NOT NULL,
    request_id uuid,
    client_id text COLLATE "C",
    session_id uuid,
    grant_id uuid,
    reason text,
    actor text,
    details jsonb,
    trace_id uuid,
    -- A number, because BRIN cannot index xid8.
    recorded_in bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint
) PARTITION BY RANGE (occurred_at);
CREATE INDEX audit_event_request ON audit_event (request_id) WHERE request_id IS NOT NULL;
-- Events come nearly in the order of their instants and transactions, so that a summary of some blocks is enough and an insert does
-- not pay for it.
CREATE INDEX audit_event_time ON audit_event USING brin (occurred_at, recorded_in) WITH (pages_per_range = 32, autosummarize = on);
-- For a month without a partition of its own.
CREATE TABLE audit_event_default PARTITION OF audit_event DEFAULT;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON audit_event FOR EACH ROW
    EXECUTE FUNCTION refuse_change('the audit is append only');
COMMENT ON TABLE audit_event IS 'The audit. No row is changed or deleted; whole months go by retention.';
COMMENT ON COLUMN audit_event.occurred_at IS 'When it happened.';
COMMENT ON COLUMN audit_event.kind IS 'What happened, from a closed list.';
COMMENT ON COLUMN audit_event.request_id IS 'X-Request-Id of the answer, or the id of an operator''s act.';
COMMENT ON COLUMN audit_event.client_id IS 'A registered client.';
COMMENT ON COLUMN audit_event.session_id IS 'The session that it was about.';
COMMENT ON COLUMN audit_event.grant_id IS 'The grant that it was about.';
COMMENT ON COLUMN audit_event.reason IS 'Why, from a closed list; an operator''s own words for an operator''s act.';
COMMENT ON COLUMN audit_event.actor IS 'Who, where a person acted.';
COMMENT ON COLUMN audit_event.details IS 'More, without secrets.';
COMMENT ON COLUMN audit_event.trace_id IS 'trace-id of traceparent (W3C Trace Context), where a trusted proxy sent one.';
COMMENT ON COLUMN audit_event.recorded_in IS 'The transaction that recorded it. A reader follows the audit by it, up to the first transaction that has not ended.';

CREATE TABLE retention (
    only_row boolean PRIMARY KEY CHECK (only_row),
    session_days integer NOT NULL CONSTRAINT session_days_from_90_to_3650 CHECK (session_days BETWEEN 90 AND 3650),
    audit_days integer NOT NULL CONSTRAINT audit_days_from_30_to_3650 CHECK (audit_days BETWEEN 30 AND 3650)
);
INSERT INTO retention VALUES (true, 90, 400);
COMMENT ON TABLE retention IS
    'How long records are kept after their end. The service role can neither read nor change it: a stolen service password must not shorten it.';
COMMENT ON COLUMN retention.only_row IS 'There is one row.';
COMMENT ON COLUMN retention.session_days IS
    'Sessions, grants, devices and logouts of users. An id_token may be 90 days old when it is exchanged: until then the row of its ended session refuses it.';
COMMENT ON COLUMN retention.audit_days IS 'The audit, counted from the end of its month.';

CREATE TABLE sweep (
    only_row boolean PRIMARY KEY CHECK (only_row),
    begun_at timestamptz NOT NULL DEFAULT '-infinity',
    after_session uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
    after_issuer text COLLATE "C" NOT NULL DEFAULT '',
    after_device bytea NOT NULL DEFAULT ''
);
INSERT INTO sweep VALUES (true);
COMMENT ON TABLE sweep IS
    'When the last sweep began, so that one broker sweeps for all, and where the next batch goes on. The service role cannot read it.';
COMMENT ON COLUMN sweep.only_row IS 'There is one row.';
COMMENT ON COLUMN sweep.begun_at IS 'When the last sweep began.';
COMMENT ON COLUMN sweep.after_session IS 'The last session that a sweep looked at; zero: it begins with the first.';
COMMENT ON COLUMN sweep.after_issuer IS 'The issuer of the last device that a sweep looked at; empty: it begins with the first.';
COMMENT ON COLUMN sweep.after_device IS 'The digest of that device.';

CREATE TABLE broker_count (
    broker_id uuid PRIMARY KEY,
    number bigint NOT NULL,
    counted_at timestamptz NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE broker_count IS
    'Each broker counts here, and remembers the last number whose commit was confirmed. A database with a lower number, or without the row, is from an earlier moment, and the broker does not use it.';
COMMENT ON COLUMN broker_count.broker_id IS 'The broker''s own name, by chance. The service role cannot read those of other brokers.';
COMMENT ON COLUMN broker_count.number IS 'How often it has counted.';
COMMENT ON COLUMN broker_count.counted_at IS 'When it counted last. A row goes 400 days later.';

CREATE TABLE service_count (
    only_row boolean PRIMARY KEY CHECK (only_row),
    counted_at timestamptz NOT NULL
) WITH (fillfactor = 50);
INSERT INTO service_count VALUES (true, '-infinity');
COMMENT ON TABLE service_count IS
    'When any broker last counted while it could answer requests. The service role only calls count_broker: with the service''s password one can hide a gap, or make one.';
COMMENT ON COLUMN service_count.only_row IS 'There is one row.';
COMMENT ON COLUMN service_count.counted_at IS 'By the database''s clock; -infinity: never.';

CREATE TABLE service_gap (
    began_at timestamptz PRIMARY KEY,
    ended_at timestamptz NOT NULL,
    CHECK (ended_at > began_at)
);
COMMENT ON TABLE service_gap IS
    'A time of more than 6 s in which no broker counted in service_count: no app could get an answer. Grace periods do not run in it.';
COMMENT ON COLUMN service_gap.began_at IS 'The last count before it.';
COMMENT ON COLUMN service_gap.ended_at IS 'The first count after it. A row goes 8 days later.';

CREATE TABLE database_acceptance (
    only_row boolean PRIMARY KEY CHECK (only_row),
    accepted_at timestamptz NOT NULL
);
INSERT INTO database_acceptance VALUES (true, '-infinity');
COMMENT ON TABLE database_acceptance IS
    'When an operator last accepted this database although it is from an earlier moment. A broker that has not seen that instant yet counts on from what it finds.';
COMMENT ON COLUMN database_acceptance.only_row IS 'There is one row.';
COMMENT ON COLUMN database_acceptance.accepted_at IS 'By database accept; -infinity: never.';

-- An event with what is known today of its login and grant, and where it lies. Each addition is a subquery of its own, so that a
-- LIMIT spares the rows that it leaves out.
CREATE VIEW audit_line AS
SELECT a.occurred_at, a.kind, a.request_id, a.client_id, a.session_id, a.grant_id, a.reason, a.actor,
    a.details::text AS details,
    (SELECT l.issuer FROM session l WHERE l.session_id = a.session_id) AS issuer,
    (SELECT encode(l.sid, 'hex') FROM session l WHERE l.session_id = a.session_id) AS sid,
    coalesce(
        a.details ->> 'source_client',
        (SELECT g.source_client_id FROM sso_grant g WHERE g.grant_id = a.grant_id),
        (SELECT l.source_client_id FROM session l WHERE l.session_id = a.session_id)) AS source_client_id,
    (SELECT m.group_id::text FROM session l JOIN sharing_group_member m ON m.issuer = l.idp_issuer
     WHERE l.session_id = a.session_id AND m.client_id = a.client_id) AS group_id,
    a.tableoid::bigint AS partition, a.ctid AS place, a.trace_id, a.recorded_in
FROM audit_event a;
GRANT SELECT ON audit_line TO native_sso_audit;
COMMENT ON VIEW audit_line IS 'The audit as the command line shows it.';
