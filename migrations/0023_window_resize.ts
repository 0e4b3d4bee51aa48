import { Migration } from '@mikro-orm/migrations';
import { BOUNDED_RESIZE } from './metering/resize.js';

/** A key whose plan had a window of millions is answered after a change to a small one. */
export class Migration0023 extends Migration {
  override up(): void {
    this.addSql(BOUNDED_RESIZE);
  }
}
