import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startNativeUpstream, type NativeUpstream } from '../support/native-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at } from './v1.js';

let server: TestServer;
let upstream: NativeUpstream;
let org: Awaited<ReturnType<TestServer['createOrg']>>;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  server = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: `${upstream.origin}/v1`,
          apiKey: 'k',
          retry: { retries: 0 },
          models: [
            { id: 'acme/gpt-image', type: 'image', tier: 'basic', upstreamId: 'gpt-image-1' },
            { id: 'acme/edits', type: 'image_edit', tier: 'fast', upstreamId: 'gpt-image-1' },
            { id: 'acme/plain', type: 'image', tier: 'basic', upstreamId: 'sd' },
          ],
        },
      ],
    },
    plans: {
      endpointLimits: {
        image: { limit: 1000, windowSeconds: 60 },
        image_edit: { limit: 1000, windowSeconds: 60 },
      },
    },
  });
  org = await server.createOrg({ plan: 'business_monthly' });
  client = new OpenAI({ apiKey: org.key, baseURL: `${server.origin}/v1`, maxRetries: 0 });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(() => {
  upstream.clear();
});

const faultOf = async (asked: Promise<unknown>): Promise<unknown> =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );
const metaOf = async (base64: string | null | undefined) =>
  await sharp(Buffer.from(base64 ?? '', 'base64')).metadata();
const png = async (width: number, height: number, background = { r: 200, g: 60, b: 40, alpha: 1 }) =>
  await sharp({ create: { width, height, channels: 4, background } })
    .png()
    .toBuffer();
/** Opaque, with a hole in its left half. */
const maskWithHole = async (width: number, height: number) =>
  await sharp(await png(width, height, { r: 0, g: 0, b: 0, alpha: 1 }))
    .composite([{ input: await png(width / 2, height), left: 0, top: 0, blend: 'dest-out' }])
    .png()
    .toBuffer();

interface Row {
  operation: string;
  amounts: { bucket: string; amount: number }[];
}
async function ledger(): Promise<Row[]> {
  const query = '{ usageRecords(first: 100) { nodes { operation amounts { bucket amount } } } }';
  const { data } = await server.graphql<{ usageRecords: { nodes: Row[] } }>(query, { key: org.key });
  return data!.usageRecords.nodes;
}

