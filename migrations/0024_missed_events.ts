import { Migration } from '@mikro-orm/migrations';
import { MISSED } from './webhooks/missed.js';

/** An event goes to the webhooks that listed its type when it happened, also where it is sent later (decisions 6, "Shapes"). */
export class Migration0024 extends Migration {
  override up(): void {
    for (const sql of MISSED) this.addSql(sql);
  }
}
