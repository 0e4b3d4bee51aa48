import type { Config } from '../config/index.js';
import { sqlOf } from '../database/index.js';
import type { Database } from '../database/index.js';
import { SCOPES } from '../contract/words.js';
import { Organization } from './access.entity.js';
import type { PlanCatalogue } from './access.types.js';
import { insertKey } from './keys.js';
import { insertMember } from './members.js';
import { LOCK_DEMO } from './organization.queries.js';
import { insertOrganization } from './organizations.js';
import { insertLink } from './people/links.js';

/** The user who signs in to the dashboard after a first start. */
const OWNER = 'owner@demo.example';

/**
 * Makes an organisation `Demo` on the Business plan, with an owner, a sign-in link and a key with all scopes. Only in an embedded database that
 * has no organisation yet (decisions 9). If several processes start at once, one of them makes it.
 * @returns the key and the link's token, which are shown only once; null if nothing was made
 */
export async function createDemo(options: {
  config: Config;
  database: Database;
  plans: PlanCatalogue;
}): Promise<{ orgId: string; key: string; linkToken: string } | null> {
  const { config, database, plans } = options;
  if (config.database.url !== null) return null;
  return await database.allTenants(async (em) => {
    await sqlOf(em).query(LOCK_DEMO);
    if ((await em.findOne(Organization, { id: { $ne: '' } })) !== null) return null;
    const { id } = await insertOrganization(em, plans, { name: 'Demo', planCode: 'business_monthly' });
    const { key } = await insertKey(em, { orgId: id, name: 'Demo', scopes: SCOPES });
    const { userId } = await insertMember(em, id, { email: OWNER, role: 'owner', vouchedBy: null });
    const { token } = await insertLink(em, { userId, vouchedBy: null });
    return { orgId: id, key, linkToken: token };
  });
}
