/**
 * `npm run kafka`: a real broker for a developer, with the machine's Java (Maven fetches it once). Its data goes with it. Prints what to put
 * into the environment; Ctrl-C ends it.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundle } from './build.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The tests' own broker, so that both are started alike. */
async function loadSupport() {
  await mkdir(join(root, 'dist'), { recursive: true });
  const folder = await mkdtemp(join(root, 'dist', '.kafka-'));
  try {
    await bundle(['test/support/kafka.ts'], folder);
    return await import(pathToFileURL(join(folder, 'kafka.js')).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const { startKafka } = await loadSupport();
const broker = await startKafka();
if (broker === null) {
  console.error('Java (17 or newer) is needed, and Maven to fetch the broker with.');
  process.exit(1);
}
console.log(`export KAFKA_BROKERS=${broker.brokers.join(',')}`);
const ended = new Promise((resolve) => {
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, resolve);
});
const alive = setInterval(() => undefined, 60_000);
await ended;
clearInterval(alive);
await broker.stop();
