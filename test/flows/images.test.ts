import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answering } from '../support/answering.js';
import type { GenerationAnswer } from '../../src/generation/index.js';
import { createGenerationEngine } from '../support/generation.js';
import type { GenerationEngine } from '../support/generation.js';

interface Seen {
  path: string;
  authorization: string | undefined;
  body: Record<string, unknown>;
}

interface Reply {
  status: number;
  json: unknown;
}

let upstream: Server;
let engine: GenerationEngine;
let seen: Seen[] = [];
/** What the upstream does with the next requests, first come. */
let behaviours: ((body: Record<string, unknown>) => Reply | Promise<Reply>)[] = [];

const picture = async (width: number, height: number) =>
  await sharp({ create: { width, height, channels: 3, background: '#884422' } })
    .jpeg()
    .toBuffer();
const item = (bytes: Buffer) => ({ b64_json: bytes.toString('base64'), revised_prompt: 'a better fox' });
const ok = (...data: object[]) => ({ status: 200, json: { created: 1, data } });

beforeAll(async () => {
  upstream = createServer(
    answering(async (request, response) => {
      if (request.method === 'GET') return response.end(await picture(512, 512));
      const body = JSON.parse(await text(request)) as Record<string, unknown>;
      seen.push({ path: request.url ?? '', authorization: request.headers.authorization, body });
      const behave = behaviours.shift();
      const answer = await (behave?.(body) ?? ok(item(await picture(512, 512))));
      return response
        .writeHead(answer.status, { 'content-type': 'application/json' })
        .end(JSON.stringify(answer.json));
    }),
  );
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;
  const model = (id: string, extra: object = {}) => ({
    id,
    type: 'image',
    tier: 'standard',
    multiplier: 1.5,
    ...extra,
  });
  engine = await createGenerationEngine({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl,
          apiKey: 'acme-secret',
          models: [
            model('acme/paint', { upstreamId: 'paint-1' }),
            model('acme/dear', { upstreamId: 'dear-1', price: { amount: 2, credits: 1.25 } }),
            model('acme/spare', { upstreamId: 'spare-1' }),
          ],
        },
      ],
      fallbacks: { 'acme/paint': ['acme/spare'] },
    },
    plans: { endpointLimits: { image: { limit: 1000, windowSeconds: 60 } } },
  });
});

beforeEach(() => {
  seen = [];
  behaviours = [];
});

afterAll(async () => {
  await engine.close();
  upstream.closeAllConnections();
  upstream.close();
});

async function make(body: object): Promise<GenerationAnswer & { data: Record<string, unknown>[] }> {
  const { call } = await engine.createOrg();
  const answer = await engine.generation.generate(
    'image',
    await call(),
    { prompt: 'a fox', ...body },
    { async: false },
  );
  return { ...answer, data: answer.data as Record<string, unknown>[] };
}

const opened = async (url: unknown) => {
  const answer = await fetch(String(url));
  expect(answer.headers.get('content-type')).toBe('image/png');
  const bytes = Buffer.from(await answer.arrayBuffer());
  const { width, height, format } = await sharp(bytes).metadata();
  return { bytes, facts: [width, height, format] };
};

describe("the sandbox's images", () => {
  it.each([
    ['512x512', undefined, 512, 512],
    ['1792x1024', undefined, 1792, 1024],
    ['512x512', '2x', 1024, 1024],
    ['1024x1536', '2x', 2048, 3072],
    ['512x512', '4x', 2048, 2048],
  ])(
    'of %s, upscaled %s, open under their address with exactly %d × %d',
    async (size, upscale, width, height) => {
      const { data } = await make({ size, upscale, n: 2 });
      expect(data).toHaveLength(2);
      const files = await Promise.all(data.map(async ({ url }) => await opened(url)));
      for (const [index, { facts }] of files.entries()) {
        expect(facts).toEqual([width, height, 'png']);
        expect(data[index]).toMatchObject({ width, height, revised_prompt: 'a fox' });
      }
      expect(files[0]?.bytes.equals(files[1]?.bytes ?? Buffer.alloc(0))).toBe(false);
    },
  );

  it('are the same bytes for the same seed, in the answer itself where base64 is asked for', async () => {
    const body = { size: '512x512', seed: 42, response_format: 'b64_json' };
    const [first, second] = [await make(body), await make(body)];
    expect(first.data[0]).not.toHaveProperty('url');
    expect(first.data[0]?.['b64_json']).toBe(second.data[0]?.['b64_json']);
    const bytes = Buffer.from(String(first.data[0]?.['b64_json']), 'base64');
    expect((await sharp(bytes).metadata()).width).toBe(512);
    expect(first.job.outputData).toMatchObject({
      images: [{ url: { $file: expect.stringMatching(/^file_.*\.png$/) as string } }],
    });
  });
});

