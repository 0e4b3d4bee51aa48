/**
 * The comparison: what a call through Penstock costs beside a bare proxy and a peer, on this machine, in one run. Figures are CPU per request from the
 * operating system and latencies; the targets are ratios, so that they hold on any machine. About four minutes; `--quick` takes one.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchAgents } from './agents.js';
import { benchJson, benchStreams, type Effort } from './chat.js';
import { startField, type Places } from './contenders.js';
import { benchDocuments } from './documents.js';
import { fsyncMs } from './measure.js';
import { stopAll } from './processes.js';
import { printVerdicts, type Verdict } from './report.js';
import { benchReservations } from './reserve.js';

const [programs = '', root = '', ...flags] = process.argv.slice(2);
const quick = flags.includes('--quick');
const effort: Effort = quick ? { rounds: 2, durationMs: 1500 } : { rounds: 5, durationMs: 3000 };

async function compare(places: Places): Promise<Verdict[]> {
  const fsync = fsyncMs(places.scratch);
  console.log(
    `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; one fsync of this disk: ${fsync.toFixed(2)} ms`,
  );
  const field = await startField(places);
  const json = await benchJson(places, field, { ...effort, fsync });
  const streams = await benchStreams(places, field, effort);
  const documents = await benchDocuments(places, field.penstock, effort);
  const reservations = await benchReservations(places);
  return [...json, ...streams, ...documents, ...reservations, ...(await benchAgents(places))];
}

const scratch = await mkdtemp(join(tmpdir(), 'penstock-bench-'));
const interrupt = (): void => void stopAll().then(() => process.exit(130));
process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);
try {
  const met = printVerdicts(await compare({ programs, root, scratch }));
  process.exitCode = met ? 0 : 2;
} finally {
  await stopAll();
  await rm(scratch, { recursive: true, force: true });
}
