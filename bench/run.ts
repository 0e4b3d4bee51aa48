/**
 * The comparison of Penstock's cost with bare programs and peers, on this machine, in one run. Figures are CPU from the operating system,
 * rates and latencies; the targets are ratios if possible, so that they apply to any machine. It takes about ten minutes; `--quick` takes three. Names of parts (`chat documents reservations budgets durable dialects agents jobs subscriptions client webhooks outbox idle neighbours`) run
 * only these parts. `usage` and `overview` run only by their names; `--records=<number>` gives them fewer records than ten million and a million.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { benchAgents } from './agents.js';
import { benchClient } from './client.js';
import { benchJson, benchStreams, type Effort } from './chat.js';
import { startField, type Places } from './contenders.js';
import { benchDialects } from './dialects.js';
import { benchDocuments } from './documents.js';
import { benchDurable } from './durable.js';
import { benchFilms } from './films.js';
import { benchOverview } from './overview.js';
import { fsyncMs } from './measure.js';
import { benchNeighbours } from './neighbours.js';
import { stopAll } from './processes.js';
import { printVerdicts, type Verdict } from './report.js';
import { benchIdle, benchJobs, benchOutbox, benchWebhooks } from './events.js';
import { benchBudgets, benchReservations } from './reserve.js';
import { benchSubscriptions } from './subscriptions.js';
import { benchUsage } from './usage.js';

const [programs = '', root = '', ...flags] = process.argv.slice(2);
const RECORDS = /^--records=(\d{1,9})$/;
const stray = flags.find((flag) => flag.startsWith('--') && flag !== '--quick' && !RECORDS.test(flag));
if (stray !== undefined)
  throw new Error(`there is no flag ${stray}; there are --quick and --records=<number>`);
const quick = flags.includes('--quick');
const effort: Effort = quick ? { rounds: 2, durationMs: 1500 } : { rounds: 5, durationMs: 3000 };

const CALLS = ['chat', 'documents', 'films'];
/** Ten million and a million records are written first. */
const ONLY_NAMED = ['usage', 'overview'];
const records = (usual: number): number =>
  Number(flags.map((flag) => RECORDS.exec(flag)?.[1]).find(Boolean) ?? usual);

/** Calls share one set of servers, which run while the calls are measured. */
async function calls(places: Places, wants: (part: string) => boolean, fsync: number): Promise<Verdict[]> {
  if (!CALLS.some(wants)) return [];
  const field = await startField(places);
  const chat = wants('chat')
    ? [
        ...(await benchJson(places, field, { ...effort, fsync })),
        ...(await benchStreams(places, field, effort)),
      ]
    : [];
  const documents = wants('documents') ? await benchDocuments(places, field.penstock, effort) : [];
  const films = wants('films') ? await benchFilms(places, field, effort) : [];
  await stopAll();
  return [...chat, ...documents, ...films];
}

const PARTS: Record<string, (places: Places) => Promise<Verdict[]>> = {
  reservations: benchReservations,
  budgets: benchBudgets,
  durable: (places) => benchDurable(places, effort),
  dialects: (places) => benchDialects(places, effort),
  agents: benchAgents,
  jobs: (places) => benchJobs(places, quick ? 1 : 3, quick ? 2_000 : 5_000),
  subscriptions: (places) => benchSubscriptions(places, quick ? 1 : 3),
  client: (places) => benchClient(places, quick ? 100 : 400),
  webhooks: (places) => benchWebhooks(places, quick ? 1 : 3, quick ? 8_000 : 12_000),
  outbox: (places) => benchOutbox(places, quick ? 1 : 3, quick ? 50_000 : 150_000),
  idle: (places) => benchIdle(places, quick ? 10 : 30),
  usage: (places) => benchUsage(places, records(10_000_000)),
  overview: (places) => benchOverview(places, records(1_000_000)),
  neighbours: (places) => benchNeighbours(places, quick ? 5_000 : 9_000),
};

async function compare(places: Places): Promise<Verdict[]> {
  const names = flags.filter((flag) => !flag.startsWith('--'));
  const known = [...CALLS, ...Object.keys(PARTS)];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no part is called ${unknown}; there are ${known.join(', ')}`);
  const wants = (part: string): boolean =>
    names.includes(part) || (names.length === 0 && !ONLY_NAMED.includes(part));
  const fsync = fsyncMs(places.scratch);
  console.log(
    `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; one fsync of this disk: ${fsync.toFixed(2)} ms`,
  );
  const verdicts = await calls(places, wants, fsync);
  for (const [name, part] of Object.entries(PARTS)) if (wants(name)) verdicts.push(...(await part(places)));
  return verdicts;
}

const scratch = await mkdtemp(join(tmpdir(), 'penstock-bench-'));
const interrupt = (): void => void stopAll().then(() => process.exit(130));
process.on('SIGINT', interrupt);
process.on('SIGTERM', interrupt);
// The reader of the output has ended (`| head`).
process.stdout.on('error', interrupt);
try {
  const met = printVerdicts(await compare({ programs, root, scratch }));
  process.exitCode = met ? 0 : 2;
} finally {
  await stopAll();
  await rm(scratch, { recursive: true, force: true });
}
