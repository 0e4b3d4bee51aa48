import { Migration } from '@mikro-orm/migrations';
import { IDEMPOTENCY_BEGIN_TOLD } from './idempotency/fenced.js';

/** Processes of earlier versions, which run beside newer ones during a deploy, are told again that they took an Idempotency-Key over. */
export class Migration0035 extends Migration {
  override up(): void {
    this.addSql(IDEMPOTENCY_BEGIN_TOLD);
  }
}
