import { Migration } from '@mikro-orm/migrations';
import { tenancySql } from './tenancy.js';

/**
 * What people sign in with. None of it belongs to an organisation, so that the tenant role has no right to any of it. A session has a row of
 * `api_keys` for each organisation that it looks at (docs/adr/0010): such a row has a `session_id`, and a hash that is no text's.
 */
const TABLES = `
CREATE TABLE credentials (
  user_id text PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  password_hash text,
  vouched_by text,
  signed_in_at timestamptz
);

CREATE TABLE sign_in_links (
  hash bytea PRIMARY KEY,
  user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
  expires_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sign_in_links_user ON sign_in_links (user_id);

CREATE TABLE sign_in_failures (
  email_hash bytea PRIMARY KEY,
  failures int NOT NULL,
  failed_at timestamptz NOT NULL
);
CREATE INDEX sign_in_failures_time ON sign_in_failures (failed_at);

CREATE TABLE sessions (
  id text PRIMARY KEY,
  user_id text NOT NULL REFERENCES users ON DELETE CASCADE,
  hash bytea NOT NULL UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz
);
CREATE INDEX sessions_user ON sessions (user_id);

ALTER TABLE api_keys ADD COLUMN session_id text;
CREATE UNIQUE INDEX api_keys_session ON api_keys (session_id, org_id) WHERE session_id IS NOT NULL AND revoked_at IS NULL;
`;

/** People sign in: passwords, one-time links, sessions. */
export class Migration0036 extends Migration {
  override up(): void {
    this.addSql(TABLES);
    for (const table of ['credentials', 'sign_in_links', 'sign_in_failures', 'sessions'])
      this.addSql(tenancySql(table, { system: true, tenant: 'none' }));
  }
}