describe('pictures with the official client', () => {
  it('have a URL and their bytes, in the format that was asked for', async () => {
    const made = await client.images.generate({
      model: 'image-standard',
      prompt: 'A red fox',
      size: 'auto',
      quality: 'high',
      background: 'opaque',
      output_format: 'webp',
      output_compression: 60,
      user: 'u',
    });
    const [item] = made.data ?? [];
    expect(await metaOf(item?.b64_json)).toMatchObject({ format: 'webp', width: 1024, height: 1024 });
    const bytes = Buffer.from(await (await fetch(item?.url ?? '')).arrayBuffer());
    expect(bytes.equals(Buffer.from(item?.b64_json ?? '', 'base64'))).toBe(true);
    expect(made).toMatchObject({
      output_format: 'webp',
      size: '1024x1024',
      usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, generations_used: 1 },
    });
  });

  it('come in one of the two forms where one is asked for', async () => {
    for (const [form, other] of [
      ['url', 'b64_json'],
      ['b64_json', 'url'],
    ] as const) {
      const { data } = await client.images.generate({
        prompt: 'x',
        response_format: form,
        size: '512x512' as never,
      });
      expect(Object.keys(data?.[0] ?? {})).toContain(form);
      expect(Object.keys(data?.[0] ?? {})).not.toContain(other);
    }
  });

  it('come as events of a stream, charged once', async () => {
    const before = (await ledger()).length;
    const stream = await client.images.generate({
      prompt: 'A red fox',
      stream: true,
      partial_images: 2,
      output_format: 'jpeg',
    });
    const types: string[] = [];
    let last: OpenAI.Images.ImageGenStreamEvent | undefined;
    for await (const event of stream) {
      types.push(event.type);
      last = event;
    }
    expect(types.at(-1)).toBe('image_generation.completed');
    expect(await metaOf(last?.b64_json)).toMatchObject({ format: 'jpeg', width: 1024 });
    expect(last).toMatchObject({ usage: { total_tokens: 0 }, size: '1024x1024', output_format: 'jpeg' });
    expect((await ledger()).length).toBe(before + 1);
  });

  it('reach upstreams with the dials that those have', async () => {
    const clear = (await png(1024, 1024, { r: 0, g: 0, b: 0, alpha: 0 })).toString('base64');
    upstream.on('/images/generations', { body: { data: [{ b64_json: clear }] } });
    const made = await client.images.generate({
      model: 'acme/gpt-image',
      prompt: 'A logo',
      quality: 'low',
      background: 'transparent',
    });
    expect(upstream.requests[0]?.json).toMatchObject({ quality: 'low', background: 'transparent' });
    expect((await metaOf(made.data?.[0]?.b64_json)).hasAlpha).toBe(true);
  });

  it('are refused where a field cannot be had, by its name, and nothing is charged', async () => {
    const before = (await ledger()).length;
    const cases: [object, string][] = [
      [{ background: 'transparent' }, 'background'],
      [{ model: 'acme/plain', background: 'transparent' }, 'background'],
      [{ model: 'acme/gpt-image', background: 'transparent', output_format: 'jpeg' }, 'background'],
      [{ output_format: 'gif' }, 'output_format'],
      [{ output_compression: 101 }, 'output_compression'],
      [{ quality: 'best' }, 'quality'],
      [{ size: '7x7' }, 'size'],
      [{ partial_images: 4, stream: true }, 'partial_images'],
      [{ stream: 'yes' }, 'stream'],
      [{ prompt: '' }, 'prompt'],
      [{ n: 11 }, 'n'],
      [{ response_format: 'file' }, 'response_format'],
    ];
    for (const [fields, param] of cases) {
      const fault = await faultOf(client.images.generate({ prompt: 'x', ...fields } as never));
      expect([fields, fault]).toMatchObject([
        fields,
        {
          status: 400,
          param,
          type: 'invalid_request_error',
          error: { message: expect.stringContaining(param) },
        },
      ]);
    }
    expect((await ledger()).length).toBe(before);
    expect(upstream.requests).toEqual([]);
  });

  it('stay as the contract has them at /api/v1', async () => {
    const answer = await server.rest('POST', '/images/generations', {
      key: org.key,
      body: { prompt: 'x', output_format: 'webp' },
    });
    expect(answer.status).toBe(400);
    expect(JSON.stringify(answer.body)).toContain('Unknown parameter: output_format');
  });
});

