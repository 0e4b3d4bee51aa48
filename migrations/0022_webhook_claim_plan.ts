import { Migration } from '@mikro-orm/migrations';

/**
 * A claim looks into indexes and stops where it has enough, whatever the planner believed when the tables were small: its plan is kept by
 * each connection, and a burst of ten thousand deliveries made each claim read them all. Bitmaps are left out for the claims that are
 * held: only a plain index scan forgets the entries of those that are over.
 */
export class Migration0022 extends Migration {
  override up(): void {
    for (const name of ['enable_seqscan', 'enable_bitmapscan'])
      this.addSql(
        `ALTER FUNCTION penstock_webhook_claim(text, jsonb, int, int, int, bigint) SET ${name} = off`,
      );
  }
}
