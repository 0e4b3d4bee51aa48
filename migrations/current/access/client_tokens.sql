-- Client tokens (beyond 14.1): credentials of a browser that last at most an hour. A token acts as the key that created
-- it, `maker_id` (an API key, or the hidden key of a session), and ends with it; its own columns only limit the key's
-- rights. The table stores the hash of a token's text. Tokens that ended a day ago are deleted when their organisation
-- creates another.
CREATE TABLE client_tokens (
  id text COLLATE "C" PRIMARY KEY,
  org_id text NOT NULL REFERENCES organizations ON DELETE CASCADE,
  maker_id text NOT NULL REFERENCES api_keys ON DELETE CASCADE,
  hash bytea NOT NULL UNIQUE,
  scopes text[] NOT NULL,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  end_user text CHECK (length(end_user) BETWEEN 1 AND 256),
  tags text[] NOT NULL DEFAULT '{}',
  -- Its own rate window, inside its maker's window; null: only its maker's window applies.
  rate_rpm int CHECK (rate_rpm > 0),
  rate_burst int CHECK (rate_burst > 0),
  -- The only object that it can use; null: all objects that its scopes allow.
  bound_kind text CHECK (bound_kind IN ('job', 'run', 'response', 'agent')),
  bound_id text,
  CHECK ((rate_rpm IS NULL) = (rate_burst IS NULL)),
  CHECK ((bound_kind IS NULL) = (bound_id IS NULL))
);
CREATE INDEX client_tokens_org ON client_tokens (org_id, expires_at);
CREATE INDEX client_tokens_maker ON client_tokens (maker_id);

ALTER TABLE client_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE client_tokens FORCE ROW LEVEL SECURITY;
CREATE POLICY client_tokens_tenant ON client_tokens TO penstock_tenant
  USING (org_id = NULLIF(current_setting('penstock.org_id', true), ''))
  WITH CHECK (org_id = NULLIF(current_setting('penstock.org_id', true), ''));
GRANT SELECT ON client_tokens TO penstock_tenant;
CREATE POLICY client_tokens_system ON client_tokens TO penstock_system USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON client_tokens TO penstock_system;
