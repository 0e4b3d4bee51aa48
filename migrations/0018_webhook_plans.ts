import { Migration } from '@mikro-orm/migrations';
import { WEBHOOK_RIGHTS } from './webhooks/plans.js';

/** Webhooks need a plan that has them (contract 6.1), also after they were made. */
export class Migration0018 extends Migration {
  override up(): void {
    for (const sql of WEBHOOK_RIGHTS) this.addSql(sql);
  }
}
