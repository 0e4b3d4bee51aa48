import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createModelCatalogue } from '../../src/models/index.js';
import type { ModelCatalogue } from '../../src/models/index.js';
import { createProviderRegistry, ProvidersFileError } from '../../src/providers/index.js';
import type { ProviderRegistry } from '../../src/providers/index.js';
import { MODEL_TYPES } from '../../src/contract/words.js';

const logger = pino({ level: 'silent' });
let folder: string;
let file: string;

const acme = {
  id: 'acme',
  kind: 'openai-compatible',
  baseUrl: 'http://127.0.0.1:9/v1',
  apiKey: '${ACME_KEY}',
  models: [
    {
      id: 'acme/chat-1',
      upstreamId: 'chat-1',
      type: 'chat',
      tier: 'basic',
      multiplier: 1,
      contextWindow: 128000,
    },
    { id: 'acme/a/b', upstreamId: 'b', type: 'chat', tier: 'standard', price: { credits: 0.5 } },
    { id: 'openai/gpt-4.1', upstreamId: 'gpt-4.1', type: 'chat', tier: 'standard', multiplier: 1.75 },
  ],
};

async function open(content: unknown): Promise<{ providers: ProviderRegistry; models: ModelCatalogue }> {
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  const providers = await createProviderRegistry({
    file,
    env: { ACME_KEY: 'sk-acme' },
    logger,
  });
  return { providers, models: createModelCatalogue({ providers }) };
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-models-'));
  file = join(folder, 'providers.json');
});
afterAll(() => rm(folder, { recursive: true }));

