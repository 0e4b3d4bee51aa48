import type { Constructor, MigrationObject } from '@mikro-orm/core';
import type { Migration } from '@mikro-orm/migrations';
import { Migration0001 } from './0001_access.js';
import { Migration0002 } from './0002_metering.js';
import { Migration0003 } from './0003_events.js';
import { Migration0004 } from './0004_jobs.js';
import { Migration0005 } from './0005_files.js';
import { Migration0006 } from './0006_idempotency.js';
import { Migration0007 } from './0007_webhooks.js';
import { Migration0008 } from './0008_agents.js';
import { Migration0009 } from './0009_knowledge.js';
import { Migration0010 } from './0010_job_batches.js';
import { Migration0011 } from './0011_outbox_publisher.js';
import { Migration0012 } from './0012_heard_events.js';
import { Migration0013 } from './0013_spoken_texts.js';
import { Migration0014 } from './0014_runs.js';
import { Migration0015 } from './0015_word_index.js';
import { Migration0016 } from './0016_job_orders.js';
import { Migration0017 } from './0017_consecutive_failures.js';
import { Migration0018 } from './0018_webhook_plans.js';
import { Migration0019 } from './0019_refusal.js';
import { Migration0020 } from './0020_job_rows.js';
import { Migration0021 } from './0021_top_up_rows.js';
import { Migration0022 } from './0022_webhook_claim_plan.js';
import { Migration0023 } from './0023_window_resize.js';
import { Migration0024 } from './0024_missed_events.js';
import { Migration0025 } from './0025_return_slots.js';
import { Migration0026 } from './0026_kept_parts.js';
import { Migration0027 } from './0027_event_traces.js';
import { Migration0028 } from './0028_covered_units.js';
import { Migration0029 } from './0029_webhooks_gone.js';
import { Migration0030 } from './0030_made_answers.js';
import { Migration0031 } from './0031_fenced_keys.js';
import { Migration0032 } from './0032_filled_windows.js';
import { Migration0033 } from './0033_taken_back.js';
import { Migration0034 } from './0034_given_up_units.js';
import { Migration0035 } from './0035_told_takeovers.js';
import { Migration0036 } from './0036_people.js';
import { Migration0037 } from './0037_fair_places.js';
import { Migration0038 } from './0038_storage.js';
import { Migration0039 } from './0039_makers.js';
import { MIGRATION_NAMES } from './names.js';
import type { MigrationName } from './names.js';

/** A file never changes once released. The order is that of `names.ts`. */
const CLASSES: Record<MigrationName, Constructor<Migration>> = {
  '0001_access': Migration0001,
  '0002_metering': Migration0002,
  '0003_events': Migration0003,
  '0004_jobs': Migration0004,
  '0005_files': Migration0005,
  '0006_idempotency': Migration0006,
  '0007_webhooks': Migration0007,
  '0008_agents': Migration0008,
  '0009_knowledge': Migration0009,
  '0010_job_batches': Migration0010,
  '0011_outbox_publisher': Migration0011,
  '0012_heard_events': Migration0012,
  '0013_spoken_texts': Migration0013,
  '0014_runs': Migration0014,
  '0015_word_index': Migration0015,
  '0016_job_orders': Migration0016,
  '0017_consecutive_failures': Migration0017,
  '0018_webhook_plans': Migration0018,
  '0019_refusal': Migration0019,
  '0020_job_rows': Migration0020,
  '0021_top_up_rows': Migration0021,
  '0022_webhook_claim_plan': Migration0022,
  '0023_window_resize': Migration0023,
  '0024_missed_events': Migration0024,
  '0025_return_slots': Migration0025,
  '0026_kept_parts': Migration0026,
  '0027_event_traces': Migration0027,
  '0028_covered_units': Migration0028,
  '0029_webhooks_gone': Migration0029,
  '0030_made_answers': Migration0030,
  '0031_fenced_keys': Migration0031,
  '0032_filled_windows': Migration0032,
  '0033_taken_back': Migration0033,
  '0034_given_up_units': Migration0034,
  '0035_told_takeovers': Migration0035,
  '0036_people': Migration0036,
  '0037_fair_places': Migration0037,
  '0038_storage': Migration0038,
  '0039_makers': Migration0039,
};

export const migrations: MigrationObject[] = MIGRATION_NAMES.map((name) => ({ name, class: CLASSES[name] }));
