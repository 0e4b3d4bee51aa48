-- A person's credentials. `vouched_by`: the organisation that added this address. Each such organisation has a separate
-- credential of the person; its links, its password and the sessions that begin with it give access to that
-- organisation only (ADR 10). Null: the operator or an identity provider has proven the address; then it is the only
-- credential and gives access to all of the person's organisations. The table belongs to no organisation, so the tenant
-- role has no right to it.
CREATE TABLE credentials (
  user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
  password_hash text,
  vouched_by text,
  signed_in_at timestamptz
);
CREATE UNIQUE INDEX credentials_voucher ON credentials (user_id, (COALESCE(vouched_by, '')));

ALTER TABLE credentials ENABLE ROW LEVEL SECURITY;
ALTER TABLE credentials FORCE ROW LEVEL SECURITY;
CREATE POLICY credentials_system ON credentials TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON credentials TO penstock_system;
