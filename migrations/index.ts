import { sql as baseline } from './0001_baseline.sql';
import { sql as responses } from './0002_responses.sql';
import { MIGRATION_NAMES } from './names.js';
import type { MigrationName } from './names.js';

/** Each migration's whole text. The order is that of `names.ts`; README.md says how one is added. */
const TEXTS: Record<MigrationName, string> = {
  '0001_baseline': baseline,
  '0002_responses': responses,
};

export const migrations = MIGRATION_NAMES.map((name) => ({ name, sql: TEXTS[name] }));
