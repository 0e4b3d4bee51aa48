-- People, and one service user for each organisation: keys that the command line creates act as that user. A person
-- belongs to no organisation; a tenant sees the people who are its members.
CREATE TABLE users (
  id text PRIMARY KEY,
  org_id text REFERENCES organizations ON DELETE CASCADE,
  email text,
  kind text NOT NULL CHECK (kind IN ('service', 'person')),
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((kind = 'service') = (org_id IS NOT NULL))
);
CREATE UNIQUE INDEX users_email ON users (lower(email));
CREATE INDEX users_org ON users (org_id);
