import type { FilterDef } from '@mikro-orm/postgresql';

/** Whose rows an entity manager reads; set by `Database.tenant` and `Database.allTenants`, by nobody else. */
export type Reach = { orgId: string } | { everybody: true };

/**
 * The tenancy filter of every entity that carries an organisation. Strict: reading without an organisation throws instead of returning
 * everybody's rows (row level security would return none).
 * @param rowsOf the condition of the rows that an organisation sees
 */
export function tenantFilter(rowsOf: (orgId: string) => object = (orgId) => ({ orgId })): {
  tenant: FilterDef;
} {
  return {
    tenant: {
      name: 'tenant',
      cond: (reach: Partial<{ orgId: string; everybody: boolean }>) => {
        if (reach.everybody === true) return {};
        if (reach.orgId === undefined) throw new Error('An entity was read without an organisation');
        return rowsOf(reach.orgId) as Record<string, unknown>;
      },
      default: true,
      strict: true,
    },
  };
}
