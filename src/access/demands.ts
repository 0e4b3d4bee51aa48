import { ApiError } from '../errors.js';
import { MEMBER_ROLES } from '../vocabulary.js';
import type { MemberRole, Scope } from '../vocabulary.js';
import type { Principal } from './access.types.js';

/**
 * What a caller must have: a scope; `role:…`, which of signed-in people demands at least that role, and of keys nothing (a key acts for its
 * organisation, whoever made it); `people:…`, which no key has.
 */
export type Demand = Scope | `role:${MemberRole}` | `people:${MemberRole}`;

const ROLE = /^(role|people):(.*)$/;

/** @throws ApiError forbidden */
export function requireDemand(
  { scopes, person }: Pick<Principal, 'scopes' | 'person'>,
  demand: Demand,
): void {
  const [, kind, least] = ROLE.exec(demand) ?? [];
  if (kind === undefined) {
    if (!(scopes as ReadonlySet<string>).has(demand))
      throw new ApiError('forbidden', `API key does not have required scope: ${demand}`);
  } else if (person === undefined) {
    if (kind === 'people') throw new ApiError('forbidden', 'Sign in to do this');
  } else if (MEMBER_ROLES.indexOf(person.role) > MEMBER_ROLES.indexOf(least as MemberRole)) {
    throw new ApiError('forbidden', `Role ${person.role} may not do this`);
  }
}
