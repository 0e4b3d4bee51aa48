import { Migration } from '@mikro-orm/migrations';
import { RUN_CLAIM_FAIRLY, RUN_QUEUE_INDEXES } from './agents/fair-claim.js';
import { JOB_CHOOSE_FAIRLY, JOB_CLAIM_FAIRLY, JOB_NEWCOMERS, JOB_TAKE_FAIRLY } from './jobs/fair-take.js';

/** Jobs and runs are claimed in fair shares of organisations; what has more parameters stands beside what processes of the version before call. */
export class Migration0037 extends Migration {
  override up(): void {
    for (const sql of [
      JOB_CHOOSE_FAIRLY,
      JOB_NEWCOMERS,
      JOB_TAKE_FAIRLY,
      JOB_CLAIM_FAIRLY,
      RUN_QUEUE_INDEXES,
      RUN_CLAIM_FAIRLY,
    ])
      this.addSql(sql);
  }
}
