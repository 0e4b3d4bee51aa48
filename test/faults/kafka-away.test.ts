import { setTimeout as sleep } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startKafka, type TestKafka } from '../support/kafka.js';
import { eventually } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';
import { record } from './scale.js';

const AWAY_MS = 60_000;
const kafka = await startKafka();

describe.skipIf(kafka === null)('the broker goes away under load', () => {
  const broker = kafka as TestKafka;
  let cluster: Cluster;
  beforeAll(async () => {
    const env = { KAFKA_BROKERS: broker.brokers.join(',') };
    cluster = await startCluster([{ role: 'api' }, { role: 'worker' }, { role: 'worker' }], { env });
  });
  afterAll(async () => {
    await cluster?.close();
    await broker.stop();
  });

  test(`${AWAY_MS / 1000} s without a broker: no API error, no event lost, order within a job kept, drained within 30 s of its return`, async () => {
    const { key, orgId } = await cluster.installation.createOrg({ plan: 'business_monthly' });
    const { sql } = cluster.installation;
    const faults: string[] = [];
    let made = 0;
    let loading = true;
    const load = (async () => {
      while (loading) {
        const body = { prompt: `mill ${made}`, size: '512x512' };
        try {
          const answer = await cluster.servers[0]!.rest('POST', '/images/generations?async=true', {
            key,
            body,
          });
          if (answer.status === 200) made += 1;
          else faults.push(`${answer.status}`);
        } catch (error) {
          faults.push(String(error));
        }
        await sleep(100);
      }
    })();
    await sleep(3_000);
    await broker.kill();
    await sleep(AWAY_MS);
    await broker.restart();
    const backAt = performance.now();
    await eventually(
      async () => {
        const [row] = await sql<{ old: string }>(
          `SELECT count(*) AS old FROM outbox WHERE created_at < clock_timestamp() - interval '3 seconds'`,
        );
        return row?.old === '0';
      },
      { timeoutMs: 30_000, everyMs: 200, what: 'the drained outbox' },
    );
    const drainedMs = performance.now() - backAt;
    loading = false;
    await load;
    expect(faults).toEqual([]);
    await eventually(
      async () => {
        const [row] = await sql<{ open: string }>(
          `SELECT (SELECT count(*) FROM jobs WHERE status IN ('pending', 'processing')) + (SELECT count(*) FROM outbox) AS open`,
        );
        return row?.open === '0';
      },
      { timeoutMs: 120_000, everyMs: 500, what: 'the end of all jobs and events' },
    );
    const rows = await sql<{ job_id: string; n: number }>(
      'SELECT job_id, count(*)::int AS n FROM job_events WHERE org_id = $1 GROUP BY job_id',
      [orgId],
    );
    const seen = await readJobs(
      broker,
      rows.reduce((sum, { n }) => sum + n, 0),
    );
    let lost = 0;
    let outOfOrder = 0;
    for (const { job_id: id, n } of rows) {
      const sequences = seen.get(id) ?? [];
      const first = sequences.filter((sequence, index) => sequences.indexOf(sequence) === index);
      lost += n - first.length;
      if (first.some((sequence, index) => sequence !== index + 1)) outOfOrder += 1;
    }
    expect({ lost, outOfOrder }).toEqual({ lost: 0, outOfOrder: 0 });
    record({
      promise: 13,
      awaySeconds: AWAY_MS / 1000,
      jobs: made,
      apiErrors: faults.length,
      eventsLost: lost,
      drainedSeconds: Math.round(drainedMs / 100) / 10,
    });
  }, 600_000);
});

/** Every message of `penstock.jobs`: the sequences of each job, in the order of its partition. */
async function readJobs(broker: TestKafka, expected: number): Promise<Map<string, number[]>> {
  const client = new Kafka({ brokers: broker.brokers, logLevel: logLevel.NOTHING });
  const consumer = client.consumer({ groupId: 'witness' });
  const seen = new Map<string, number[]>();
  const ids = new Set<string>();
  await consumer.connect();
  await consumer.subscribe({ topics: ['penstock.jobs'], fromBeginning: true });
  await consumer.run({
    async eachMessage({ message }) {
      const { id, sequence } = JSON.parse(String(message.value)) as { id: string; sequence: number };
      const key = String(message.key);
      seen.set(key, [...(seen.get(key) ?? []), sequence]);
      ids.add(id);
    },
  });
  await eventually(() => ids.size >= expected, { timeoutMs: 60_000, what: `${expected} messages` }).catch(
    () => undefined,
  );
  await consumer.disconnect();
  return seen;
}
