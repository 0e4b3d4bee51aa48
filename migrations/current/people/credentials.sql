-- What a person signs in with. Each organisation that names an address vouches for its own credential of that person
-- (`vouched_by`), and a link, a password and a session reach as far as who vouches for them. Null: proven, by the operator
-- or an identity provider; then it is the only one, and reaches everywhere. Belongs to no organisation, so that the tenant role has no right to it.
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
