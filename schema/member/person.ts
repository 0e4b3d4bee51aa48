import type { Principal } from '../../src/access/index.js';
import type { GraphqlContext } from '../context.js';
import type { Person } from './member.type.js';

/** The signed-in person; null for keys and client tokens, and where the session has ended. */
export async function findPerson(
  { people, operator }: GraphqlContext['services'],
  principal: Principal,
): Promise<Person | null> {
  const { userId, person } = principal;
  if (person === undefined) return null;
  const found = await people.find(userId, person.sessionId);
  if (found === null) return null;
  const memberships = found.organizations.map(({ id, name, role }) => ({
    organizationId: id,
    organizationName: name,
    role,
  }));
  return { ...found.user, memberships, isOperator: await operator.operatorRegistry.includes(principal) };
}
