/** Creations of one organisation wait for each other, so that the plan's number holds. */
export const LOCK_CREATIONS = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 7308))';
