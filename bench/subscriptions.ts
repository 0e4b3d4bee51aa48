/** Live events to 2,000 sockets: Penstock compared with unchanged graphql-ws, each in a separate process; CPU for each delivery. */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Places } from './contenders.js';
import { SUBSCRIPTION, type LiveServer, type Publish } from './live-server.types.js';
import { median } from './measure.js';
import { cpuMs, start, V8_FLAGS } from './processes.js';
import { table, verdict, type Verdict } from './report.js';
import { messageWith } from './child-message.js';

const SOCKETS = 2_000;
/** One event after the other, like a job's progress; and many at once. */
/** Events before the measurement, until the JIT compilers have finished. */
const WARM_UPS = 3;
const STEADY: Publish = { events: 20, gapMs: 100 };
const BURST: Publish = { events: 40, gapMs: 0 };

interface Figures {
  steadyUs: number;
  burstUs: number;
  burstPerSecond: number;
}

/** @returns CPU of the server for each delivery, microseconds, and deliveries a second of the clock */
async function deliver(
  server: ChildProcess,
  sockets: ChildProcess,
  publish: Publish,
): Promise<{ us: number; perSecond: number }> {
  const deliveries = SOCKETS * publish.events;
  const [ready, all] = [messageWith(sockets, 'expecting'), messageWith(sockets, 'reached')];
  sockets.send({ expect: deliveries });
  await ready;
  const [before, began] = [cpuMs(server.pid ?? 0), performance.now()];
  server.send(publish);
  await all;
  return {
    us: ((cpuMs(server.pid ?? 0) - before) * 1000) / deliveries,
    perSecond: (deliveries * 1000) / (performance.now() - began),
  };
}

async function measureServer(places: Places, args: string[], rounds: number): Promise<Figures> {
  const logFile = join(places.scratch, 'subscriptions.log');
  const env = { NODE_ENV: 'production' };
  const server = start({ args: [...V8_FLAGS, ...args], env, logFile, talks: true });
  const { port, payload, jobId } = await messageWith<LiveServer>(server, 'port');
  const sockets = start({ args: [join(places.programs, 'sockets.process.js')], logFile, talks: true });
  const [open, first] = [messageWith(sockets, 'open'), messageWith(sockets, 'reached')];
  sockets.send({ expect: SOCKETS });
  const variables = { id: jobId };
  sockets.send({ subscribe: { port, count: SOCKETS, payload, query: SUBSCRIPTION, variables } });
  await Promise.all([open, first]);
  for (let round = 0; round < WARM_UPS; round += 1) await deliver(server, sockets, STEADY);
  const [steady, burst] = [[], []] as { us: number; perSecond: number }[][];
  for (let round = 0; round < rounds; round += 1) {
    steady?.push(await deliver(server, sockets, STEADY));
    burst?.push(await deliver(server, sockets, BURST));
  }
  const ended = new Promise((resolve) => server.once('exit', resolve));
  sockets.disconnect();
  server.disconnect();
  await ended;
  return {
    steadyUs: median(steady?.map(({ us }) => us) ?? []),
    burstUs: median(burst?.map(({ us }) => us) ?? []),
    burstPerSecond: median(burst?.map(({ perSecond }) => perSecond) ?? []),
  };
}

export async function benchSubscriptions(places: Places, rounds: number): Promise<Verdict[]> {
  const program = (name: string): string => join(places.programs, name);
  const peer = await measureServer(
    places,
    [program('live-peer.process.js'), join(places.root, 'schema/schema.graphql')],
    rounds,
  );
  const penstock = await measureServer(places, [program('live-penstock.process.js')], rounds);
  const rows = Object.entries({ 'graphql-ws': peer, Penstock: penstock }).map(([name, found]) => [
    name,
    found.steadyUs.toFixed(1),
    found.burstUs.toFixed(1),
    found.burstPerSecond.toFixed(0),
  ]);
  table(
    `A job's events to ${SOCKETS} sockets`,
    ['', 'CPU µs/delivery', `in a burst of ${BURST.events}`, 'deliveries/s in it'],
    rows,
  );
  return [
    verdict(
      'deliveries for a second of CPU, Penstock / graphql-ws',
      peer.steadyUs / penstock.steadyUs,
      3,
      'at least',
    ),
    verdict('the same in a burst', peer.burstUs / penstock.burstUs, 15, 'at least'),
  ];
}
