/**
 * Every change of the database in its order. Names never change once released. Apart from the texts (`index.ts`), so that a process
 * that finds nothing to do need not load them.
 */
export const MIGRATION_NAMES = ['0001_schema'] as const;

export type MigrationName = (typeof MIGRATION_NAMES)[number];
