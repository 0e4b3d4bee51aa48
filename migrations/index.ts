import type { MigrationObject } from '@mikro-orm/core';
import { Migration0001 } from './0001_access.js';
import { Migration0002 } from './0002_metering.js';
import { Migration0003 } from './0003_events.js';
import { Migration0004 } from './0004_jobs.js';
import { Migration0005 } from './0005_files.js';
import { Migration0006 } from './0006_idempotency.js';
import { Migration0007 } from './0007_webhooks.js';
import { Migration0008 } from './0008_agents.js';

/** Every change of the database in its order. Names never change once released; a file never changes after that. */
export const migrations: MigrationObject[] = [
  { name: '0001_access', class: Migration0001 },
  { name: '0002_metering', class: Migration0002 },
  { name: '0003_events', class: Migration0003 },
  { name: '0004_jobs', class: Migration0004 },
  { name: '0005_files', class: Migration0005 },
  { name: '0006_idempotency', class: Migration0006 },
  { name: '0007_webhooks', class: Migration0007 },
  { name: '0008_agents', class: Migration0008 },
];
