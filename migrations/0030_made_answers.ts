import { Migration } from '@mikro-orm/migrations';

/** An answer that is about to be charged stands under its Idempotency-Key first: sealed, until the whole answer is kept. */
export class Migration0030 extends Migration {
  override up(): void {
    this.addSql('ALTER TABLE idempotency_keys ADD COLUMN made bytea');
  }
}
