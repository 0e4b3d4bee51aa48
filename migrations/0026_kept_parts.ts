import { Migration } from '@mikro-orm/migrations';
import { IDEMPOTENCY_BEGIN } from './idempotency/begin.js';

/** A GraphQL document that failed on its way goes on from there when it is retried. */
export class Migration0026 extends Migration {
  override up(): void {
    this.addSql(IDEMPOTENCY_BEGIN);
  }
}
