import { Migration } from '@mikro-orm/migrations';
import { CLAIM_BY_LEASE, PUBLISHER_TABLE, TAKE } from './events/publisher.js';

/** The outbox has one publisher at a time, by a lease. */
export class Migration0011 extends Migration {
  override up(): void {
    for (const sql of [PUBLISHER_TABLE, TAKE, CLAIM_BY_LEASE]) this.addSql(sql);
  }
}
