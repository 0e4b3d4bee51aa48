import type { Role } from './auth.js';
import { graphql, type ResultOf } from './graphql.js';

/** Who belongs to the organisation. */
export const MEMBERS = graphql(`
  query Members {
    penstockMembers {
      userId
      email
      role
      createdAt
      active
    }
  }
`);

/** Somebody who belongs to the organisation. */
export type Member = ResultOf<typeof MEMBERS>['penstockMembers'][number];

/** A link that was just made, and for whom. */
export interface HandedLink {
  email: string;
  url: string;
}

/** What a role may do, in a line. */
export const ROLES: Record<Role, string> = {
  owner: 'Everything, other owners included',
  admin: 'Keys, webhooks, members and plan',
  member: 'All work, no settings',
  viewer: 'Reads only',
};
