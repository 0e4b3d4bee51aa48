import type { EntitySchema } from '@mikro-orm/postgresql';

/** Columns in which entities and the tables of a migrated database differ: `table.column: how`. */
export function differencesOf(url: string, entities: readonly EntitySchema[]): Promise<string[]>;
/** Every difference between the product's entities and its schema. */
export function checkEntities(): Promise<{ faults: string[] }>;
