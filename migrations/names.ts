/**
 * Every change of the database in its order. Names never change once released. Apart from the classes (`index.ts`), so that a process
 * that finds nothing to do need not load them.
 */
export const MIGRATION_NAMES = [
  '0001_access',
  '0002_metering',
  '0003_events',
  '0004_jobs',
  '0005_files',
  '0006_idempotency',
  '0007_webhooks',
  '0008_agents',
  '0009_knowledge',
  '0010_job_batches',
  '0011_outbox_publisher',
  '0012_heard_events',
  '0013_spoken_texts',
  '0014_runs',
  '0015_word_index',
  '0016_job_orders',
  '0017_consecutive_failures',
  '0018_webhook_plans',
  '0019_refusal',
  '0020_job_rows',
  '0021_top_up_rows',
  '0022_webhook_claim_plan',
  '0023_window_resize',
  '0024_missed_events',
  '0025_return_slots',
  '0026_kept_parts',
  '0027_event_traces',
  '0028_covered_units',
  '0029_webhooks_gone',
  '0030_made_answers',
  '0031_fenced_keys',
  '0032_filled_windows',
  '0033_taken_back',
  '0034_given_up_units',
  '0035_told_takeovers',
  '0036_people',
] as const;

export type MigrationName = (typeof MIGRATION_NAMES)[number];
