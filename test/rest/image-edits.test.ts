import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pngBomb } from '../support/png-bomb.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;
let key: string;
let photo: string;
let mask: string;

const WIDTH = 160;
const HEIGHT = 120;

interface Edited {
  data: { url: string; width: number; height: number }[];
  model_tier: string;
  usage: Record<string, number>;
  error?: string;
  param?: string;
}

beforeAll(async () => {
  penstock = await startPenstock({
    plans: { endpointLimits: { image_edit: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
  photo = (await picture('#f0f0f0', '#b02020').toBuffer()).toString('base64');
  mask = (await picture('#000', '#fff').toBuffer()).toString('base64');
});

afterAll(() => penstock.close());

/** A square in the middle of a plain ground. */
function picture(ground: string, square: string) {
  const inner = { create: { width: 40, height: 40, channels: 3 as const, background: square } };
  return sharp({ create: { width: WIDTH, height: HEIGHT, channels: 3, background: ground } })
    .composite([{ input: inner, left: 60, top: 40 }])
    .png();
}

function edit(body: Record<string, unknown>, path = '/images/edits') {
  return penstock.rest<Edited>('POST', path, { key, body: { image: photo, ...body } });
}

async function pixels(url: string) {
  const { pathname, search } = new URL(url);
  const response = await fetch(`${penstock.origin}${pathname}${search}`);
  const bytes = Buffer.from(await response.arrayBuffer());
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number) => [
    ...data.subarray((y * info.width + x) * 4, (y * info.width + x) * 4 + 4),
  ];
  return { format: (await sharp(bytes).metadata()).format, width: info.width, height: info.height, at };
}

async function result(body: Record<string, unknown>) {
  const answer = await edit(body);
  expect(answer.body).toMatchObject({ data: [{ url: expect.any(String) }] });
  const [item] = answer.body.data;
  return { item, answer, image: await pixels(item!.url) };
}

const near = (pixel: number[], colour: number[], by = 40) =>
  colour.every((value, channel) => Math.abs(value - (pixel[channel] as number)) <= by);

test('objectRemoval fills the masked area from its surroundings and leaves the rest', async () => {
  const { image, answer } = await result({ operation: 'objectRemoval', mask });
  expect(image).toMatchObject({ format: 'jpeg', width: WIDTH, height: HEIGHT });
  expect(near(image.at(80, 60), [240, 240, 240], 16)).toBe(true);
  expect(near(image.at(10, 10), [240, 240, 240], 6)).toBe(true);
  expect(answer.body.usage).toMatchObject({
    edits_used: expect.any(Number),
    edits_remaining: expect.any(Number),
  });
  expect(answer.headers['x-job-id']).toMatch(/^job_/);
});

test('objectRemoval continues the texture around it', async () => {
  const stripes = Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}"><rect width="100%" height="100%" fill="#fff"/>${Array.from(
      { length: 20 },
      (_, at) => `<rect x="${at * 16}" width="8" height="100%" fill="#000"/>`,
    ).join(
      '',
    )}<rect x="${WIDTH / 2 - 20}" y="${HEIGHT / 2 - 15}" width="40" height="30" fill="#d02020"/></svg>`,
  );
  const hole = Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}"><rect width="100%" height="100%" fill="#000"/><rect x="${WIDTH / 2 - 21}" y="${HEIGHT / 2 - 16}" width="42" height="32" fill="#fff"/></svg>`,
  );
  const png = async (svg: Buffer) => (await sharp(svg).png().toBuffer()).toString('base64');
  const { image } = await result({
    operation: 'objectRemoval',
    image: await png(stripes),
    mask: await png(hole),
    model_inputs: { seed: 1 },
  });
  const row = Array.from({ length: 32 }, (_, at) => image.at(WIDTH / 2 - 16 + at, HEIGHT / 2));
  for (const [red = 0, green = 0] of row) expect(Math.abs(red - green)).toBeLessThan(60);
  const light = row.map(([, green = 0]) => green);
  expect(light.filter((value) => value > 180).length).toBeGreaterThan(8);
  expect(light.filter((value) => value < 75).length).toBeGreaterThan(8);
});

test('colorization gives a grey picture colours', async () => {
  const grey = await sharp({ create: { width: WIDTH, height: HEIGHT, channels: 3, background: '#808080' } })
    .png()
    .toBuffer();
  const { image } = await result({ operation: 'colorization', image: grey.toString('base64') });
  const [sky, ground] = [image.at(10, 5), image.at(10, HEIGHT - 6)];
  expect((sky[2] ?? 0) - (sky[0] ?? 0)).toBeGreaterThan(30);
  expect((ground[0] ?? 0) - (ground[2] ?? 0)).toBeGreaterThan(30);
});

