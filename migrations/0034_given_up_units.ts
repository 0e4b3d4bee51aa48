import { Migration } from '@mikro-orm/migrations';
import { GIVEN_UP } from './metering/given-up.js';

/** Units given back are not covered by an earlier plan any more; a call that ends after its period shows the next one's balance. */
export class Migration0034 extends Migration {
  override up(): void {
    for (const sql of GIVEN_UP) this.addSql(sql);
  }
}
