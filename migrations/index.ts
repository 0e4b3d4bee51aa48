import { sql as schema } from './0001_schema.sql';
import { MIGRATION_NAMES } from './names.js';
import type { MigrationName } from './names.js';

/** Each migration's whole text. The order is that of `names.ts`; README.md says how one is added. */
const TEXTS: Record<MigrationName, string> = {
  '0001_schema': schema,
};

export const migrations = MIGRATION_NAMES.map((name) => ({ name, sql: TEXTS[name] }));
