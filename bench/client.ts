/** The time from the server's commit of a job's event to its arrival at @penstock/client: in Node, and in a browser's hook. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chromium } from 'playwright-core';
import { rolldown } from 'rolldown';
import WebSocket from 'ws';
import { createPenstock } from '../client/src/index.js';
import { findChromium } from '../test/support/browser.js';
import type { Places } from './contenders.js';
import type { LiveServer, Publish, Published } from './live-server.types.js';
import { start, V8_FLAGS } from './processes.js';
import { messageWith } from './child-message.js';
import { table, verdict, type Verdict } from './report.js';

/** Events before the measurement, until the JIT compilers have finished. */
const WARM_UPS = 100;
const GAP_MS = 25;
const TARGET_MS = 20;
const PATIENCE_MS = 60_000;
const ONE: Publish = { events: 1, gapMs: 1, acknowledges: true };

/** A watcher of the job. */
interface Watcher {
  /** Called with the arrival time of each event, in Unix milliseconds. */
  watch(server: LiveServer, arrived: (at: number) => void): Promise<void>;
  close(): Promise<void>;
}

function nodeClient(): Watcher {
  let close = (): void => undefined;
  return {
    watch({ port, payload, jobId }, arrived) {
      const key = String(payload['authorization']).slice('Bearer '.length);
      const penstock = createPenstock({ url: `http://127.0.0.1:${port}`, key, webSocketImpl: WebSocket });
      penstock.followJob(jobId, { next: () => arrived(Date.now()) });
      close = () => penstock.close();
      return Promise.resolve();
    },
    close: () => Promise.resolve(close()),
  };
}

async function bundleOf(root: string): Promise<string> {
  const build = await rolldown({
    input: join(root, 'bench/live-hook.page.ts'),
    platform: 'browser',
    transform: { define: { 'process.env.NODE_ENV': '"production"' } },
  });
  const { output } = await build.generate({ format: 'iife' });
  await build.close();
  return output[0].code;
}

async function browserHook(root: string, executablePath: string): Promise<Watcher> {
  const script = await bundleOf(root);
  const site = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<body>'),
  );
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  const browser = await chromium.launch({
    executablePath,
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
  return {
    async watch({ port, payload, jobId }, arrived) {
      const page = await browser.newPage();
      await page.exposeFunction('arrived', arrived);
      await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
      await page.addScriptTag({ content: script });
      const token = String(payload['authorization']).slice('Bearer '.length);
      const shown = JSON.stringify({ url: `http://127.0.0.1:${port}`, token, id: jobId });
      await page.evaluate(`show(${shown})`);
    },
    async close() {
      await browser.close();
      await new Promise((resolve) => site.close(resolve));
    },
  };
}

/** @returns sorted milliseconds from before the statement that commits an event to its arrival */
async function delays(places: Places, watcher: Watcher, rounds: number): Promise<number[]> {
  const logFile = join(places.scratch, 'client.log');
  const args = [...V8_FLAGS, join(places.programs, 'live-penstock.process.js')];
  const server = start({ args, env: { NODE_ENV: 'production' }, logFile, talks: true });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  const arrivals: number[] = [];
  let next = (): void => undefined;
  const another = () =>
    new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error('no event came')), PATIENCE_MS);
      next = () => {
        clearTimeout(late);
        resolve();
      };
    });
  const first = another();
  await watcher.watch(await messageWith<LiveServer>(server, 'port'), (at) => {
    arrivals.push(at);
    next();
  });
  await first;
  const found: number[] = [];
  for (let round = 0; round < WARM_UPS + rounds; round++) {
    await sleep(GAP_MS);
    const [arrived, published] = [another(), messageWith<Published>(server, 'sentAt')];
    server.send(ONE);
    const { sentAt } = await published;
    await arrived;
    if (round >= WARM_UPS) found.push((arrivals.at(-1) ?? 0) - sentAt);
  }
  await watcher.close();
  server.disconnect();
  await ended;
  return found.toSorted((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(sorted.length * share)] ?? Number.NaN;

/** The browser's figure counts if there is a browser (`CHROMIUM`, or one on the PATH), else Node's. */
export async function benchClient(places: Places, rounds: number): Promise<Verdict[]> {
  const executablePath = findChromium();
  const figures: [string, number[]][] = [['the client in Node', await delays(places, nodeClient(), rounds)]];
  if (executablePath !== null) {
    const hook = await browserHook(places.root, executablePath);
    figures.push(['useJob in a browser', await delays(places, hook, rounds)]);
  }
  table(
    'From the commit of an event to who watches it, ms',
    ['', 'p50', 'p95', 'p99'],
    figures.map(([name, sorted]) => [
      name,
      ...[0.5, 0.95, 0.99].map((share) => at(sorted, share).toFixed(1)),
    ]),
  );
  const [name, sorted] = figures.at(-1) ?? ['', []];
  return [verdict(`from the commit to ${name}, p50 in ms`, at(sorted, 0.5), TARGET_MS)];
}
