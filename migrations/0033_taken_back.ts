import { Migration } from '@mikro-orm/migrations';
import { GIVEN, TAKE_BACK } from './metering/take-back.js';

/** Who was told 503 while PostgreSQL did not answer is not charged, though PostgreSQL took the settlement afterwards. */
export class Migration0033 extends Migration {
  override up(): void {
    this.addSql(GIVEN);
    this.addSql(TAKE_BACK);
  }
}