describe('the model catalogue', () => {
  it('lists over 200 models, the sandbox of every type in every tier among them', async () => {
    const { models } = await open({});
    expect(models.list().length).toBeGreaterThan(200);
    for (const type of MODEL_TYPES) {
      const sandbox = models.list({ provider: 'sandbox', type, available: true });
      expect(new Set(sandbox.map((model) => model.tier)).size).toBe(3);
      expect(models.list({ type }).filter((model) => model.default).length).toBe(1);
    }
    expect(models.list({ available: true }).every((model) => model.provider === 'sandbox')).toBe(true);
  });

  it('has the defaults of the contract', async () => {
    const { models } = await open({});
    const tiers = MODEL_TYPES.map((type) => [type, models.resolve(type, null).tier]);
    expect(Object.fromEntries(tiers)).toMatchObject({
      chat: 'basic',
      image: 'standard',
      video: 'standard',
      tts: 'standard',
      stt: 'fast',
    });
    expect(models.resolve('music', undefined).maxDurationSeconds).toBe(47);
    expect(models.resolve('music', 'sandbox/music-basic').maxDurationSeconds).toBe(60);
    expect(models.resolve('image_edit', null, 'backgroundRemoval').tier).toBe('fast');
    expect(models.resolve('image_edit', null, 'inpainting').tier).toBe('standard');
  });

  it('refuses unknown ids, those of another type and those that nobody configured', async () => {
    const { models } = await open({});
    expect(() => models.resolve('chat', 'nobody/nothing')).toThrow('Unknown model: nobody/nothing');
    expect(() => models.resolve('chat', 'sandbox/image-basic')).toThrow('Unknown model: sandbox/image-basic');
    expect(() => models.resolve('chat', 'openai/gpt-4.1')).toThrow('Model not available: openai/gpt-4.1');
    expect(() => models.resolve('chat', '__proto__')).toThrow('Unknown model: __proto__');
  });

  it('takes models, prices, defaults and fallbacks from PROVIDERS_FILE', async () => {
    const { models } = await open({
      providers: [acme],
      defaults: { chat: 'acme/chat-1' },
      fallbacks: { 'acme/chat-1': ['acme/a/b'] },
    });
    expect(models.resolve('chat', undefined)).toMatchObject({
      id: 'acme/chat-1',
      default: true,
      contextWindow: 128000,
    });
    expect(models.find('sandbox/chat-basic')?.default).toBe(false);
    expect(models.find('acme%2Fa%2Fb')).toMatchObject({
      multiplier: 150,
      pricing: { credits: 0.5, amount: 1 },
      available: true,
    });
    expect(models.fallbacks('acme/chat-1').map((model) => model.id)).toEqual(['acme/a/b']);
    expect(models.find('openai/gpt-4.1')).toMatchObject({
      available: true,
      multiplier: 175,
      contextWindow: 1047576,
    });
  });

  it('has no default where the sandbox is off and the file names none', async () => {
    const { models } = await open({ providers: [acme], sandbox: false });
    expect(models.list({ provider: 'sandbox' })).toEqual([]);
    expect(() => models.resolve('chat', null)).toThrow('model is required');
  });

  it.each([
    ['an unknown key', { providers: [{ ...acme, api_base: 'x' }] }, 'api_base'],
    ['an unset variable', { providers: [{ ...acme, apiKey: '${NOT_SET}' }] }, 'NOT_SET'],
    [
      'a tier of another kind',
      { providers: [{ ...acme, models: [{ ...acme.models[0], tier: 'fast' }] }] },
      'tier',
    ],
    [
      'three decimals',
      { providers: [{ ...acme, models: [{ ...acme.models[0], multiplier: 1.125 }] }] },
      'decimals',
    ],
    ['a key of two lines', { providers: [{ ...acme, apiKey: 'sk-a\nsk-b' }] }, 'apiKey'],
    [
      'a password in an address',
      { providers: [{ ...acme, baseUrl: 'http://a:b@127.0.0.1/v1' }] },
      'password',
    ],
    [
      'an own field let through',
      { providers: [{ ...acme, allowedParameters: ['stream'] }] },
      'is set by Penstock',
    ],
    [
      'fields let through to another API',
      { providers: [{ id: 'a', kind: 'anthropic', apiKey: 'k', allowedParameters: ['top_k'] }] },
      'allowedParameters are for',
    ],
    [
      'the omission of a field that no model of its provider is sent',
      { providers: [{ id: 'a', kind: 'anthropic', apiKey: 'k', omit: ['top_k'] }] },
      'provider a: omit cannot name top_k',
    ],
    [
      'the omission of a field that a model of another type is sent',
      {
        providers: [
          {
            id: 'g',
            kind: 'google',
            apiKey: 'k',
            models: [{ id: 'g/i', upstreamId: 'i', type: 'image', tier: 'basic', omit: ['size', 'top_p'] }],
          },
        ],
      },
      'model g/i: omit cannot name top_p',
    ],
    ...[
      'model',
      'messages',
      'stream',
      'max_tokens',
      'max_completion_tokens',
      'input',
      'prompt',
      'file',
      'image',
      'mask',
    ].map(
      (name) =>
        [
          `the omission of ${name}`,
          { providers: [{ ...acme, omit: [name] }] },
          'is needed in each request',
        ] as [string, object, string],
    ),
    [
      'the omission of what a request needs, in a model’s entry',
      {
        providers: [
          {
            ...acme,
            models: [{ id: 'acme/x', upstreamId: 'x', type: 'chat', tier: 'basic', omit: ['messages'] }],
          },
        ],
      },
      'is needed in each request',
    ],
    [
      'an omission that is no name',
      { providers: [{ ...acme, omit: ['a b'] }] },
      'must be the name of a request field',
    ],
    ['omissions that are no list', { providers: [{ ...acme, omit: 'seed' }] }, 'providers.0.omit'],
    [
      'too many omissions',
      { providers: [{ ...acme, omit: Array.from({ length: 101 }, (_, at) => `f${at}`) }] },
      'providers.0.omit',
    ],
    ['a provider twice', { providers: [acme, acme] }, 'occurs twice'],
    ['a default that is not there', { defaults: { chat: 'no/such' } }, 'defaults.chat'],
    [
      'a fallback of another type',
      { fallbacks: { 'sandbox/chat-basic': ['sandbox/tts-fast'] } },
      'fallbacks.sandbox/chat-basic',
    ],
    [
      'an alias that is the id of a model',
      { aliases: { 'sandbox/chat-basic': 'sandbox/chat-standard' } },
      'aliases.sandbox/chat-basic: is the id of a model',
    ],
    [
      'an alias of no available model',
      { aliases: { 'gpt-*': 'openai/gpt-4o' } },
      'aliases.gpt-*: openai/gpt-4o is not an available model',
    ],
    ['a star in the middle of an alias', { aliases: { 'a*b': 'sandbox/chat-basic' } }, 'aliases.a*b'],
    ['two stars in an alias', { aliases: { 'a**': 'sandbox/chat-basic' } }, 'aliases.a**'],
    ['broken JSON', '{', 'not JSON'],
  ])('refuses a file with %s and says so', async (_name, content, message) => {
    const fault = await open(content).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(ProvidersFileError);
    expect((fault as Error).message).toContain(message);
  });

  it('quotes nothing of a file that is no JSON, for a key may stand there, and names the line', async () => {
    const fault = await open('{"providers":\n[{"id":"acme","apiKey":sk-VERYSECRET}]}').catch(
      (error: unknown) => error,
    );
    expect((fault as Error).message).toContain("is not JSON: Unexpected token 's' in line 2");
    expect((fault as Error).message).not.toMatch(/VERY|apiKey/);
  });

  it('keeps the old settings where a reload finds a fault, and takes good ones', async () => {
    const { providers, models } = await open({ providers: [acme], defaults: { chat: 'acme/chat-1' } });
    const before = providers.find('acme');
    await writeFile(file, JSON.stringify({ providers: [acme], defaults: { chat: 'acme/none' } }));
    await expect(providers.reload()).rejects.toThrow('acme/none');
    expect(providers.find('acme')).toBe(before);
    expect(models.resolve('chat', null).id).toBe('acme/chat-1');
    await writeFile(
      file,
      JSON.stringify({ providers: [acme], sandbox: false, defaults: { chat: 'acme/a/b' } }),
    );
    await providers.reload();
    expect(providers.find('sandbox')).toBeNull();
    expect(models.resolve('chat', null).id).toBe('acme/a/b');
    await providers.close();
  });

  it("prices the catalogue's chat models, an entry's own versions first, the sandbox at nothing, and no other", async () => {
    const priced = { ...acme.models[0], cost: [{ input: '0.40', output: 2 }] };
    const { models } = await open({
      providers: [{ ...acme, models: [priced, acme.models[1], acme.models[2]] }],
    });
    const costOf = (id: string) => models.find(id)?.cost;
    expect(costOf('acme/chat-1')).toMatchObject([{ from: 'start', rates: { input: 400_000_000_000n } }]);
    expect(costOf('acme/a/b')).toEqual([]);
    // As the package has it, though the entry has another name, tier and multiplier.
    expect(costOf('openai/gpt-4.1')).toMatchObject([{ rates: { input: 2_000_000_000_000n } }]);
    expect(costOf('openai/gpt-4.1')?.[0]?.from).toMatch(/^\d{4}-\d\d-\d\d$/);
    expect(costOf('sandbox/image-basic')).toMatchObject([{ rates: { image: 0n, input: 0n } }]);
    expect(costOf('openai/whisper-1')).toEqual([]);
  });
});
