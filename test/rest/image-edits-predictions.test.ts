import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

interface Answer {
  data: { url: string; width: number; height: number }[];
  error?: string;
  param?: string;
}

let upstream: NativeUpstream;
let server: TestServer;
let key: string;
let picture: string;
let mask: string;
let drawn: Buffer;

const [WIDTH, HEIGHT] = [96, 64];
const plain = (background: string, width = WIDTH, height = HEIGHT) =>
  sharp({ create: { width, height, channels: 3 as const, background } });

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const at = (path: string) => ({
    baseUrl: `${upstream.origin}${path}`,
    apiKey: 'key-edits-0123',
    timeouts: { pollMs: 5 },
    retry: { retries: 0 },
  });
  const acme = {
    id: 'acme/edit',
    upstreamId: 'acme-edit',
    type: 'image_edit',
    tier: 'fast',
    inputs: { strength: 'denoise', seed: 'random_seed' },
  };
  server = await startPenstock({
    providers: {
      providers: [
        { id: 'replicate', kind: 'replicate', ...at('/rep/v1') },
        { id: 'openai', kind: 'openai', ...at('/oai/v1') },
        { id: 'acme', kind: 'openai-compatible', ...at('/acme/v1'), models: [acme] },
      ],
    },
    plans: {
      endpointLimits: {
        image_edit: { limit: 1000, windowSeconds: 60 },
        image: { limit: 1000, windowSeconds: 60 },
      },
    },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  picture = (await plain('#f00').png().toBuffer()).toString('base64');
  const square = await plain('#fff', 20, 20).png().toBuffer();
  mask = (
    await plain('#000')
      .composite([{ input: square, left: 40, top: 20 }])
      .png()
      .toBuffer()
  ).toString('base64');
  drawn = await plain('#0f0', 512, 384).png().toBuffer();
});
beforeEach(() => {
  upstream.clear();
  upstream.on('/files/', { body: drawn });
  upstream.on('/predictions', {
    body: { id: 'p', status: 'succeeded', output: `${upstream.origin}/files/x.png` },
  });
  upstream.on('/images/edits', { body: { data: [{ b64_json: drawn.toString('base64') }] } });
});
afterAll(async () => {
  await server?.close();
  await upstream.close();
});

const edit = (body: object) =>
  server.rest<Answer>('POST', '/images/edits', { key, body: { image: picture, ...body } });
const inputSent = () => upstream.requests[0]?.json['input'] as Record<string, unknown>;

test('a model on Replicate gets the mask white on black, and its own inputs', async () => {
  const { status, body } = await edit({
    model: 'black-forest-labs/flux-fill-pro',
    operation: 'inpainting',
    prompt: 'A tree',
    mask,
    model_inputs: { seed: 5, steps: 20 },
  });
  expect(status).toBe(200);
  expect(body.data[0]).toMatchObject({ width: WIDTH, height: HEIGHT });
  expect(inputSent()).toMatchObject({ prompt: 'A tree', seed: 5, steps: 20, output_format: 'png' });
  const sent = Buffer.from(String(inputSent()['mask']).split(',')[1] ?? '', 'base64');
  const { data, info } = await sharp(sent).greyscale().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => data[(y * info.width + x) * info.channels];
  expect([at(50, 30), at(5, 5)]).toEqual([255, 0]);
});

test('strength goes where the model has a field for it', async () => {
  const style = { operation: 'styleTransfer', prompt: 'oil', strength: 0.4, model_inputs: { seed: 9 } };
  await edit({ model: 'black-forest-labs/flux-dev-image-to-image', ...style });
  expect(inputSent()).toMatchObject({ prompt_strength: 0.4, seed: 9 });
  upstream.requests.length = 0;
  expect((await edit({ model: 'acme/edit', ...style })).status).toBe(200);
  const form = upstream.requests[0]!.bytes.toString('latin1');
  expect(form).toContain('name="denoise"\r\n\r\n0.4');
  expect(form).toContain('name="random_seed"\r\n\r\n9');
});

test('what a model cannot do is refused before anything is asked', async () => {
  const style = { operation: 'styleTransfer', prompt: 'oil' };
  const refused = async (body: object) => {
    const answer = await edit(body);
    return [answer.status, answer.body.error, answer.body.param];
  };
  const gpt = 'openai/gpt-image-1-edit';
  expect(await refused({ model: gpt, ...style, strength: 0.4 })).toEqual([
    400,
    `Model ${gpt} does not support strength`,
    'strength',
  ]);
  expect(await refused({ model: gpt, ...style, model_inputs: { seed: 1 } })).toEqual([
    400,
    'Unknown model input: seed',
    'model_inputs',
  ]);
  expect(await refused({ model: 'bria/remove-background', ...style })).toEqual([
    400,
    'Model bria/remove-background does not support styleTransfer',
    'operation',
  ]);
  const image = await server.rest<Answer>('POST', '/images/generations', {
    key,
    body: { prompt: 'x', model: 'openai/gpt-image-1', negative_prompt: 'y' },
  });
  expect([image.status, image.body.error]).toEqual([
    400,
    'Model openai/gpt-image-1 does not support negative_prompt',
  ]);
  expect(upstream.requests).toHaveLength(0);
  // The contract's default asks for nothing.
  expect((await edit({ model: gpt, ...style, strength: 0.95 })).status).toBe(200);
});

test('a background is removed by a model that takes the picture alone, and an upscaler is told its scale', async () => {
  const removed = await edit({ model: 'bria/remove-background', operation: 'backgroundRemoval' });
  expect(removed.body.data[0]?.url).toContain('.png');
  expect(Object.keys(inputSent())).toEqual(['image']);
  upstream.requests.length = 0;
  const large = await edit({ model: 'google/upscaler', operation: 'superResolution', scale: 4 });
  expect(large.body.data[0]).toMatchObject({ width: WIDTH * 4, height: HEIGHT * 4 });
  expect(inputSent()).toMatchObject({ upscale_factor: 'x4' });
});
