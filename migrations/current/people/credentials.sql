-- What a person signs in with. Belongs to no organisation, so that the tenant role has no right to it.
CREATE TABLE credentials (
  user_id text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  password_hash text,
  vouched_by text,
  signed_in_at timestamptz
);

ALTER TABLE credentials ENABLE ROW LEVEL SECURITY;
ALTER TABLE credentials FORCE ROW LEVEL SECURITY;
CREATE POLICY credentials_system ON credentials TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON credentials TO penstock_system;