test('inpainting changes the masked area by the prompt, the same for the same seed', async () => {
  const body = { operation: 'inpainting', mask, model_inputs: { seed: 7 } };
  const forest = await result({ ...body, prompt: 'a forest' });
  const again = await result({ ...body, prompt: 'a forest' });
  const night = await result({ ...body, prompt: 'a starry night' });
  expect(forest.image.at(80, 60)).toEqual(again.image.at(80, 60));
  expect(near(forest.image.at(80, 60), night.image.at(80, 60), 20)).toBe(false);
  expect(near(forest.image.at(5, 5), [240, 240, 240], 6)).toBe(true);
});

test('outpainting extends in the asked direction by the asked pixels', async () => {
  const { item } = await result({ operation: 'outpainting', direction: 'left', expand_pixels: 50 });
  expect(item).toMatchObject({ width: WIDTH + 50, height: HEIGHT });
  const all = await result({ operation: 'outpainting', direction: 'all', expand_pixels: 20, prompt: 'snow' });
  expect(all.item).toMatchObject({ width: WIDTH + 40, height: HEIGHT + 40 });
  expect(near(all.image.at(100, 80), [176, 32, 32])).toBe(true);
});

test('backgroundRemoval is a PNG whose ground is transparent and whose subject is not', async () => {
  const { image } = await result({ operation: 'backgroundRemoval' });
  expect(image.format).toBe('png');
  expect(image.at(5, 5)[3]).toBe(0);
  expect(image.at(80, 60)[3]).toBe(255);
});

test('backgroundReplace puts another ground behind the subject', async () => {
  const { image } = await result({ operation: 'backgroundReplace', new_background: 'a deep green forest' });
  expect(near(image.at(5, 5), [240, 240, 240], 60)).toBe(false);
  expect(near(image.at(80, 60), [176, 32, 32])).toBe(true);
});

test.each([2, 4])('superResolution makes each side exactly %d times as long', async (scale) => {
  const { item } = await result({ operation: 'superResolution', scale });
  expect(item).toMatchObject({ width: WIDTH * scale, height: HEIGHT * scale });
});

test.each([
  ['faceEnhancement', {}],
  ['colorization', {}],
  ['styleTransfer', { prompt: 'pencil sketch' }],
  ['styleTransfer', { prompt: 'oil painting by Monet' }],
  ['styleTransfer', { prompt: 'synthwave' }],
])('%s %j gives a JPEG of the same size', async (operation, extra) => {
  const { image } = await result({ operation, ...extra });
  expect(image).toMatchObject({ format: 'jpeg', width: WIDTH, height: HEIGHT });
});

test('strength 0 leaves the picture as it is', async () => {
  const { image } = await result({ operation: 'styleTransfer', prompt: 'duotone', strength: 0 });
  expect(near(image.at(80, 60), [176, 32, 32], 8)).toBe(true);
});

test.each([
  [1, 1],
  [2000, 1],
])('a picture of %i × %i is edited as any', async (width, height) => {
  const tiny = sharp({ create: { width, height, channels: 3, background: '#d9a080' } });
  const image = (await tiny.png().toBuffer()).toString('base64');
  for (const extra of [
    { operation: 'faceEnhancement' },
    { operation: 'styleTransfer', prompt: 'oil painting' },
    { operation: 'styleTransfer', prompt: 'a comic' },
    { operation: 'styleTransfer', prompt: 'pencil' },
  ])
    expect(await edit({ image, ...extra })).toMatchObject({
      status: 200,
      body: { data: [{ width, height }] },
    });
});

test('strength moves every operation that has a choice, outpainting without words too', async () => {
  const ask = { operation: 'outpainting', direction: 'right', expand_pixels: 60 };
  const [whole, none] = [await result(ask), await result({ ...ask, strength: 0 })];
  // A mirror image, sharp where nothing was softened.
  expect(none.image.at(WIDTH + 59, 60)[1]).toBeLessThan(whole.image.at(WIDTH + 59, 60)[1] as number);
});

test('asynchronously the job ends with the contract’s outputData', async () => {
  const created = await edit({ operation: 'superResolution' }, '/images/edits?async=true');
  const { id } = created.body as unknown as { id: string };
  const job = await penstock.rest('GET', `/jobs/${id}?poll=true`, { key });
  expect(job.body).toMatchObject({
    tool: 'image_edit',
    status: 'completed',
    outputData: { images: [{ url: expect.any(String), width: 320, height: 240 }] },
    inputParams: {
      operation: 'superResolution',
      scale: 2,
      strength: 0.95,
      image: expect.stringMatching(/^http/),
    },
  });
});

