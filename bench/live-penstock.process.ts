/** The whole Penstock with one running job, whose events are written like by its worker. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createKeyService } from '../src/access/index.js';
import { startPenstock } from '../src/boot/index.js';
import { loadConfig } from '../src/config/index.js';
import { createBacklog } from './job-backlog.js';
import { silent } from './embedded.js';
import type { Publish, Published } from './live-server.types.js';

/** `$2` events of the job in one transaction, like a batch of progress reports. */
const EVENTS = `WITH numbers AS (SELECT n FROM generate_series(1, $2) n), before AS (SELECT * FROM jobs WHERE id = $1),
  moved AS (UPDATE jobs SET sequence = sequence + $2 WHERE id = $1)
  INSERT INTO job_events (job_id, org_id, sequence, type, status, progress, attempt, fence, started_at)
  SELECT b.id, b.org_id, b.sequence + n, 'job.progress', b.status, (b.sequence + n) % 100, b.attempt, b.fence, b.started_at
  FROM before b, numbers ORDER BY n RETURNING pg_notify('penstock_job_event', job_id || ':' || sequence)`;

const folder = await mkdtemp(join(tmpdir(), 'penstock-bench-live-'));
const config = loadConfig({
  ...process.env,
  DATA_DIR: join(folder, 'data'),
  PORT: '0',
  LOG_LEVEL: 'error',
  ROLE: 'all',
});
const app = await startPenstock({ config, logger: silent });
const { database, plans } = app.services;
plans.plans.business_monthly.rate = { rpm: 1_000_000, burst: 1_000_000 };
plans.plans.business_monthly.streams = { perMinute: 1_000_000, held: 100_000, heldByOrganization: 100_000 };
const backlog = await createBacklog(database);
const [made] = await backlog.prepare(1);
if (!made) throw new Error('no job');
const { id: jobId, orgId } = await backlog.jobs.create({
  ...made,
  tool: 'music',
  inputParams: { model: made.model, prompt: 'a penstock above a mill' },
});
const { key } = await createKeyService({ database }).create({
  orgId,
  name: 'bench',
  scopes: ['usage'],
  expiresAt: null,
});
await database.system.query(
  `UPDATE jobs SET status = 'processing', worker_id = 'wrk_bench', lease_until = now() + interval '1 day', deadline = now() + interval '1 day',
   started_at = now(), fence = 1, attempt = 1 WHERE id = $1`,
  [jobId],
);

async function publish({ events, gapMs, acknowledges }: Publish): Promise<void> {
  if (gapMs === 0) return void (await database.system.query(EVENTS, [jobId, events]));
  for (let i = 0; i < events; i++) {
    const sentAt = Date.now();
    await database.system.query(EVENTS, [jobId, 1]);
    if (acknowledges) process.send?.({ sentAt } satisfies Published);
    await sleep(gapMs);
  }
}

async function end(): Promise<void> {
  backlog.jobs.close();
  await app.close();
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}

process.on('message', (message: Publish) => void publish(message));
process.on('disconnect', () => void end());
process.on('SIGTERM', () => void end());
process.send?.({ port: app.port, payload: { authorization: `Bearer ${key}` }, jobId });
