import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { downloadFrom } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

let upstream: NativeUpstream;
let server: TestServer;
let key: string;
let film: Buffer;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const at = (kind: string, path: string) => ({
    id: kind,
    kind,
    baseUrl: `${upstream.origin}${path}`,
    apiKey: 'key-progress-0123456789abcdef',
    timeouts: { pollMs: 5 },
  });
  const ray = { id: 'fal/ray', upstreamId: 'fal-ai/luma-dream-machine/ray-2', type: 'video', tier: 'basic' };
  server = await startPenstock({
    providers: {
      providers: [
        at('replicate', '/rep/v1'),
        { ...at('fal', '/fal'), models: [ray] },
        at('openai', '/oai/v1'),
        at('xai', '/xai/v1'),
      ],
    },
    env: { EGRESS_ALLOW: '127.0.0.1/32' },
    plans: { endpointLimits: { video: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  const body = { prompt: 'A pier', duration_seconds: 1, aspect_ratio: '1:1' };
  const made = await server.rest<{ data: { url: string } }>('POST', '/videos/generations', { key, body });
  film = (await downloadFrom(server.origin, made.body.data.url)).bytes;
});
beforeEach(() => {
  upstream.clear();
  upstream.on('/files/', { headers: { 'content-type': 'video/mp4' }, body: film });
});
afterAll(async () => {
  await server?.close();
  await upstream.close();
});

/** How each says that it is at 60 percent, and that it is done. */
const TELLERS: [model: string, seconds: number, on: (half: () => boolean) => void][] = [
  [
    'openai/sora-2',
    4,
    (half) => {
      upstream.on('/videos/v1/content', { body: film });
      upstream.on('/videos/v1', () => ({
        body: half() ? { status: 'in_progress', progress: 60 } : { status: 'completed' },
      }));
      upstream.on('/videos', { body: { id: 'v1', status: 'queued' } });
    },
  ],
  [
    'kling/kling-v2.1-master',
    5,
    (half) => {
      upstream.on('/kling-v2.1-master/predictions', { body: { id: 'p1', status: 'starting' } });
      const working = { id: 'p1', status: 'processing', logs: ' 20%|##\n 60%|######' };
      upstream.on('/predictions/p1', () =>
        half()
          ? { body: working }
          : { body: { id: 'p1', status: 'succeeded', output: `${upstream.origin}/files/a.mp4` } },
      );
    },
  ],
  [
    'fal/ray',
    5,
    (half) => {
      const logs = [{ message: ' 20%|##' }, { message: ' 60%|######' }];
      upstream.on('/requests/r1/status', () => ({
        body: half() ? { status: 'IN_PROGRESS', logs } : { status: 'COMPLETED' },
      }));
      upstream.on('/requests/r1', { body: { video: { url: `${upstream.origin}/files/b.mp4` } } });
      upstream.on('/fal/fal-ai/', { body: { request_id: 'r1' } });
    },
  ],
  [
    'xai/grok-imagine-video',
    5,
    (half) => {
      const made = { status: 'done', video: { url: `${upstream.origin}/files/e.mp4` } };
      upstream.on('/videos/generations', { body: { request_id: 'q1' } });
      upstream.on('/videos/q1', () => ({ body: half() ? { status: 'pending', progress: 60 } : made }));
    },
  ],
];
test.each(TELLERS)('a job’s progress moves with what %s tells', async (model, seconds, on) => {
  let half = true;
  on(() => half);
  const { body } = await server.rest<{ id: string }>('POST', '/videos/generations?async=true', {
    key,
    body: { prompt: 'A cat', model, duration_seconds: seconds },
  });
  const job = () => server.rest<{ progress: number }>('GET', `/jobs/${body.id}`, { key });
  // Filming is 95 percent of the job.
  await eventually(async () => (await job()).body.progress === 57, { what: '60 percent of the filming' });
  half = false;
  await eventually(async () => (await job()).body.progress === 100, { what: 'the end' });
});
