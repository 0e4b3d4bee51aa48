-- The number of failed sign-ins for each address, by the hash of the address. The table belongs to no organisation, so
-- the tenant role has no right to it.
CREATE TABLE sign_in_failures (
  email_hash bytea PRIMARY KEY,
  failures int NOT NULL,
  failed_at timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_time ON sign_in_failures (failed_at);

ALTER TABLE sign_in_failures ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in_failures FORCE ROW LEVEL SECURITY;
CREATE POLICY sign_in_failures_system ON sign_in_failures TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_failures TO penstock_system;
