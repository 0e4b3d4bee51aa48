-- One-time links to sign in by, by the hash of their text. Belongs to no organisation, so that the tenant role has no
-- right to it.
CREATE TABLE sign_in_links (
  hash bytea PRIMARY KEY,
  user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- As in credentials.
  vouched_by text
);
CREATE INDEX sign_in_links_user ON sign_in_links (user_id);

ALTER TABLE sign_in_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in_links FORCE ROW LEVEL SECURITY;
CREATE POLICY sign_in_links_system ON sign_in_links TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_links TO penstock_system;
