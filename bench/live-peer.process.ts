/** The peer: unchanged graphql-ws with Penstock's own schema and events in memory; it executes each event for each subscriber. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildSchema } from 'graphql';
import { useServer } from 'graphql-ws/use/ws';
import { WebSocketServer } from 'ws';
import { BoundedQueue } from '../subscriptions/bounded-queue.js';
import { newId } from '../src/contract/ids.js';
import type { Publish } from './live-server.types.js';

const schema = buildSchema(readFileSync(process.argv[2] ?? '', 'utf8'), { assumeValidSDL: true });
const queues = new Set<BoundedQueue<object>>();
const field = schema.getSubscriptionType()?.getFields()['jobProgress'];
if (!field) throw new Error('the schema has no jobProgress');
field.subscribe = () => {
  const queue: BoundedQueue<object> = new BoundedQueue(100_000, () => queues.delete(queue));
  queues.add(queue);
  queue.push({ jobProgress: { sequence, type: 'job.processing', job } });
  return queue;
};

let sequence = 2;
const jobId = newId('job');
const time = new Date().toISOString();
const job = {
  id: jobId,
  orgId: newId('org'),
  userId: 'usr_bench',
  tool: 'image',
  status: 'processing',
  progress: 1,
  inputParams: { prompt: 'a penstock above a mill', n: 1, size: '1024x1024', style: 'vivid' },
  outputData: null,
  estimatedCredits: 2,
  actualCredits: null,
  errorMessage: null,
  createdAt: time,
  startedAt: time,
  completedAt: null,
  model: 'sandbox/image-standard',
  modelTier: 'standard',
};
async function publish({ events, gapMs }: Publish): Promise<void> {
  for (let i = 0; i < events; i++) {
    sequence += 1;
    const jobProgress = { sequence, type: 'job.progress', job: { ...job, progress: sequence % 100 } };
    for (const queue of queues) queue.push({ jobProgress });
    if (gapMs > 0) await sleep(gapMs);
  }
}

const http = createServer();
useServer({ schema }, new WebSocketServer({ server: http, path: '/graphql', perMessageDeflate: false }));
http.listen(0, '127.0.0.1', () => {
  const { port } = http.address() as AddressInfo;
  process.send?.({ port, payload: {}, jobId });
});
process.on('message', (message: Publish) => void publish(message));
process.on('disconnect', () => process.exit(0));
