import { ApiError } from '../contract/errors.js';
import { MEMBER_ROLES } from '../contract/words.js';
import type { MemberRole, Scope } from '../contract/words.js';
import type { Principal } from './access.types.js';

/**
 * What a caller must have: a scope; `role:…`, which of signed-in people demands at least that role, and of keys nothing (a key acts for its
 * organisation, whoever made it); `people:…`, which no key has; `person:…`, to be that very person: what one was told, no other is.
 */
export type AccessRequirement = Scope | `role:${MemberRole}` | `people:${MemberRole}` | `person:${string}`;

const ROLE = /^(role|people|person):(.*)$/;

/** @throws ApiError forbidden */
export function requireAccess(
  { scopes, person, userId }: Pick<Principal, 'scopes' | 'person' | 'userId'>,
  requirement: AccessRequirement,
): void {
  const [, kind, least] = ROLE.exec(requirement) ?? [];
  if (kind === undefined) {
    if (!(scopes as ReadonlySet<string>).has(requirement))
      throw new ApiError('forbidden', `API key does not have required scope: ${requirement}`);
  } else if (person === undefined) {
    if (kind !== 'role') throw new ApiError('forbidden', 'Sign in to do this');
  } else if (kind === 'person') {
    if (userId !== least) throw new ApiError('forbidden', 'Somebody else made this request');
  } else if (MEMBER_ROLES.indexOf(person.role) > MEMBER_ROLES.indexOf(least as MemberRole)) {
    throw new ApiError('forbidden', `Role ${person.role} may not do this`);
  }
}
