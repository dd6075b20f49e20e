-- A key that an operator has suspended signs nothing until it is resumed, and stays published. For an alarm: nothing is written for a token
-- that would be signed by it.
-- Release: 0.1
-- Locks: signing_key, for the moment that it takes to add a column.
SET LOCAL ROLE native_sso_admin;
SET LOCAL search_path = native_sso;

ALTER TABLE signing_key ADD COLUMN suspended_at timestamptz(0);
COMMENT ON COLUMN signing_key.suspended_at IS 'Since when an operator keeps it from signing; NULL: it may sign.';
