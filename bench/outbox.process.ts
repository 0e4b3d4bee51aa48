/**
 * The speed at which the relay publishes the outbox to Kafka: `outbox.process.js <count>`. The events are written before it starts; the clock stops
 * when the table is empty, and the topics must then contain all events. The last line is JSON; null if there is no Java to run a broker.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { createKafkaBus, createKafkaClient, createRelay, createTopics } from '../src/events/index.js';
import { newId } from '../src/contract/ids.js';
import { startKafka } from '../test/support/kafka.js';
import { silent, withDatabase, type BenchDatabase } from './embedded.js';

const count = Number(process.argv[2] ?? '100000');
/** The number of different keys of the events; each key is a job. */
const KEYS = 5_000;

/** Events with the size of a finished image's event. */
async function fill({ database }: BenchDatabase): Promise<void> {
  const data = {
    id: newId('job'),
    tool: 'image',
    status: 'completed',
    progress: 100,
    inputParams: { prompt: 'a penstock above a mill', n: 1, size: '1024x1024', style: 'vivid' },
    outputData: { images: [{ url: `https://files.example/${'f'.repeat(80)}`, width: 1024, height: 1024 }] },
    model: 'sandbox/image-standard',
    modelTier: 'standard',
  };
  await database.system.query(
    `INSERT INTO outbox (topic, key, event)
     SELECT 'jobs', 'job_' || n % $2, jsonb_build_object('id', 'evt_' || n, 'type', 'job.completed', 'sequence', n / $2 + 1,
       'orgId', 'org_bench', 'timestamp', '2026-01-01T00:00:00.000Z', 'data', $3::jsonb)
     FROM generate_series(0, $1 - 1) n ORDER BY n`,
    [count, KEYS, JSON.stringify(data)],
  );
  await database.system.query('ANALYZE outbox').catch(() => undefined);
}

async function left({ database }: BenchDatabase): Promise<boolean> {
  const rows = await database.system.query('SELECT 1 FROM outbox LIMIT 1');
  return rows.length > 0;
}

async function publishAll(bench: BenchDatabase): Promise<{ perSecond: number; cpuUs: number }> {
  const { database, config } = bench;
  if (config.kafka === null) throw new Error('no brokers');
  await createTopics(config.kafka, silent);
  await fill(bench);
  const bus = createKafkaBus({ config: config.kafka, logger: silent });
  const relay = createRelay({ database, bus, logger: silent });
  const cpu = process.cpuUsage();
  const start = performance.now();
  relay.start();
  while (await left(bench)) await sleep(20);
  const elapsedMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  await relay.close();
  await bus.close();
  const admin = createKafkaClient(config.kafka, silent).admin();
  await admin.connect();
  const offsets = await admin.fetchTopicOffsets(`${config.kafka.prefix}.jobs`);
  await admin.disconnect();
  const arrived = offsets.reduce((sum, { high }) => sum + Number(high), 0);
  if (arrived < count) throw new Error(`${arrived} of ${count} events arrived`);
  return { perSecond: (count * 1000) / elapsedMs, cpuUs: (user + system) / count };
}

const broker = await startKafka();
if (broker === null) console.log('null');
else {
  try {
    process.env['KAFKA_BROKERS'] = broker.brokers.join(',');
    console.log(JSON.stringify(await withDatabase(publishAll)));
  } finally {
    await broker.stop();
  }
}
