import { Migration } from '@mikro-orm/migrations';
import { EMIT_TRACED, RUN_CREATE_TRACED, SETTLE_EVENTS_TRACED, TRACES_TABLE } from './events/traces.js';

/** Chat events are in their callers' traces, on whichever process they are sent. */
export class Migration0027 extends Migration {
  override up(): void {
    for (const sql of [TRACES_TABLE, EMIT_TRACED, SETTLE_EVENTS_TRACED, RUN_CREATE_TRACED]) this.addSql(sql);
  }
}
