-- A signing key of one replica: every broker publishes it, and that one alone has its private part and signs with it.
-- Release: 0.1
-- Locks: signing_key, for the moment that it takes to add a column and to build two indexes over a few rows.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

ALTER TABLE signing_key ADD COLUMN replica identifier, ADD CHECK (replica IS NULL OR use = 'access-token');
COMMENT ON COLUMN signing_key.replica IS 'keys.replica of the brokers that sign with it; NULL: all of them.';
DROP INDEX signing_key_active;
DROP INDEX signing_key_successor;
CREATE UNIQUE INDEX signing_key_active ON signing_key (use, algorithm, coalesce(replica::text, '')) WHERE state = 'active';
-- Two rotations at once make one successor.
CREATE UNIQUE INDEX signing_key_successor ON signing_key (use, algorithm, coalesce(replica::text, '')) WHERE state = 'published';
COMMENT ON TABLE signing_key IS 'The keys of the key module. One is active for each use and algorithm, and for each replica that has its own.';
