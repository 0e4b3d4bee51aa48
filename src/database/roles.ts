/** The two roles of the installation (docs/adr/0004). Neither owns a table and neither bypasses row level security. */
export const TENANT_ROLE = 'penstock_tenant';
export const SYSTEM_ROLE = 'penstock_system';
