import { Migration } from '@mikro-orm/migrations';
import { MESSAGES } from './events/messages.js';
import { JOB_COMPLETE_ROWS } from './jobs/complete-rows.js';
import { JOB_CHOOSE, JOB_CLAIM_TAKEN, JOB_TAKE, JOB_TAKEN } from './jobs/take.js';

/** One relay publishes at a time and takes rows by their ids: nobody looks for a key any more. */
const UNUSED = 'DROP INDEX outbox_by_key';

/**
 * A claim tells its jobs before it writes what they tell of. The rows of a batch are found by their ids alone, whatever the planner believes
 * of the partial indexes: a claim had looked at every waiting job for each that it took.
 */
export class Migration0020 extends Migration {
  override up(): void {
    for (const sql of [
      ...MESSAGES,
      JOB_CHOOSE,
      JOB_TAKE,
      JOB_TAKEN,
      JOB_CLAIM_TAKEN,
      JOB_COMPLETE_ROWS,
      UNUSED,
    ])
      this.addSql(sql);
  }
}
