import { createKeyService, createOrganizationService } from '../../src/access/index.js';
import type { Services } from '../../src/services.js';
import { SCOPES } from '../../src/contract/words.js';
import type { Installation } from './installation.js';

let made = 0;

/** Creates organisations and keys in this process, like the command line, but without a process for each. */
export function createOwners({
  database,
  plans,
}: Pick<Services, 'database' | 'plans'>): Pick<Installation, 'createOrg' | 'createKey'> {
  const organizations = createOrganizationService({ database, plans });
  const keys = createKeyService({ database });
  const createKey: Installation['createKey'] = async (orgId, { scopes = [...SCOPES], expires } = {}) => {
    const { id, key } = await keys.create({ orgId, name: 'test', scopes, expiresAt: expires ?? null });
    return { id, key };
  };
  return {
    createKey,
    async createOrg({ name = `Org ${(made += 1)}`, plan = 'business_monthly', scopes } = {}) {
      const { id } = await organizations.create({ name, planCode: plan });
      const { id: keyId, key } = await createKey(id, scopes === undefined ? {} : { scopes });
      return { orgId: id, name, key, keyId };
    },
  };
}
