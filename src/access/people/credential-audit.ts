import type { EntityManager } from '@mikro-orm/postgresql';
import { recordChange } from '../../audit/index.js';
import type { Actor, AuditAction } from '../../audit/index.js';
import { Member } from '../access.entity.js';
import { User } from './people.entity.js';
import type { CredentialOwner } from './people.types.js';

/**
 * Records that a credential of a person was made or changed, and never what it is, in every organisation that it opens: the one that vouches for
 * it, or all of the person's. Of a person without an organisation it is the installation's own.
 */
export async function recordCredential(
  em: EntityManager,
  { userId, vouchedBy }: CredentialOwner,
  { action, actor }: { action: AuditAction; actor?: Actor },
): Promise<void> {
  const { email } = await em.findOneOrFail(User, { id: userId });
  const members = vouchedBy === null ? await em.find(Member, { user: userId }) : [{ orgId: vouchedBy }];
  const orgIds = members.length === 0 ? [null] : members.map(({ orgId }) => orgId).sort();
  const subject = { id: userId, name: email ?? null };
  for (const orgId of orgIds)
    await recordChange(em, { orgId, action, subject, ...(actor === undefined ? {} : { actor }) });
}
