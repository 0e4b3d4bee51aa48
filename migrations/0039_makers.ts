import { Migration } from '@mikro-orm/migrations';

/**
 * Who made a key: a person's address as it was then, so that it is known for ever; null is the command line. And the address that callers are
 * told, so that the command line can print links without the servers' environment.
 */
export class Migration0039 extends Migration {
  override up(): void {
    this.addSql('ALTER TABLE api_keys ADD COLUMN made_by text');
    this.addSql(`UPDATE api_keys k SET made_by = u.email FROM users u
      WHERE u.id = k.user_id AND u.kind = 'person' AND k.session_id IS NULL`);
    this.addSql('ALTER TABLE installation ADD COLUMN public_url text');
  }
}
