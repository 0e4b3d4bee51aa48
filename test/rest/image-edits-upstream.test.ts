import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let upstream: NativeUpstream;
let penstock: TestServer;
let key: string;

const WIDTH = 160;
const HEIGHT = 120;

interface Edited {
  data: { url: string; width: number; height: number }[];
  error?: string;
}

const plain = (background: string, width = WIDTH, height = HEIGHT) =>
  sharp({ create: { width, height, channels: 3 as const, background } });

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const green = await plain('#00ff00', 1536, 1024).png().toBuffer();
  upstream.on('/v1/images/edits', { body: { data: [{ b64_json: green.toString('base64') }] } });
  const model = { id: 'openai/edit', upstreamId: 'gpt-image-1', type: 'image_edit', tier: 'standard' };
  penstock = await startPenstock({
    providers: {
      providers: [
        {
          id: 'openai',
          kind: 'openai',
          baseUrl: `${upstream.origin}/v1`,
          apiKey: 'sk-edit-0123',
          models: [model],
        },
      ],
    },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await penstock.close();
  await upstream.close();
});

async function edit(body: Record<string, unknown>) {
  const image = (await plain('#ff0000').png().toBuffer()).toString('base64');
  const answer = await penstock.rest<Edited>('POST', '/images/edits', {
    key,
    body: { image, model: 'openai/edit', ...body },
  });
  expect(answer.body).toMatchObject({ data: [{ url: expect.any(String) }] });
  const [item] = answer.body.data;
  const { pathname, search } = new URL(item!.url);
  const bytes = Buffer.from(await (await fetch(`${penstock.origin}${pathname}${search}`)).arrayBuffer());
  const { data, info } = await sharp(bytes).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number): string => {
    const [r = 0, g = 0] = data.subarray((y * info.width + x) * 4);
    return r > 200 && g < 60 ? 'red' : g > 200 && r < 60 ? 'green' : 'other';
  };
  const { format, hasAlpha } = await sharp(bytes).metadata();
  return { item, format, hasAlpha, at };
}

test('an upstream paints inside the mask alone, whatever else it redrew', async () => {
  const square = await plain('#fff', 40, 40).png().toBuffer();
  const mask = await plain('#000')
    .composite([{ input: square, left: 60, top: 40 }])
    .png()
    .toBuffer();
  const made = await edit({ operation: 'inpainting', prompt: 'A tree', mask: mask.toString('base64') });
  expect(made.item).toMatchObject({ width: WIDTH, height: HEIGHT });
  expect(made.format).toBe('jpeg');
  expect([made.at(80, 60), made.at(10, 10)]).toEqual(['green', 'red']);
  const sent = upstream.requests.at(-1)!;
  expect(sent.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
  const form = sent.bytes.toString('latin1');
  expect(form).toContain('A tree');
  expect(form).toContain('name="mask"');
  expect(form).toContain('1536x1024');
});

test('an upstream extends a picture whose own part stays as it was', async () => {
  const made = await edit({ operation: 'outpainting', direction: 'right', expand_pixels: 40 });
  expect(made.item).toMatchObject({ width: WIDTH + 40, height: HEIGHT });
  expect([made.at(80, 60), made.at(WIDTH + 20, 60)]).toEqual(['red', 'green']);
});

test('an upstream removes a background as PNG that can be transparent, whatever form it came in', async () => {
  const made = await edit({ operation: 'backgroundRemoval' });
  expect([made.format, made.hasAlpha]).toEqual(['png', true]);
  expect(upstream.requests.at(-1)!.bytes.toString('latin1')).toContain(
    'name="background"\r\n\r\ntransparent',
  );
});
