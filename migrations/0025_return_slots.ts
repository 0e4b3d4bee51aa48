import { Migration } from '@mikro-orm/migrations';
import { RETURN_SLOT } from './metering/return-slots.js';

/** A call that is refused for its organisation's pending jobs takes no slot (decisions 1). */
export class Migration0025 extends Migration {
  override up(): void {
    this.addSql(RETURN_SLOT);
  }
}
