import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CHATS, creditsUsed, startMakers } from '../support/makers.js';
import type { Makers } from '../support/makers.js';
import type { NativeUpstream } from '../support/native-upstream.js';
import type { TestServer } from '../support/server.js';

const MODELS = {
  anthropic: { chat: 'claude-haiku-4-5' },
  'amazon-bedrock': { chat: 'amazon.nova-lite-v1:0' },
  cohere: { chat: 'command-a-03-2025' },
  google: { chat: 'gemini-2.5-flash' },
  mistral: { chat: 'mistral-small-latest' },
};
type Kind = keyof typeof MODELS;
/** Those whose API is another than the common convention. */
const OWN = ['anthropic', 'amazon-bedrock', 'cohere', 'google'] as const;

let makers: Makers;
let penstock: TestServer;
let upstream: NativeUpstream;
let key: string;

beforeAll(async () => {
  makers = await startMakers(MODELS);
  ({ penstock, upstream } = makers);
});
afterAll(() => makers?.close());
beforeEach(async () => {
  upstream.clear();
  for (const [path, reply] of CHATS) upstream.on(path, reply);
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});

const ask = (kind: Kind, body: object) =>
  penstock.rest('POST', '/chat/completions', {
    key,
    body: { model: `${kind}/chat`, messages: [{ role: 'user', content: 'Hi' }], ...body },
  });

/** The request that the maker got of a call that went well. */
async function sent(kind: Kind, body: object): Promise<Record<string, unknown>> {
  expect(await ask(kind, body)).toMatchObject({ status: 200 });
  return upstream.requests.at(-1)!.json;
}

async function expectRefused(kind: Kind, [what, body]: readonly [string, object]): Promise<void> {
  expect(await ask(kind, body)).toMatchObject({
    status: 400,
    body: { error: `Model ${MODELS[kind].chat} does not support ${what}`, code: 'invalid_request' },
  });
}

const PNG = 'iVBORw0KGgo=';
const picture = (detail?: string) => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${PNG}`, ...(detail === undefined ? {} : { detail }) },
});
const looking = (detail: string) => [{ role: 'user', content: [picture(detail)] }];
const SAMPLES = [
  ['logprobs', { logprobs: true, top_logprobs: 3 }],
  ['top_logprobs', { top_logprobs: 3 }],
  ['logit_bias', { logit_bias: { 5: -100 } }],
  ['verbosity', { verbosity: 'low' }],
] as const;

describe('a parameter that a maker has no word for', () => {
  it.each(OWN)('is a 400 that names it, instead of left out, and free (%s)', async (kind) => {
    for (const refused of [
      ...SAMPLES,
      ['prediction', { prediction: { type: 'content', content: 'Hi' } }],
      ['this reasoning_effort', { reasoning_effort: 'default' }],
    ] as const)
      await expectRefused(kind, refused);
    expect(upstream.requests).toEqual([]);
    expect(await creditsUsed(penstock, key)).toBe(0);
  });

  it('is one at Mistral too, which gets the convention', async () => {
    for (const refused of SAMPLES) await expectRefused('mistral', refused);
    for (const stream of [true, false])
      expect(await ask('mistral', { logprobs: true, stream })).toMatchObject({ status: 400 });
    expect(upstream.requests).toEqual([]);
    expect(await creditsUsed(penstock, key)).toBe(0);
  });

  it.each([...OWN, 'mistral' as const])(
    'is left out where it asks for nothing, or tells nothing of the answer (%s)',
    async (kind) => {
      const plain = { logprobs: false, top_logprobs: 0, logit_bias: {} };
      const callers = { user: 'u1', safety_identifier: 's1', prompt_cache_key: 'p1' };
      const body = JSON.stringify(await sent(kind, { ...plain, ...callers }));
      expect(body).not.toMatch(/logprobs|logit_bias|u1|s1|p1/);
    },
  );
});

it('Mistral is told how much to think and what is expected, and judges that itself', async () => {
  const body = { reasoning_effort: 'high', prediction: { type: 'content', content: 'Hi' } };
  expect(await sent('mistral', body)).toMatchObject(body);
});

describe('a picture', () => {
  it.each(OWN)('is refused where the maker takes none: outside of a user’s message (%s)', async (kind) => {
    const asked = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } };
    const before = { role: 'user', content: 'Hi' };
    for (const role of ['system', 'assistant'])
      await expectRefused(kind, [
        `pictures in ${role} messages`,
        { messages: [{ role, content: 'See', images: [PNG] }, before] },
      ]);
    await expectRefused(kind, [
      'pictures in tool messages',
      {
        messages: [
          before,
          { role: 'assistant', content: null, tool_calls: [asked] },
          { role: 'tool', tool_call_id: 'c1', content: [picture()] },
        ],
      },
    ]);
    expect(upstream.requests).toEqual([]);
  });

  it('goes with its detail to Cohere; others, who look closely, refuse to look less so', async () => {
    expect(await sent('cohere', { messages: looking('low') })).toMatchObject({
      messages: [{ content: [{ type: 'image_url', image_url: { detail: 'low' } }] }],
    });
    for (const kind of ['anthropic', 'amazon-bedrock', 'google'] as const) {
      await expectRefused(kind, ['image_url.detail', { messages: looking('low') }]);
      for (const usual of ['auto', 'high']) await sent(kind, { messages: looking(usual) });
    }
  });
});

it.each(OWN)('%s is told in words who speaks, and what was refused', async (kind) => {
  const messages = [
    { role: 'user', name: 'Ann', content: 'Hello' },
    { role: 'assistant', name: 'Bob', content: [{ type: 'refusal', refusal: 'I will not' }] },
    { role: 'assistant', content: null, refusal: 'Never' },
    { role: 'user', name: 'Cy', content: [picture(), { type: 'text', text: 'And this?' }] },
  ];
  const body = JSON.stringify(await sent(kind, { messages }));
  for (const said of ['"Ann: Hello"', 'Bob: I will not', 'Never', '"Cy:"', '"And this?"'])
    expect(body).toContain(said);
});

describe('Bedrock, asked for JSON beside tools', () => {
  const f = { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } };
  const format = { response_format: { type: 'json_object' }, tools: [f] };
  const offered = async (tool_choice: unknown) => {
    const { toolConfig } = (await sent('amazon-bedrock', { ...format, tool_choice })) as {
      toolConfig: { tools: { toolSpec: { name: string } }[]; toolChoice: object };
    };
    return [toolConfig.tools.map(({ toolSpec }) => toolSpec.name), toolConfig.toolChoice];
  };

  it('offers no tool that the caller forbade, and no way around one that the caller demands', async () => {
    expect(await offered('none')).toEqual([['json'], { any: {} }]);
    expect(await offered('auto')).toEqual([['f', 'json'], { any: {} }]);
    expect(await offered('required')).toEqual([['f'], { any: {} }]);
    expect(await offered({ type: 'function', function: { name: 'f' } })).toEqual([
      ['f'],
      { tool: { name: 'f' } },
    ]);
  });
});
