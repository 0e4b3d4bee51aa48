import { Migration } from '@mikro-orm/migrations';
import { FILLED_RESIZE } from './metering/resize.js';
import { OPEN_BY_FILL } from './metering/windows.js';

/** A key whose plan had a large window keeps, after a change to a small one, the slots that it did not take. */
export class Migration0032 extends Migration {
  override up(): void {
    this.addSql(FILLED_RESIZE);
    this.addSql(OPEN_BY_FILL);
    this.addSql('DROP FUNCTION penstock_window_resize(bigint[], int, int, int)');
  }
}
