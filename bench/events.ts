/** Jobs, webhooks, the outbox and an idle process: each contender in a separate process, which ends by itself. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Places } from './contenders.js';
import { median } from './measure.js';
import { cpuMs, freePort, run, start, stopOne, untilAnswers, V8_FLAGS } from './processes.js';
import { table, verdict, type Verdict } from './report.js';

async function figures<T>(args: string[], env: Record<string, string> = {}): Promise<T> {
  const output = await run(args, { NODE_ENV: 'production', ...env });
  return JSON.parse(output.trim().split('\n').pop() ?? 'null') as T;
}

interface Drained {
  perSecond: number;
  nodeUs: number;
  postgresUs: number;
}

/** Queues by their names in jobs.process.ts, with the number of jobs that each processes. */
const QUEUES = {
  penstock: { title: 'Penstock, rows kept', share: 1 },
  'graphile-tuned': { title: 'graphile-worker, tuned', share: 1 },
  'graphile-default': { title: 'graphile-worker, default', share: 0.1 },
  'graphile-tuned-plain': { title: 'tuned, a task without writes', share: 1 },
  'graphile-default-plain': { title: 'default, a task without writes', share: 0.1 },
} as const;
type QueueName = keyof typeof QUEUES;

/** @param jobs in each backlog; the queues take turns, so that disturbances of the machine affect all of them */
export async function benchJobs(places: Places, rounds: number, jobs: number): Promise<Verdict[]> {
  const program = join(places.programs, 'jobs.process.js');
  const names = Object.keys(QUEUES) as QueueName[];
  const drained = new Map<QueueName, Drained[]>(names.map((name) => [name, []]));
  const pickUps: Record<'penstock' | 'graphile-default', number[]> = { penstock: [], 'graphile-default': [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      const count = String(Math.round(jobs * QUEUES[name].share));
      drained.get(name)?.push(await figures<Drained>([program, name, 'drain', count]));
    }
    for (const name of ['penstock', 'graphile-default'] as const)
      pickUps[name].push((await figures<{ p50: number }>([program, name, 'pick-up', '60'])).p50);
  }
  const of = (name: QueueName, value: (one: Drained) => number): number =>
    median(drained.get(name)?.map(value) ?? []);
  const rows = names.map((name) => [
    QUEUES[name].title,
    of(name, ({ perSecond }) => perSecond).toFixed(0),
    of(name, ({ nodeUs }) => nodeUs).toFixed(0),
    of(name, ({ postgresUs }) => postgresUs).toFixed(0),
    name in pickUps ? median(pickUps[name as keyof typeof pickUps]).toFixed(2) : '-',
  ]);
  table('Jobs', ['', 'jobs/s', "Node's CPU µs/job", 'PostgreSQL µs/job', 'pick-up p50 ms'], rows);
  const ratio = (other: QueueName): number =>
    of('penstock', ({ perSecond }) => perSecond) / of(other, ({ perSecond }) => perSecond);
  return [
    verdict('jobs drained, Penstock / graphile-worker tuned', ratio('graphile-tuned'), 1.5, 'at least'),
    verdict('jobs drained, Penstock / graphile-worker default', ratio('graphile-default'), 12, 'at least'),
    verdict(
      'pick-up p50, Penstock / graphile-worker default',
      median(pickUps.penstock) / median(pickUps['graphile-default']),
      0.75,
    ),
  ];
}

interface Sent {
  perSecond: number;
  cpuUs: number;
  postgresUs: number;
}

/** CPU for each POST to a receiver over HTTPS in another process. */
export async function benchWebhooks(places: Places, rounds: number, posts: number): Promise<Verdict[]> {
  const fixtures = join(places.root, 'test/support/fixtures');
  const [KEY, CERT] = [join(fixtures, 'receiver-key.pem'), join(fixtures, 'receiver-cert.pem')];
  const port = await freePort();
  const receiver = start({
    args: [join(places.programs, 'receiver.process.js')],
    env: { PORT: String(port), KEY, CERT, NODE_ENV: 'production' },
    logFile: join(places.scratch, 'receiver.log'),
  });
  await sleep(300);
  const senders = ['fetch', 'penstock'] as const;
  const sent: Record<(typeof senders)[number], Sent[]> = { fetch: [], penstock: [] };
  const program = join(places.programs, 'webhooks.process.js');
  for (let round = 0; round < rounds; round += 1)
    for (const sender of senders)
      sent[sender].push(
        await figures<Sent>([...V8_FLAGS, program, sender, `https://127.0.0.1:${port}/hook`, String(posts)], {
          NODE_EXTRA_CA_CERTS: CERT,
        }),
      );
  await stopOne(receiver);
  const of = (sender: keyof typeof sent, value: (one: Sent) => number): number =>
    median(sent[sender].map(value));
  const rows = senders.map((sender) => [
    sender === 'fetch' ? "Node's fetch" : 'Penstock, state included',
    of(sender, ({ perSecond }) => perSecond).toFixed(0),
    of(sender, ({ cpuUs }) => cpuUs).toFixed(0),
    of(sender, ({ postgresUs }) => postgresUs).toFixed(0),
  ]);
  table('Webhooks over HTTPS, 64 at a time', ['', 'POST/s', 'CPU µs/POST', 'PostgreSQL µs/POST'], rows);
  const ratio = of('penstock', ({ cpuUs }) => cpuUs) / of('fetch', ({ cpuUs }) => cpuUs);
  return [verdict("webhooks: CPU, Penstock / Node's fetch", ratio, 0.5)];
}

/** The outbox with a real broker; without Java there is no broker and no figure. */
export async function benchOutbox(places: Places, rounds: number, events: number): Promise<Verdict[]> {
  const found: { perSecond: number; cpuUs: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const one = await figures<(typeof found)[number] | null>([
      ...V8_FLAGS,
      join(places.programs, 'outbox.process.js'),
      String(events),
    ]);
    if (one === null) {
      console.log('\nOutbox to Kafka: not measured, there is no Java to run a broker with');
      return [];
    }
    found.push(one);
  }
  const perSecond = median(found.map((one) => one.perSecond));
  const cpuUs = median(found.map((one) => one.cpuUs));
  table(
    'Outbox to Kafka',
    ['', 'events/s', "Node's CPU µs/event"],
    [['relay', perSecond.toFixed(0), cpuUs.toFixed(1)]],
  );
  return [verdict('outbox to Kafka, events/s', perSecond, 15_000, 'at least')];
}

/** A process with all roles and without calls, in per cent of a core. */
export async function benchIdle(places: Places, seconds: number): Promise<Verdict[]> {
  const port = await freePort();
  const dataDir = join(places.scratch, 'idle');
  await mkdir(dataDir, { recursive: true });
  const child = start({
    args: [...V8_FLAGS, join(places.root, 'dist/main.js')],
    env: { NODE_ENV: 'production', PORT: String(port), DATA_DIR: dataDir },
    logFile: join(places.scratch, 'idle.log'),
  });
  await untilAnswers(`http://127.0.0.1:${port}/readyz`, child);
  await sleep(5_000);
  const [before, began] = [cpuMs(child.pid ?? 0), performance.now()];
  await sleep(seconds * 1000);
  const share = ((cpuMs(child.pid ?? 0) - before) / (performance.now() - began)) * 100;
  await stopOne(child);
  table('An idle process', ['', '% of a core'], [['ROLE=all', share.toFixed(2)]]);
  return [verdict('idle process, % of a core', share, 1)];
}
