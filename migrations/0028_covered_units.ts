import { Migration } from '@mikro-orm/migrations';
import { COVERED_UNITS } from './metering/covered.js';

/** A change to a smaller plan takes no top-ups for what the larger one had covered. */
export class Migration0028 extends Migration {
  override up(): void {
    for (const sql of COVERED_UNITS) this.addSql(sql);
  }
}
