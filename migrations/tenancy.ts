/** The two roles of the installation. Neither owns a table and neither bypasses row level security. */
export const TENANT_ROLE = 'penstock_tenant';
export const SYSTEM_ROLE = 'penstock_system';

/** What the tenant role may do with its own rows. */
type TenantRights = 'all' | 'read';

/**
 * SQL that puts a table with an `org_id` column (text) under tenancy: row level security enabled and forced, the tenant role bound to
 * the organisation in `penstock.org_id`, and, where `system` is true, every row open to the system role.
 *
 * `current_setting(…, true)` is `''` after a transaction that set it, not null: hence NULLIF, so that no organisation means no rows.
 */
export function tenancySql(
  table: string,
  options: { system: boolean; tenant?: TenantRights | 'none'; orgColumn?: string },
): string {
  const { system, tenant = 'all', orgColumn = 'org_id' } = options;
  const own = `${orgColumn} = NULLIF(current_setting('penstock.org_id', true), '')`;
  const statements = [
    `ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY`,
    `ALTER TABLE ${table} FORCE ROW LEVEL SECURITY`,
  ];
  if (tenant !== 'none') {
    const rights = tenant === 'all' ? 'SELECT, INSERT, UPDATE, DELETE' : 'SELECT';
    statements.push(
      `CREATE POLICY ${table}_tenant ON ${table} TO ${TENANT_ROLE} USING (${own}) WITH CHECK (${own})`,
      `GRANT ${rights} ON ${table} TO ${TENANT_ROLE}`,
    );
  }
  if (system) {
    statements.push(
      `CREATE POLICY ${table}_system ON ${table} TO ${SYSTEM_ROLE} USING (true) WITH CHECK (true)`,
      `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table} TO ${SYSTEM_ROLE}`,
    );
  }
  return `${statements.join(';\n')};`;
}