describe("an upstream's images", () => {
  it('are asked for in the convention, and brought to the exact size where it deviates', async () => {
    behaviours = [async () => ok(item(await picture(640, 480)), item(await picture(100, 300)))];
    const answer = await make({
      model: 'acme/paint',
      size: '1024x1024',
      n: 2,
      seed: 5,
      style: 'natural',
      negative_prompt: 'cats',
    });
    expect(seen).toEqual([
      {
        path: '/v1/images/generations',
        authorization: 'Bearer acme-secret',
        body: {
          model: 'paint-1',
          prompt: 'a fox',
          n: 2,
          size: '1024x1024',
          seed: 5,
          style: 'natural',
          negative_prompt: 'cats',
          response_format: 'b64_json',
        },
      },
    ]);
    expect(answer).toMatchObject({
      model: 'acme/paint',
      modelTier: 'standard',
      usage: { credits_used: 2, generations_used: 2 },
    });
    for (const shown of answer.data) {
      expect(shown).toMatchObject({ width: 1024, height: 1024, revised_prompt: 'a better fox' });
      expect((await opened(shown['url'])).facts).toEqual([1024, 1024, 'png']);
    }
  });

  it('are asked for without what the caller left out', async () => {
    await make({ model: 'acme/paint', size: '512x512' });
    expect(Object.keys(seen[0]?.body ?? {}).sort()).toEqual([
      'model',
      'n',
      'prompt',
      'response_format',
      'size',
    ]);
  });

  it('are fetched where the upstream answers its own address, and asked for again where there are too few', async () => {
    const url = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/made.jpg`;
    behaviours = [() => ok({ url }), () => ok({ url }, { url })];
    const { data } = await make({ model: 'acme/paint', size: '512x512', n: 3 });
    expect(data).toHaveLength(3);
    expect(seen.map(({ body }) => body['n'])).toEqual([3, 2]);
  });

  it('are priced by their own entry', async () => {
    behaviours = [
      async () => ok(item(await picture(9, 9)), item(await picture(9, 9)), item(await picture(9, 9))),
    ];
    const { usage } = await make({ model: 'acme/dear', size: '512x512', n: 3 });
    expect(usage).toMatchObject({
      credits_used: 6,
      credits_breakdown: { base: 4 },
      generations_used: 6,
      generations_remaining: 594,
    });
  });

  it('come from the fallback where the model fails, which the answer names; tier and price stay', async () => {
    const failing = () => ({ status: 500, json: { error: { message: 'down' } } });
    const paint = (body: Record<string, unknown>) => body['model'] === 'paint-1';
    behaviours = Array.from(
      { length: 20 },
      () => async (body: Record<string, unknown>) =>
        paint(body) ? failing() : ok(item(await picture(512, 512))),
    );
    const answer = await make({ model: 'acme/paint', size: '512x512' });
    expect(answer).toMatchObject({
      model: 'acme/spare',
      job: { model: 'acme/paint' },
      usage: { credits_used: 1 },
    });
    expect(seen.filter(({ body }) => paint(body)).length).toBeGreaterThan(1);
  });

  it("that the upstream rejects are the caller's fault, with its cleaned message, not tried again and not charged", async () => {
    behaviours = [() => ({ status: 400, json: { error: { message: 'No foxes, acme-secret' } } })];
    await expect(make({ model: 'acme/paint' })).rejects.toMatchObject({
      code: 'invalid_request',
      status: 400,
      message: 'No foxes, [removed]',
    });
    expect(seen).toHaveLength(1);
  });

  it('that are no images at all end as Generation failed', async () => {
    behaviours = Array.from(
      { length: 20 },
      () => () => ok({ b64_json: Buffer.from('<svg/>').toString('base64') }),
    );
    await expect(make({ model: 'acme/dear', size: '512x512' })).rejects.toMatchObject({
      status: 500,
      message: 'Generation failed',
    });
  });

  it('are given up when the job is cancelled', async () => {
    let closed = false;
    upstream.once('request', (_request, response) => response.on('close', () => (closed = true)));
    behaviours = [() => new Promise<never>(() => undefined)];
    const { orgId, call } = await engine.createOrg();
    const { job } = await engine.generation.generate(
      'image',
      await call(),
      { prompt: 'x', model: 'acme/dear' },
      { async: true },
    );
    await expect.poll(() => seen.length).toBe(1);
    await engine.jobs.cancel(orgId, job.id);
    await expect.poll(() => closed).toBe(true);
  });
});
