import { Migration } from '@mikro-orm/migrations';
import { TOP_UP_ROWS } from './metering/top-up.js';

/** Top-ups stand in the ledger. */
export class Migration0021 extends Migration {
  override up(): void {
    for (const sql of TOP_UP_ROWS) this.addSql(sql);
  }
}
