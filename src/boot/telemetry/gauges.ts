import { Gauge } from 'prom-client';
import type { Database } from '../../database/index.js';
import type { Metrics } from '../../telemetry/index.js';
import { READ_GAUGES } from './telemetry.queries.js';

interface Row {
  pending: Record<string, number>;
  processing: number;
  outbox: number;
  outbox_age: number | null;
  deliveries: number;
  dead_letters: number;
  stored: { files: number; answers: number };
}

/** Scrapes within this time share one query. */
const FRESH_MS = 1_000;
/** A scrape must answer while PostgreSQL is away. */
const ANSWER_TIMEOUT_MS = 2_000;

/** Gauges whose values are read from the database at each scrape. */
export function watchDatabase(
  metrics: Metrics,
  database: Pick<Database, 'system'>,
  tools: readonly string[],
): void {
  const registers = [metrics.registry];
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const up = gauge('penstock_database_up', '1 while PostgreSQL answers');
  const pending = new Gauge({
    name: 'penstock_jobs_pending',
    help: 'Jobs that wait for a worker (the whole installation)',
    labelNames: ['tool'],
    registers,
  });
  const processing = gauge(
    'penstock_jobs_running',
    'Jobs that a worker has claimed (the whole installation)',
  );
  const outbox = gauge('penstock_outbox_rows', 'Events not yet published, at most 100,000');
  const age = gauge('penstock_outbox_age_seconds', 'Age of the oldest event not yet published');
  const deliveries = gauge('penstock_deliveries_pending', 'Webhook deliveries not yet decided');
  const letters = gauge(
    'penstock_dead_letters',
    'Events that a consumer could not take (table dead_letters)',
  );
  const stored = new Gauge({
    name: 'penstock_storage_bytes',
    help: 'Bytes stored for organisations: their files, and answers kept for an Idempotency-Key',
    labelNames: ['kind'],
    registers,
  });
  let readAt = -Infinity;
  metrics.beforeScrape(async () => {
    if (performance.now() - readAt < FRESH_MS) return;
    readAt = performance.now();
    try {
      const row = await within(database.system.query<Row>(READ_GAUGES));
      up.set(1);
      for (const tool of tools) pending.set({ tool }, row.pending[tool] ?? 0);
      processing.set(row.processing);
      outbox.set(row.outbox);
      age.set(row.outbox_age ?? 0);
      deliveries.set(row.deliveries);
      letters.set(row.dead_letters);
      for (const [kind, bytes] of Object.entries(row.stored)) stored.set({ kind }, bytes);
    } catch {
      // Reported as a metric and not logged: scrapes come every few seconds.
      up.set(0);
    }
  });
}

async function within(rows: Promise<Row[]>): Promise<Row> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('PostgreSQL did not answer in time')), ANSWER_TIMEOUT_MS);
  });
  try {
    const [row] = await Promise.race([rows, late]);
    if (row === undefined) throw new Error('no row');
    return row;
  } finally {
    clearTimeout(timer);
  }
}