describe('edits with the official client', () => {
  it('paint where the mask is transparent', async () => {
    const image = await toFile(await png(64, 64), 'image.png', { type: 'image/png' });
    const mask = await toFile(await maskWithHole(64, 64), 'mask.png', { type: 'image/png' });
    const made = await client.images.edit({
      image,
      mask,
      prompt: 'A blue door',
      output_format: 'png',
      response_format: 'b64_json',
    });
    expect(await metaOf(made.data?.[0]?.b64_json)).toMatchObject({ format: 'png', width: 64, height: 64 });
    const { data, info } = await sharp(Buffer.from(made.data?.[0]?.b64_json ?? '', 'base64'))
      .raw()
      .toBuffer({ resolveWithObject: true });
    const at = (x: number) => [...data.subarray((32 * 64 + x) * info.channels).subarray(0, 3)];
    const distance = (x: number) =>
      at(x).reduce((sum, value, i) => sum + Math.abs(value - [200, 60, 40][i]!), 0);
    expect(distance(60)).toBeLessThan(15);
    expect(distance(12)).toBeGreaterThan(distance(60));
    expect(made.usage).toMatchObject({ input_tokens: 0, total_tokens: 0, edits_used: expect.any(Number) });
  });

  it('follow the operation that is named, and restyle where none is and nothing is masked', async () => {
    const image = async () => await toFile(await png(64, 64), 'image.png', { type: 'image/png' });
    const ask = async (fields: object) =>
      await client.images.edit({ image: [await image()], prompt: 'A pencil sketch', ...fields } as never);
    const sizes: [object, number][] = [
      [{}, 64],
      [{ operation: 'superResolution', scale: 2 }, 128],
      [{ operation: 'outpainting', expand_pixels: 16, direction: 'all' }, 96],
      [{ operation: 'backgroundRemoval', background: 'transparent' }, 64],
      [{ operation: 'backgroundReplace' }, 64],
      [{ operation: 'colorization' }, 64],
      [{ operation: 'faceEnhancement', size: '32x32' }, 32],
    ];
    for (const [fields, width] of sizes) {
      const made = await ask(fields);
      expect([fields, await metaOf(made.data?.[0]?.b64_json)]).toMatchObject([fields, { width }]);
    }
  });

  it('take JSON, and stream', async () => {
    const url = `data:image/png;base64,${(await png(64, 64)).toString('base64')}`;
    const answer = await at(server, '/v1')('POST', '/images/edits', {
      headers: { authorization: `Bearer ${org.key}` },
      body: { images: [{ image_url: url }], prompt: 'A sketch', response_format: 'url' },
    });
    expect(answer).toMatchObject({ status: 200, body: { data: [{ url: expect.any(String) }] } });
    const stream = await client.images.edit({
      image: await toFile(await png(64, 64), 'i.png'),
      prompt: 'A sketch',
      stream: true,
    });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types.at(-1)).toBe('image_edit.completed');
  });

  it('reach an upstream with the hole of the mask', async () => {
    const edited = (await png(64, 64)).toString('base64');
    upstream.on('/images/edits', { body: { data: [{ b64_json: edited }] } });
    await client.images.edit({
      model: 'acme/edits',
      image: await toFile(await png(64, 64), 'i.png'),
      mask: await toFile(await maskWithHole(64, 64), 'm.png'),
      prompt: 'A door',
      quality: 'low',
    });
    const [sent] = upstream.requests;
    const form = await new Response(new Uint8Array(sent!.bytes), {
      headers: { 'content-type': sent!.headers['content-type']! },
    }).formData();
    expect(form.get('quality')).toBe('low');
    const hole = await sharp(Buffer.from(await (form.get('mask') as File).arrayBuffer()))
      .ensureAlpha()
      .extractChannel('alpha')
      .raw()
      .toBuffer();
    expect([hole[32 * 64 + 8], hole[32 * 64 + 56]]).toEqual([0, 255]);
  });

  it('are refused by the name of what is wrong', async () => {
    const image = async () => await toFile(await png(64, 64), 'image.png', { type: 'image/png' });
    const cases: [object, string][] = [
      [{ image: [await image(), await image()] }, 'image[]'],
      [{ operation: 'polish' }, 'operation'],
      [{ n: 2 }, 'n'],
      [{ size: 'big' }, 'size'],
      [{ output_format: 'gif' }, 'output_format'],
      [{ background: 'transparent' }, 'background'],
      [{ operation: 'backgroundRemoval', output_format: 'jpeg' }, 'output_format'],
      [{ mask: await toFile(await maskWithHole(32, 32), 'm.png') }, 'mask'],
      [{ mask: await toFile(Buffer.from('no picture'), 'm.png') }, 'mask'],
      [{ image: await toFile(Buffer.from('no picture'), 'i.png') }, 'image'],
    ];
    for (const [fields, param] of cases) {
      const fault = await faultOf(
        client.images.edit({ image: await image(), prompt: 'x', ...fields } as never),
      );
      expect([param, fault]).toMatchObject([param, { status: 400, param, type: 'invalid_request_error' }]);
    }
    const missing = await at(server, '/v1')('POST', '/images/edits', {
      headers: { authorization: `Bearer ${org.key}` },
      body: { prompt: 'x' },
    });
    expect(missing).toMatchObject({ status: 400, body: { error: { param: 'image' } } });
  });

  it('with another mask under the same Idempotency-Key are another request', async () => {
    const ask = async (mask: Buffer) =>
      await client.images.edit(
        {
          image: await toFile(await png(64, 64), 'i.png'),
          mask: await toFile(mask, 'm.png'),
          prompt: 'A door',
        },
        { headers: { 'Idempotency-Key': 'masks' } },
      );
    await ask(await maskWithHole(64, 64));
    expect(await faultOf(ask(await png(64, 64, { r: 0, g: 0, b: 0, alpha: 0 })))).toMatchObject({
      status: 422,
    });
  });
});
