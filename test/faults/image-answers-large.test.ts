import { randomFillSync } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

/** Noise, which nothing packs. Four times as large each way it is a PNG of nearly 90 MB. */
const FROM = { width: 1536, height: 1024, channels: 4 } as const;
const SIZE = { width: FROM.width * 4, height: FROM.height * 4 };
const COUNT = 5;
/** What a string of JavaScript can hold. */
const LONGEST_STRING = 536_870_888;

let upstream: NativeUpstream;
let penstock: TestServer;

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const noise = randomFillSync(Buffer.allocUnsafe(FROM.width * FROM.height * FROM.channels));
  const png = await sharp(noise, { raw: FROM }).png().toBuffer();
  const data = [{ b64_json: png.toString('base64'), revised_prompt: 'much “noise”' }];
  upstream.on('/v1/images/generations', { body: { created: 1, data } });
  const model = { id: 'acme/paint', upstreamId: 'paint', type: 'image', tier: 'standard' };
  const acme = { id: 'acme', kind: 'openai-compatible', baseUrl: `${upstream.origin}/v1`, apiKey: 'k' };
  penstock = await startPenstock({
    providers: { providers: [{ ...acme, models: [model] }] },
    env: { SYNC_TIMEOUT_MS: '280000' },
  });
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

/** Where the value of the first field of this name begins behind `from`; its end is the next quotation mark. */
function valueAt(body: Buffer, from: number): { start: number; end: number } {
  const start = body.indexOf('"b64_json":"', from) + '"b64_json":"'.length;
  return { start, end: body.indexOf('"', start) };
}

test('pictures that are longer together than a string can be are answered as base64', async () => {
  const { key } = await penstock.createOrg({ plan: 'business_monthly' });
  const asked = { model: 'acme/paint', prompt: 'noise', n: COUNT, size: '1536x1024', upscale: '4x' };
  const answer = await fetch(`${penstock.origin}/api/v1/images/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...asked, response_format: 'b64_json' }),
  });
  const body = Buffer.from(await answer.arrayBuffer());
  expect([answer.status, body.length > LONGEST_STRING]).toEqual([200, true]);

  // The files are taken out; what is left is the JSON of the answer.
  const around: string[] = [];
  let from = 0;
  for (let nth = 0; nth < COUNT; nth++) {
    const { start, end } = valueAt(body, from);
    around.push(body.toString('utf8', from, start));
    const file = Buffer.from(body.toString('latin1', start, end), 'base64');
    expect(await sharp(file, { limitInputPixels: false }).metadata()).toMatchObject({
      format: 'png',
      ...SIZE,
    });
    from = end;
  }
  const item = { b64_json: '', revised_prompt: 'much “noise”', ...SIZE };
  expect(JSON.parse(around.join('') + body.toString('utf8', from))).toMatchObject({
    data: Array.from({ length: COUNT }, () => item),
    model: 'acme/paint',
    usage: { generations_used: COUNT },
  });
});
