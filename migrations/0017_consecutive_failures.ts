import { Migration } from '@mikro-orm/migrations';
import { CONSECUTIVE } from './webhooks/consecutive.js';

/** Ten failures in a row are ten in the order in which they happened, over all processes, and no eleventh attempt is made. */
export class Migration0017 extends Migration {
  override up(): void {
    for (const sql of CONSECUTIVE) this.addSql(sql);
  }
}
