import { Migration } from '@mikro-orm/migrations';

/**
 * Each organisation that names an address vouches for its own credential of that person, and a link, a password and a session reach as far as who
 * vouches for them. Null: proven, by the operator or an identity provider; then it is the only one, and reaches everywhere.
 */
const CREDENTIALS = `
ALTER TABLE credentials DROP CONSTRAINT credentials_pkey;
CREATE UNIQUE INDEX credentials_voucher ON credentials (user_id, (COALESCE(vouched_by, '')));
ALTER TABLE sign_in_links ADD COLUMN vouched_by text;
UPDATE sign_in_links l SET vouched_by = c.vouched_by FROM credentials c WHERE c.user_id = l.user_id;
ALTER TABLE sessions ADD COLUMN vouched_by text[];
UPDATE sessions s SET vouched_by = ARRAY[c.vouched_by] FROM credentials c WHERE c.user_id = s.user_id AND c.vouched_by IS NOT NULL`;

/**
 * Who made a key: a person's address as it was then, so that it is known for ever; null is the command line. And the address that callers are
 * told, so that the command line can print links without the servers' environment.
 */
export class Migration0039 extends Migration {
  override up(): void {
    this.addSql('ALTER TABLE api_keys ADD COLUMN made_by text');
    this.addSql(`UPDATE api_keys k SET made_by = u.email FROM users u
      WHERE u.id = k.user_id AND u.kind = 'person' AND k.session_id IS NULL`);
    this.addSql(CREDENTIALS);
    this.addSql('ALTER TABLE installation ADD COLUMN public_url text');
  }
}
