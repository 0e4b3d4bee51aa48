import { ApiError } from '../contract/errors.js';
import { MEMBER_ROLES } from '../contract/words.js';
import type { MemberRole, Scope } from '../contract/words.js';
import type { Principal } from './access.types.js';

/**
 * What a caller must have. A scope: the key has it. `role:…`: a signed-in person has at least that role; an API key always passes, because it
 * acts for its organisation, and a client token does what members may. `people:…`: as `role:…`, but no API key passes. `person:…`: the caller is that person, because a stored answer is
 * shown only to the person who got it.
 */
export type AccessRequirement = Scope | `role:${MemberRole}` | `people:${MemberRole}` | `person:${string}`;

const rankOf = (role: MemberRole): number => MEMBER_ROLES.indexOf(role);

/** What a client token may not do, whatever its scopes are. */
export const forbiddenForTokens = (): ApiError => new ApiError('forbidden', 'A client token may not do this');

const ROLE = /^(role|people|person):(.*)$/;

/** @throws ApiError forbidden */
export function requireAccess(
  { scopes, person, userId, token }: Pick<Principal, 'scopes' | 'person' | 'userId' | 'token'>,
  requirement: AccessRequirement,
): void {
  const [, kind, least] = ROLE.exec(requirement) ?? [];
  if (kind === undefined) {
    if (!(scopes as ReadonlySet<string>).has(requirement))
      throw new ApiError('forbidden', `API key does not have required scope: ${requirement}`);
  } else if (person === undefined) {
    if (kind !== 'role') throw new ApiError('forbidden', 'Sign in to do this');
    if (token !== undefined && rankOf('member') > rankOf(least as MemberRole)) throw forbiddenForTokens();
  } else if (kind === 'person') {
    if (userId !== least) throw new ApiError('forbidden', 'Somebody else made this request');
  } else if (rankOf(person.role) > rankOf(least as MemberRole)) {
    throw new ApiError('forbidden', `Role ${person.role} may not do this`);
  }
}
