import type { Config } from '../config.js';
import type { Database } from '../database/index.js';
import { SCOPES } from '../vocabulary.js';
import type { PlanCatalogue } from './access.types.js';
import { insertKey } from './keys.js';
import { createOrganizationRow } from './organizations.js';

const DEMO_LOCK = 7_265_003;

/**
 * An organisation `Demo` on the Business plan and a key with all scopes, for a newcomer: only in an embedded database that has no
 * organisation yet (decisions.md 9). Of several first starts one makes it.
 * @returns the key, which is shown this once; null where there is nothing to make
 */
export async function createDemo(options: {
  config: Config;
  database: Database;
  plans: PlanCatalogue;
}): Promise<{ orgId: string; key: string } | null> {
  const { config, database, plans } = options;
  if (config.database.url !== null) return null;
  return database.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [DEMO_LOCK]);
    const known = await sql.query('SELECT 1 FROM organizations LIMIT 1');
    if (known.length > 0) return null;
    const { id } = await createOrganizationRow(sql, plans, { name: 'Demo', planCode: 'business_monthly' });
    const { key } = await insertKey(sql, { orgId: id, name: 'Demo', scopes: SCOPES });
    return { orgId: id, key };
  });
}
