-- API keys. The table stores the hash of a key's text, not the text. A session of the dashboard also has a row here,
-- one for each organisation that it has opened (ADR 10): such a row has a `session_id`, and its hash is random.
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
  -- The address of the person who made the key, copied so that it outlives the person; null: created by the command
  -- line.
  made_by text,
  -- The models that the key may call: ids and `provider/*`; null: all models. The key's own rate limit, at most the
  -- plan's; null: the plan's limit.
  models text[],
  rate_rpm int CHECK (rate_rpm > 0),
  rate_burst int CHECK (rate_burst > 0),
  -- The end user of every call with this key, whatever the call says. The tags are added to those of the call.
  end_user text CHECK (length(end_user) BETWEEN 1 AND 256),
  tags text[] NOT NULL DEFAULT '{}',
  -- The hash of the key's text before the last rotation. That text is accepted until `previous_until`.
  previous_hash bytea UNIQUE,
  previous_until timestamptz,
  -- Whether the key is a router's: it may send documents that are not trusted (beyond 14.8).
  is_router boolean NOT NULL DEFAULT false,
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
