import { defineEntity, p } from '@mikro-orm/postgresql';
import type { InferEntity } from '@mikro-orm/postgresql';
import type { BudgetPeriod, BudgetScope, BudgetUnit } from '../../contract/budgets.js';
import { tenantFilter } from '../../database/index.js';

/** A budget (beyond 13.3); migrations/current/metering/budgets.sql explains the columns. */
export const BudgetEntity = defineEntity({
  name: 'Budget',
  tableName: 'budgets',
  properties: {
    id: p.text().primary(),
    orgId: p.text(),
    name: p.text(),
    scope: p.text().$type<BudgetScope>(),
    subject: p.text().nullable(),
    unit: p.text().$type<BudgetUnit>(),
    cap: p.bigint(),
    period: p.text().$type<BudgetPeriod>(),
    hard: p.boolean().default(true),
    thresholds: p.array().$type<number[]>().columnType('int[]'),
    tokenId: p.text().nullable(),
    createdAt: p.datetime().defaultRaw('clock_timestamp()'),
  },
  filters: {
    ...tenantFilter(),
    // Caps of client tokens are not budgets that people administer.
    administered: { name: 'administered', cond: { tokenId: null }, default: true },
  },
});
export type BudgetRow = InferEntity<typeof BudgetEntity>;
