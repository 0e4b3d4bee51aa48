-- API keys, by the hash of their text. A session of the dashboard has a row for each organisation that it looks at
-- (docs/adr/0010): such a row has a `session_id`, and a hash that no text has.
CREATE TABLE api_keys (
  id text PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations ON DELETE CASCADE,
  user_id text NOT NULL REFERENCES users,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  scopes text[] NOT NULL,
  expires_at timestamptz,
  revoked_at timestamptz,
  last_used_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  session_id text,
  -- Who made it: a person's address as it was then, so that it is known for ever; null is the command line.
  made_by text,
  -- What the key may call: ids of models, and `provider/*`; null is all. Its own window, at most the plan's; null is the plan's.
  models text[],
  rate_rpm int CHECK (rate_rpm > 0),
  rate_burst int CHECK (rate_burst > 0),
  -- What all of its calls count for, whatever they say themselves.
  end_user text CHECK (length(end_user) BETWEEN 1 AND 256),
  tags text[] NOT NULL DEFAULT '{}',
  -- The hash of the text before the last rotation, which counts until then.
  previous_hash bytea UNIQUE,
  previous_until timestamptz,
  CHECK ((rate_rpm IS NULL) = (rate_burst IS NULL))
);
CREATE INDEX api_keys_org ON api_keys (org_id, id);
CREATE UNIQUE INDEX api_keys_session ON api_keys (session_id, org_id) WHERE session_id IS NOT NULL AND revoked_at IS NULL;

ALTER TABLE api_keys ENABLE ROW LEVEL SECURITY;
ALTER TABLE api_keys FORCE ROW LEVEL SECURITY;
CREATE POLICY api_keys_tenant ON api_keys TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON api_keys TO penstock_tenant;
CREATE POLICY api_keys_system ON api_keys TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON api_keys TO penstock_system;
