import { Migration } from '@mikro-orm/migrations';
import { GONE } from './webhooks/gone.js';

/** The deletion of a webhook fails nothing that happens meanwhile. */
export class Migration0029 extends Migration {
  override up(): void {
    for (const sql of GONE) this.addSql(sql);
  }
}
