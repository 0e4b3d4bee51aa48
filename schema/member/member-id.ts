/**
 * A person can belong to several organisations, so that a member's id names both: `mbr_<organisation>_<person>`, each without its prefix.
 */
export const memberId = (orgId: string, userId: string): string => `mbr_${bare(orgId)}_${bare(userId)}`;

/** The person of a member's id; null where it is none, or of another organisation. */
export function userOf(orgId: string, id: string): string | null {
  const beginning = memberId(orgId, '');
  return id.startsWith(beginning) ? `usr_${id.slice(beginning.length)}` : null;
}

const bare = (id: string): string => id.replace(/^[a-z]+_/, '');
