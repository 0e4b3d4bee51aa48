import { Migration } from '@mikro-orm/migrations';
import { ADMISSION } from './metering/admit.js';
import { PERIODS } from './metering/periods.js';
import { PROCESSES } from './metering/processes.js';
import { QUOTAS } from './metering/quota.js';
import { SETTLEMENT } from './metering/settle.js';
import { METERING_TABLES, WINDOW_TABLE } from './metering/tables.js';
import { WINDOWS } from './metering/windows.js';
import { SYSTEM_ROLE, tenancySql } from './tenancy.js';

/** Metering (decisions 2 and 4): balances, the ledger, rate windows, processes, and one function for each change of them. */
export class Migration0002 extends Migration {
  override up(): void {
    this.addSql(METERING_TABLES);
    this.addSql(WINDOW_TABLE);
    this.addSql(tenancySql('balances', { system: true, tenant: 'read' }));
    this.addSql(tenancySql('usage_ledger', { system: true, tenant: 'read' }));
    this.addSql(`GRANT SELECT, INSERT, UPDATE, DELETE ON rate_windows, processes TO ${SYSTEM_ROLE}`);
    for (const sql of [...PERIODS, ...SETTLEMENT, ...WINDOWS, ...ADMISSION, ...QUOTAS, ...PROCESSES])
      this.addSql(sql);
  }
}
