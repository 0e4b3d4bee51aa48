import { Migration } from '@mikro-orm/migrations';
import { IDEMPOTENCY_BEGIN_FENCED, IDEMPOTENCY_BIND_FENCED } from './idempotency/fenced.js';

/** A process that was away so long that another one took its Idempotency-Key over makes nothing any more. */
export class Migration0031 extends Migration {
  override up(): void {
    this.addSql(IDEMPOTENCY_BEGIN_FENCED);
    this.addSql(IDEMPOTENCY_BIND_FENCED);
  }
}
