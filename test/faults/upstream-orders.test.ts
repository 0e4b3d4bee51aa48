import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { downloadFrom, waveOf } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { spawnPenstock } from '../support/spawned.js';
import type { SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

/** An API process here, workers as processes of their own, and one upstream that speaks as six providers do. */
let upstream: NativeUpstream;
let api: TestServer;
let key: string;
let film: Buffer;
let photo: Buffer;
/** Whether the upstream has finished what it was ordered. */
let finished = false;
const workers: SpawnedServer[] = [];

const orders = [
  { path: '/videos/generations', body: { model: 'kling/kling-v2.1-master' }, order: '/kling-v2.1-master/' },
  { path: '/videos/generations', body: { model: 'fal/ray' }, order: '/fal/fal-ai/luma-dream-machine/ray-2' },
  {
    path: '/videos/generations',
    body: { model: 'google/veo-3.1-fast-generate-preview', duration_seconds: 4 },
    order: ':predictLongRunning',
  },
  { path: '/videos/generations', body: { model: 'luma/ray-2' }, order: '/luma/dream-machine/v1/generations' },
  {
    path: '/videos/generations',
    body: { model: 'openai/sora-2', duration_seconds: 4 },
    order: '/oai/v1/videos',
  },
  { path: '/videos/generations', body: { model: 'xai/grok-imagine-video' }, order: '/xai/v1/videos/' },
  { path: '/music/generations', body: { model: 'acme/band' }, order: '/acme/band/' },
  {
    path: '/images/edits',
    body: () => ({ model: 'acme/brush', operation: 'colorization', image: photo.toString('base64') }),
    order: '/acme/brush/',
  },
  // Over packages, which order and ask in one go.
  { path: '/images/generations', body: { model: 'black-forest-labs/flux-dev' }, order: '/flux-dev/' },
  {
    path: '/images/generations',
    body: { model: 'luma/photon-1' },
    order: '/luma/dream-machine/v1/generations/image',
  },
  {
    path: '/audio/transcriptions',
    body: () => ({ model: 'acme/ears', ...sound() }),
    order: '/v2/transcript',
  },
  { path: '/audio/transcriptions', body: () => ({ model: 'fal/ears', ...sound() }), order: '/fal-ai/wizper' },
];
const sound = () => ({ file: waveOf(new Int16Array(16_000)).toString('base64') });

/** Answers in the shapes that the providers were recorded in. */
function answers(): void {
  const file = (name: string) => `${upstream.origin}/files/${name}`;
  upstream.on('/files/film', () => ({ body: film }));
  upstream.on('/files/song', () => ({ body: waveOf(new Int16Array(32_000)) }));
  upstream.on('/files/photo', () => ({ body: photo }));
  const replicate = (id: string, name: string) => () => ({
    body: finished ? { id, status: 'succeeded', output: file(name) } : { id, status: 'processing' },
  });
  for (const [id, name] of [
    ['p1', 'film'],
    ['p2', 'song'],
    ['p3', 'photo'],
  ] as const)
    upstream.on(`/rep/v1/predictions/${id}`, replicate(id, name));
  const urls = { get: `${upstream.origin}/rep/v1/predictions/p4` };
  upstream.on('/rep/v1/predictions/p4', () => ({
    body: {
      id: 'p4',
      urls,
      status: finished ? 'succeeded' : 'processing',
      output: finished ? [file('photo')] : null,
    },
  }));
  upstream.on('/flux-dev/', { body: { id: 'p4', status: 'starting', urls } });
  upstream.on('/generations/g2', () => ({
    body: { id: 'g2', state: finished ? 'completed' : 'dreaming', assets: { image: file('photo') } },
  }));
  upstream.on('/v1/generations/image', { body: { id: 'g2', state: 'queued' } });
  upstream.on('/v2/upload', { body: { upload_url: file('sound') } });
  upstream.on('/v2/transcript/t1', () => ({
    body: { id: 't1', status: finished ? 'completed' : 'processing', text: 'Hello', audio_duration: 1 },
  }));
  upstream.on('/v2/transcript', { body: { id: 't1', status: 'queued' } });
  upstream.on('/fal-ai/wizper/requests/r2', () =>
    finished
      ? { body: { text: 'Hello', chunks: [{ text: 'Hello', timestamp: [0, 1] }] } }
      : { status: 400, body: { detail: 'Request is still in progress' } },
  );
  upstream.on('/fal-ai/wizper', { body: { request_id: 'r2' } });
  upstream.on('/kling-v2.1-master/', { body: { id: 'p1', status: 'starting' } });
  upstream.on('/acme/band/', { body: { id: 'p2', status: 'starting' } });
  upstream.on('/acme/brush/', { body: { id: 'p3', status: 'starting' } });
  const requestPath = '/fal/fal-ai/luma-dream-machine/requests/r1';
  upstream.on(`${requestPath}/status`, () => ({ body: { status: finished ? 'COMPLETED' : 'IN_PROGRESS' } }));
  upstream.on(requestPath, { body: { video: { url: file('film') } } });
  upstream.on('/fal/fal-ai/', {
    body: { request_id: 'r1', response_url: `${upstream.origin}${requestPath}` },
  });
  upstream.on(':predictLongRunning', { body: { name: 'models/veo/operations/o1' } });
  const response = { generateVideoResponse: { generatedSamples: [{ video: { uri: file('film') } }] } };
  upstream.on('/operations/o1', () => ({ body: finished ? { done: true, response } : {} }));
  upstream.on('/generations/g1', () => ({
    body: { id: 'g1', state: finished ? 'completed' : 'dreaming', assets: { video: file('film') } },
  }));
  upstream.on('/luma/dream-machine/v1/generations', { body: { id: 'g1', state: 'queued' } });
  upstream.on('/oai/v1/videos/v1/content', () => ({ body: film }));
  upstream.on('/oai/v1/videos/v1', () => ({ body: { status: finished ? 'completed' : 'in_progress' } }));
  upstream.on('/oai/v1/videos', { body: { id: 'v1', status: 'queued' } });
  upstream.on('/xai/v1/videos/generations', { body: { request_id: 'q1' } });
  upstream.on('/xai/v1/videos/q1', () => ({
    body: finished ? { status: 'done', video: { url: file('film') } } : { status: 'pending' },
  }));
}

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const at = (path: string) => ({
    baseUrl: `${upstream.origin}${path}`,
    apiKey: 'key-0123456789abcdef',
    timeouts: { pollMs: 20 },
  });
  const own = { tier: 'standard', inputs: { prompt: 'prompt' } };
  api = await startPenstock({
    role: 'api',
    // Files that upstreams name stand on the machine itself here.
    env: { EGRESS_ALLOW: '127.0.0.1/32', WORKER_CONCURRENCY: 'video:6,image_edit:2,image:2,stt:2' },
    providers: {
      providers: [
        {
          id: 'replicate',
          kind: 'replicate',
          ...at('/rep/v1'),
          models: [
            { ...own, id: 'acme/band', upstreamId: 'acme/band', type: 'music' },
            {
              ...own,
              id: 'acme/brush',
              upstreamId: 'acme/brush',
              type: 'image_edit',
              inputs: { prompt: 'prompt', image: 'image' },
            },
          ],
        },
        {
          id: 'fal',
          kind: 'fal',
          ...at('/fal'),
          models: [
            { id: 'fal/ray', upstreamId: 'fal-ai/luma-dream-machine/ray-2', type: 'video', tier: 'basic' },
            { id: 'fal/ears', upstreamId: 'wizper', type: 'stt', tier: 'fast' },
          ],
        },
        { id: 'google', kind: 'google', ...at('/goog/v1beta') },
        {
          id: 'assemblyai',
          kind: 'assemblyai',
          ...at(''),
          models: [{ id: 'acme/ears', upstreamId: 'universal-3-5-pro', type: 'stt', tier: 'fast' }],
        },
        { id: 'luma', kind: 'luma', ...at('/luma') },
        { id: 'openai', kind: 'openai', ...at('/oai/v1') },
        { id: 'xai', kind: 'xai', ...at('/xai/v1') },
      ],
    },
    plans: { endpointLimits: { video: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await api.createOrg({ plan: 'business_monthly' }));
  photo = await sharp({ create: { width: 32, height: 32, channels: 3, background: '#f00' } })
    .png()
    .toBuffer();
  const worker = await startWorker();
  const made = await api.rest<{ data: { url: string } }>('POST', '/videos/generations', {
    key,
    body: { prompt: 'A pier', duration_seconds: 1, aspect_ratio: '1:1' },
  });
  film = (await downloadFrom(api.origin, made.body.data.url)).bytes;
  await stop(worker);
});
afterAll(async () => {
  for (const worker of workers) await worker.close();
  await api?.close();
  await upstream.close();
});

async function startWorker(): Promise<SpawnedServer> {
  const worker = await spawnPenstock(api.installation, { role: 'worker' });
  workers.push(worker);
  return worker;
}
async function stop(worker: SpawnedServer): Promise<void> {
  workers.splice(workers.indexOf(worker), 1);
  await worker.close();
}
/** Kills it; its leases run out at once. */
async function kill(worker: SpawnedServer): Promise<void> {
  await worker.signal('SIGKILL');
  await stop(worker);
  await api.installation.sql(
    `UPDATE jobs SET lease_until = now() - interval '1 s' WHERE status = 'processing'`,
  );
}
async function enqueue({ path, body }: (typeof orders)[number]): Promise<string> {
  const given = typeof body === 'function' ? body() : body;
  const request = 'image' in given || 'file' in given ? given : { prompt: 'A cat', ...given };
  const answer = await api.rest<{ id: string }>('POST', `${path}?async=true`, { key, body: request });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.id;
}
/** The order that a path places: of two that match, the longer. */
const orderAt = (path: string) =>
  orders
    .map(({ order }) => order)
    .filter((order) => path.includes(order))
    .toSorted((a, b) => b.length - a.length)[0];
const placed = () =>
  orders.map(
    ({ order }) =>
      upstream.requests.filter(({ method, path }) => method === 'POST' && orderAt(path) === order).length,
  );
const asked = (parts: string[]) =>
  parts.every((part) =>
    upstream.requests.some(({ method, path }) => method === 'GET' && path.includes(part)),
  );
const QUESTIONS = ['p1', 'p2', 'p3', 'r1', 'o1', 'g1', 'v1', 'q1', 'p4', 'g2', 't1', 'r2'].map(
  (id) => `/${id}`,
);

test('what upstreams were ordered by a worker that was killed is followed by the next: one order each, one charge each', async () => {
  answers();
  const worker = await startWorker();
  const ids = await Promise.all(orders.map(enqueue));
  await eventually(() => asked(QUESTIONS), { timeoutMs: 20_000, what: 'questions about all orders' });
  await kill(worker);
  finished = true;
  upstream.requests.splice(
    0,
    upstream.requests.length,
    ...upstream.requests.filter(({ method }) => method === 'POST'),
  );
  await startWorker();
  for (const id of ids) {
    const job = await api.rest<{ status: string; errorMessage: unknown }>('GET', `/jobs/${id}?poll=true`, {
      key,
    });
    expect([job.body.status, job.body.errorMessage]).toEqual(['completed', null]);
  }
  expect(asked(QUESTIONS)).toBe(true);
  expect(placed()).toEqual(orders.map(() => 1));
  const attempts = await api.installation.sql<{ attempt: number; settled: number }>(
    `SELECT j.attempt, (SELECT count(*)::int FROM usage_ledger u WHERE u.job_id = j.id AND u.state = 'settled') AS settled
     FROM jobs j WHERE id = ANY ($1)`,
    [ids],
  );
  expect(attempts).toEqual(ids.map(() => ({ attempt: 2, settled: 1 })));
}, 60_000);

test('an order of a killed worker whose job is cancelled meanwhile is taken back by another worker', async () => {
  upstream.clear();
  finished = false;
  upstream.on('/predictions/p1/cancel', { body: { id: 'p1', status: 'canceled' } });
  answers();
  const [worker] = workers;
  const id = await enqueue(orders[0]!);
  await eventually(() => asked(['/p1']), { what: 'a question about the order' });
  await kill(worker!);
  await api.rest('DELETE', `/jobs/${id}`, { key });
  await api.installation.sql(`UPDATE jobs SET completed_at = now() - interval '1 minute' WHERE id = $1`, [
    id,
  ]);
  await startWorker();
  const cancels = () => upstream.requests.filter(({ path }) => path.endsWith('/predictions/p1/cancel'));
  await eventually(() => cancels().length > 0, { what: 'the cancellation upstream' });
  expect(cancels()).toHaveLength(1);
  expect(await api.installation.sql('SELECT 1 FROM jobs WHERE orders IS NOT NULL AND id = $1', [id])).toEqual(
    [],
  );
}, 60_000);
