import sharp from 'sharp';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { waveOf } from '../support/audio.js';
import { startNativeUpstream } from '../support/native-upstream.js';
import type { NativeReply, NativeRequest, NativeUpstream } from '../support/native-upstream.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let upstream: NativeUpstream;
let penstock: TestServer;
let key: string;
let made: Record<string, NativeReply>;
let image: string;

/** A model of its own for each field and kind: what it refuses is remembered. */
const FIELDS = {
  image: ['response_format', 'size', 'n'],
  image_edit: ['response_format', 'n'],
  tts: ['response_format'],
} as const;
type Kind = keyof typeof FIELDS;
const KINDS = Object.keys(FIELDS) as Kind[];
const CASES = KINDS.flatMap((kind) => FIELDS[kind].map((field) => [kind, field] as const));

const PATHS: Record<Kind, string> = {
  image: '/images/generations',
  image_edit: '/images/edits',
  tts: '/audio/speech',
};
const ASKED: Record<Kind, () => object> = {
  image: () => ({ prompt: 'A fox', size: '512x512' }),
  image_edit: () => ({ operation: 'styleTransfer', prompt: 'A fox', image }),
  tts: () => ({ input: 'Hi', response_format: 'wav' }),
};

beforeAll(async () => {
  upstream = await startNativeUpstream();
  const plain = sharp({ create: { width: 64, height: 64, channels: 3, background: '#00ff00' } });
  image = (await plain.png().toBuffer()).toString('base64');
  const wave = waveOf(Int16Array.from({ length: 16_000 }, (_, at) => Math.round(8000 * Math.sin(at / 12))));
  const drawn = { body: { data: [{ b64_json: image }] } };
  made = { image: drawn, image_edit: drawn, tts: { body: wave } };
  const entry = (kind: Kind, name: string, omit: readonly string[] = []) => ({
    id: `acme/${kind}-${name}`,
    upstreamId: `${kind}-${name}`,
    type: kind,
    tier: 'standard',
    omit,
  });
  const models = [
    ...CASES.map(([kind, field]) => entry(kind, field)),
    ...KINDS.flatMap((kind) => [entry(kind, 'omitted', FIELDS[kind]), entry(kind, 'seed')]),
  ];
  const retry = { retries: 0, backoffMs: 1 };
  const baseUrl = `${upstream.origin}/v1`;
  penstock = await startPenstock({
    providers: { providers: [{ id: 'acme', kind: 'openai-compatible', baseUrl, retry, models }] },
  });
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});
beforeEach(async () => {
  upstream.clear();
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});

/** Whether a request, JSON or a form, holds a field. */
const holds = (field: string, { bytes, json }: NativeRequest): boolean =>
  field in json || bytes.toString('latin1').includes(`name="${field}"`);
const told = (field: string) => upstream.requests.map((request) => holds(field, request));

function refuse(kind: Kind, field: string): void {
  const message = `Unsupported parameter: '${field}' is not supported with this model.`;
  upstream.on(PATHS[kind], (request) =>
    holds(field, request) ? { status: 400, body: { error: { message, param: field } } } : made[kind]!,
  );
}
const ask = (kind: Kind, name: string, more: object = {}) =>
  penstock.rest<{ error?: string }>('POST', PATHS[kind], {
    key,
    body: { model: `acme/${kind}-${name}`, ...ASKED[kind](), ...more },
  });

/** What the organisation has used of all its allowances. */
async function used(): Promise<number> {
  const { body } = await penstock.rest<{ quotas: Record<string, { used: number }> }>('GET', '/quota', {
    key,
  });
  return Object.values(body.quotas).reduce((sum, quota) => sum + quota.used, 0);
}

test.each(CASES)(
  '%s: %s that an upstream refuses is left out in one more try, charged once, and not sent again',
  async (kind, field) => {
    refuse(kind, field);
    expect(await ask(kind, field)).toMatchObject({ status: 200 });
    expect(told(field)).toEqual([true, false]);
    // Another body under one key would be refused.
    const keys = upstream.requests.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(2);
    const once = await used();
    expect(await ask(kind, field)).toMatchObject({ status: 200 });
    expect(told(field)).toEqual([true, false, false]);
    expect(once).toBeGreaterThan(0);
    expect(await used()).toBe(2 * once);
  },
);

test.each(KINDS)('%s: an entry says which fields its model is never sent', async (kind) => {
  upstream.on(PATHS[kind], made[kind]!);
  expect(await ask(kind, 'omitted')).toMatchObject({ status: 200 });
  expect(upstream.requests).toHaveLength(1);
  for (const field of FIELDS[kind]) expect([field, told(field)]).toEqual([field, [false]]);
});

test.each([
  ['image', 'seed', { seed: 7 }],
  ['tts', 'speed', { speed: 1.5 }],
  ['tts', 'voice', { voice: 'nova' }],
] as const)(
  '%s: what a caller asked for and its upstream refuses is a 400: %s',
  async (kind, field, more) => {
    refuse(kind, field);
    const { status, body } = await ask(kind, 'seed', more);
    expect([status, body.error]).toEqual([400, expect.stringContaining(field)]);
    expect(told(field)).toEqual([true]);
    expect(await used()).toBe(0);
  },
);
