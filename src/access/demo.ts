import type { Config } from '../config/index.js';
import type { Database } from '../database/index.js';
import { SCOPES } from '../contract/words.js';
import type { PlanCatalogue } from './access.types.js';
import { insertKey } from './keys.js';
import { insertMember } from './members.js';
import { createOrganizationRow } from './organizations.js';
import { insertLink } from './people/links.js';

const DEMO_LOCK = 7_265_003;

/** Who signs in to the dashboard of a first start. */
const OWNER = 'owner@demo.example';

/**
 * An organisation `Demo` on the Business plan, its owner with a link to sign in by, and a key with all scopes, for a newcomer: only in an embedded database that has no
 * organisation yet (decisions 9). Of several first starts one makes it.
 * @returns the key and the link's token, which are shown this once; null where there is nothing to make
 */
export async function createDemo(options: {
  config: Config;
  database: Database;
  plans: PlanCatalogue;
}): Promise<{ orgId: string; key: string; linkToken: string } | null> {
  const { config, database, plans } = options;
  if (config.database.url !== null) return null;
  return database.transaction(async (sql) => {
    await sql.query('SELECT pg_advisory_xact_lock($1)', [DEMO_LOCK]);
    const known = await sql.query('SELECT 1 FROM organizations LIMIT 1');
    if (known.length > 0) return null;
    const { id } = await createOrganizationRow(sql, plans, { name: 'Demo', planCode: 'business_monthly' });
    const { key } = await insertKey(sql, { orgId: id, name: 'Demo', scopes: SCOPES });
    const { userId } = await insertMember(sql, id, { email: OWNER, role: 'owner', voucher: null });
    const { token } = await insertLink(sql, { userId, voucher: null });
    return { orgId: id, key, linkToken: token };
  });
}
