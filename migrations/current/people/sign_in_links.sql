-- One-time sign-in links, by the hash of their token. The table belongs to no organisation, so the tenant role has no
-- right to it.
CREATE TABLE sign_in_links (
  hash bytea PRIMARY KEY,
  user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- The same as in credentials.
  vouched_by text
);
CREATE INDEX sign_in_links_user ON sign_in_links (user_id);

ALTER TABLE sign_in_links ENABLE ROW LEVEL SECURITY;
ALTER TABLE sign_in_links FORCE ROW LEVEL SECURITY;
CREATE POLICY sign_in_links_system ON sign_in_links TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON sign_in_links TO penstock_system;
