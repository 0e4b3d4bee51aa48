import { Migration } from '@mikro-orm/migrations';

/** Ends a statement that finds, while it is at work, that what it does must not be done: nothing of it stays. */
const REFUSE = `
CREATE OR REPLACE FUNCTION penstock_refuse() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION SQLSTATE 'PM001';
END $$;`;

/** For the quick settlement of token calls (src/metering/settlement-batch.ts). */
export class Migration0019 extends Migration {
  override up(): void {
    this.addSql(REFUSE);
  }
}