test('GraphQL edits with the same result', async () => {
  const query = `mutation ($input: EditImageInput!) { editImage(input: $input) { data { width height } usage { editsUsed } job { tool } } }`;
  const answer = await penstock.graphql(query, {
    key,
    variables: { input: { image: photo, operation: 'colorization' } },
  });
  expect(answer.data).toMatchObject({
    editImage: { data: [{ width: WIDTH, height: HEIGHT }], job: { tool: 'image_edit' } },
  });
});

test.each([
  ['fast', 1],
  ['standard', 1.25],
  ['premium', 1.5],
])('a %s edit is estimated as it is charged', async (tier, amount) => {
  const input = { image: photo, operation: 'colorization', model: `sandbox/image-edit-${tier}` };
  const query = `query ($input: EstimateInput!) { estimate(input: $input) { modelTier amounts { bucket amount } } }`;
  const { data } = await penstock.graphql(query, { key, variables: { input: { imageEdit: input } } });
  expect(data).toEqual({ estimate: { modelTier: tier, amounts: [{ bucket: 'image_edits', amount }] } });
  expect((await edit(input)).body.usage['edits_used']).toBe(amount);
});

test('a telephone’s picture of 50 megapixels is taken; to enlarge it is refused before any work', async () => {
  const plain = { create: { width: 8192, height: 6144, channels: 3 as const, background: '#9ac' } };
  const image = (await sharp(plain).jpeg({ quality: 40 }).toBuffer()).toString('base64');
  const made = await edit({ image, operation: 'colorization' }, '/images/edits?async=true');
  const { id, status } = made.body as unknown as { id: string; status: string };
  expect([made.status, status]).toEqual([200, 'pending']);
  await penstock.rest('DELETE', `/jobs/${id}`, { key });
  expect(await edit({ image, operation: 'superResolution' })).toMatchObject({
    status: 400,
    body: { error: 'The result would be too large', param: 'scale' },
  });
  // Few pixels, but a longer side than JPEG has.
  const long = (width: number) =>
    sharp({ create: { ...plain.create, width, height: 1 } })
      .png()
      .toBuffer();
  for (const [width, operation, param] of [
    [20_000, 'superResolution', 'scale'],
    [65_536, 'colorization', 'image'],
  ] as const)
    expect(
      await edit({
        image: (await long(width)).toString('base64'),
        operation,
        ...(param === 'scale' ? { scale: 4 } : {}),
      }),
    ).toMatchObject({ status: 400, body: { error: 'The result would be too large', param } });
});

describe('refusals', () => {
  const SVG = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>').toString(
    'base64',
  );
  const small =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  /** A PNG that says it is 50,000 pixels on each side. */
  const bomb = (() => {
    const bytes = Buffer.from(small, 'base64');
    bytes.writeUInt32BE(50_000, 16);
    bytes.writeUInt32BE(50_000, 20);
    return bytes.toString('base64');
  })();

  test.each([
    [{ image: undefined, operation: 'colorization' }, 'image is required', 'image'],
    [{}, 'Invalid operation', 'operation'],
    [{ operation: 'constructor' }, 'Invalid operation', 'operation'],
    [{ operation: 'inpainting', prompt: 'x' }, 'mask is required for inpainting', 'mask'],
    [{ operation: 'inpainting', mask: small }, 'prompt is required for inpainting', 'prompt'],
    [{ operation: 'objectRemoval' }, 'mask is required for objectRemoval', 'mask'],
    [{ operation: 'objectRemoval', mask: small }, 'mask must have the same dimensions as the image', 'mask'],
    [{ operation: 'outpainting' }, 'direction is required for outpainting', 'direction'],
    [
      { operation: 'backgroundReplace' },
      'new_background is required for backgroundReplace',
      'new_background',
    ],
    [{ operation: 'styleTransfer' }, 'prompt is required for styleTransfer', 'prompt'],
    [{ operation: 'superResolution', scale: 3 }, 'scale must be 2 or 4', 'scale'],
    [{ operation: 'colorization', strength: 1.1 }, 'strength must be between 0 and 1', 'strength'],
    [{ operation: 'colorization', model_inputs: { cfg: 1 } }, 'Unknown model input: cfg', 'model_inputs'],
    [{ operation: 'colorization', size: '1x1' }, 'Unknown parameter: size', 'size'],
    [{ operation: 'colorization', image: SVG }, 'image must be a JPEG, PNG or WebP image', 'image'],
    [{ operation: 'colorization', image: bomb }, 'image must have at most 50400000 pixels', 'image'],
    [{ operation: 'colorization', image: 'http://127.0.0.1/x.png' }, 'Invalid URL', 'image'],
    [
      { operation: 'colorization', image: pngBomb(7100).toString('base64') },
      'image must have at most 50400000 pixels',
      'image',
    ],
  ])('%# is a 400 with its message', async (body, error, param) => {
    expect(await edit(body)).toMatchObject({ status: 400, body: { error, param, code: 'invalid_request' } });
  });
});
