import type { Role } from './auth.js';
import { graphql, type ResultOf } from './graphql.js';

/** Reads the people who belong to the organisation. */
export const MEMBERS = graphql(`
  query Members($after: String) {
    penstockMembers(first: 100, after: $after) {
      nodes {
        id
        userId
        email
        role
        createdAt
        active
      }
      nextCursor
    }
  }
`);

/** A person who belongs to the organisation. */
export type Member = ResultOf<typeof MEMBERS>['penstockMembers']['nodes'][number];

/** A link that was just made, and the person whom it is for. */
export interface HandedLink {
  email: string;
  url: string;
}

/** What each role may do, in one line. */
export const ROLES: Record<Role, string> = {
  owner: 'Everything, other owners included',
  admin: 'Keys, webhooks, members and plan',
  member: 'All work, no settings',
  viewer: 'Reads only',
};
