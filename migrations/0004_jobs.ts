import { Migration } from '@mikro-orm/migrations';
import { JOB_CLAIM } from './jobs/claim.js';
import { JOB_BALANCES, JOB_COMPLETE } from './jobs/complete.js';
import { JOB_BIND_FILES, JOB_CREATE } from './jobs/create.js';
import { JOB_EMIT } from './jobs/emit.js';
import { JOB_CANCEL, JOB_FAIL, JOB_FINISH } from './jobs/finish.js';
import { JOB_GIVE_BACK, JOB_REQUEUE, JOB_SWEEP } from './jobs/requeue.js';
import { JOB_PROGRESS, JOB_RENEW } from './jobs/running.js';
import { JOB_TABLES } from './jobs/tables.js';
import { tenancySql } from './tenancy.js';

/** Jobs: tables and one function for each state transition (decisions 6, "Jobs"). Metering, events and files are called by name. */
export class Migration0004 extends Migration {
  override up(): void {
    for (const sql of JOB_TABLES) this.addSql(sql);
    this.addSql(tenancySql('jobs', { system: true, tenant: 'read' }));
    this.addSql(tenancySql('job_events', { system: true, tenant: 'read' }));
    this.addSql(tenancySql('job_turns', { system: true, tenant: 'none' }));
    for (const sql of [
      ...JOB_EMIT,
      ...JOB_BALANCES,
      JOB_BIND_FILES,
      JOB_CREATE,
      JOB_CLAIM,
      JOB_RENEW,
      JOB_PROGRESS,
    ])
      this.addSql(sql);
    for (const sql of [JOB_FINISH, JOB_COMPLETE, JOB_FAIL, JOB_CANCEL]) this.addSql(sql);
    for (const sql of [JOB_REQUEUE, JOB_GIVE_BACK, JOB_SWEEP]) this.addSql(sql);
  }
}
