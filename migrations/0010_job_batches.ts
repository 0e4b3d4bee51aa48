import { Migration } from '@mikro-orm/migrations';
import { EVENT_ID_QUICK } from './events/event-id.js';
import { JOB_CLAIM_BATCH } from './jobs/claim-batch.js';
import { JOB_COMPLETE_BATCH } from './jobs/complete-batch.js';

/**
 * A job's history goes with it by one statement instead of a foreign key: checking the key for each event cost more than the event, since
 * it locks the job's row.
 */
const HISTORY = `
ALTER TABLE job_events DROP CONSTRAINT job_events_job_id_fkey;
CREATE FUNCTION penstock_job_events_forget() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM job_events e USING gone g WHERE e.job_id = g.id;
  RETURN NULL;
END $$;
CREATE TRIGGER jobs_forget_events AFTER DELETE ON jobs REFERENCING OLD TABLE AS gone FOR EACH STATEMENT
  EXECUTE FUNCTION penstock_job_events_forget();`;

/** Jobs are claimed and completed by sets: a row in a loop of PL/pgSQL cost ten times what it costs among others in one statement. */
export class Migration0010 extends Migration {
  override up(): void {
    for (const sql of [HISTORY, EVENT_ID_QUICK, JOB_CLAIM_BATCH, JOB_COMPLETE_BATCH]) this.addSql(sql);
  }
}
