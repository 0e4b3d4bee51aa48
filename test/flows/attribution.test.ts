import { createClient } from 'graphql-ws';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { attributionOf } from '../../src/metering/index.js';
import type { AdmissionRequest, CallContext } from '../../src/metering/index.js';
import { makeAgent, runAgent } from '../support/agents.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { at, type V1 } from '../v1/v1.js';

let penstock: TestServer;
let key: string;
let call: V1;
const admitted: AdmissionRequest[] = [];
beforeAll(async () => {
  penstock = await startPenstock({ plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } } });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
  call = at(penstock, '');
  const { metering } = penstock.services;
  const admit = metering.admit.bind(metering);
  metering.admit = (request) => {
    if (request.operation !== undefined) admitted.push(request);
    return admit(request);
  };
});
afterAll(() => penstock.close());
beforeEach(() => admitted.splice(0));

const messages = [{ role: 'user', content: 'Hello' }];
const LONG = 'u'.repeat(257);
const send = (path: string, body: object, headers: Record<string, string> = {}) =>
  call('POST', path, { body, headers: { authorization: `Bearer ${key}`, ...headers } });
const tagged = { 'x-tags': 'team:red, web/chat' };
const ofTags = ['team:red', 'web/chat'];

describe.each<[string, string, object, object]>([
  ['chat of the contract', '/api/v1/chat/completions', { messages, max_tokens: 5 }, { user: 'u-1' }],
  ['embeddings', '/api/v1/embeddings', { input: 'a' }, { user: 'u-1' }],
  ['images, which are jobs', '/v1/images/generations', { prompt: 'a mill' }, { user: 'u-1' }],
  ['chat', '/v1/chat/completions', { messages, max_tokens: 5 }, { safety_identifier: 'u-1', user: 'u-2' }],
  ['completions', '/v1/completions', { prompt: 'a', max_tokens: 5 }, { user: 'u-1' }],
  ['responses', '/v1/responses', { input: 'a', max_output_tokens: 16 }, { safety_identifier: 'u-1' }],
  ['messages', '/v1/messages', { messages, max_tokens: 5 }, { metadata: { user_id: 'u-1' } }],
])('%s', (_, path, body, whose) => {
  test('carry the end user and the tags of their call to its admission', async () => {
    expect((await send(path, { ...body, ...whose }, tagged)).status).toBe(200);
    expect(admitted.map(({ attribution }) => attribution)).toEqual([{ endUser: 'u-1', tags: ofTags }]);
  });

  test('name nobody where their call does not', async () => {
    expect((await send(path, body)).status).toBe(200);
    expect(admitted.map(({ attribution }) => attribution)).toEqual([{ endUser: null, tags: [] }]);
  });

  test('are refused before they are admitted where the end user is too long, or a tag is none', async () => {
    const long = JSON.parse(JSON.stringify({ ...body, ...whose }).replace('"u-1"', `"${LONG}"`)) as object;
    const answers = [
      await send(path, long),
      await send(path, body, { 'x-tags': 'no tag' }),
      await send(path, body, { 'x-tags': Array.from({ length: 11 }, (__, index) => `t${index}`).join() }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400]);
    const said = answers.map((answer) => JSON.stringify(answer.body));
    expect(said[0]).toContain('must be at most 256 characters');
    expect(said[1]).toContain('X-Tags');
    expect(admitted).toEqual([]);
  });
});

test('the param of a refusal names the field, or the header', async () => {
  const paramOf = async (more: object, headers = {}) =>
    ((await send('/api/v1/chat/completions', { messages, ...more }, headers)).body as { param: string })
      .param;
  expect(await paramOf({ user: LONG })).toBe('user');
  expect(await paramOf({ metadata: { user_id: LONG } })).toBe('metadata');
  expect(await paramOf({ metadata: { tags: ['a b'] } })).toBe('metadata');
  expect(await paramOf({ metadata: { tags: 7 } })).toBe('metadata');
  expect(await paramOf({}, { 'x-tags': 'ä' })).toBe('X-Tags');
});

test('GraphQL takes both from the input, over HTTP', async () => {
  const { errors } = await penstock.graphql(
    'mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { id } }',
    { key, variables: { input: { messages, maxTokens: 5, user: 'u-1', metadata: { tags: ofTags } } } },
  );
  expect(errors).toEqual([]);
  expect(admitted.map(({ attribution }) => attribution)).toEqual([{ endUser: 'u-1', tags: ofTags }]);
});

test('a WebSocket gives its tags once, for all of its calls', async () => {
  const client = createClient({
    url: penstock.wsUrl,
    webSocketImpl: WebSocket,
    connectionParams: { authorization: `Bearer ${key}`, headers: { 'X-Tags': 'team:red,web/chat' } },
  });
  const query = 'subscription ($input: ChatCompletionInput!) { chatCompletion(input: $input) { id } }';
  try {
    for await (const item of client.iterate({ query, variables: { input: { messages, maxTokens: 5 } } }))
      expect(item.errors).toBeUndefined();
  } finally {
    await client.dispose();
  }
  expect(admitted.map(({ attribution }) => attribution)).toEqual([{ endUser: null, tags: ofTags }]);
});

test("an agent's calls carry their run's, and name it as their parent", async () => {
  const id = await makeAgent(penstock, key, { tools: ['generate_text'] });
  const { runId } = await runAgent(penstock, key, id, { input: 'Write a poem about a weir.', user: 'u-1' });
  const [own, ...others] = admitted;
  expect(own).toMatchObject({ attribution: { endUser: 'u-1', tags: [] }, operation: { runId } });
  expect(own?.operation?.parent).toBeUndefined();
  expect(others.length).toBeGreaterThan(1);
  for (const one of others)
    expect(one).toMatchObject({ attribution: { endUser: 'u-1', tags: [] }, operation: { parent: runId } });
});

test("a key's own end user wins, and its tags come first, once each, ten in all", () => {
  const stamped = (tags: string[]) =>
    ({ principal: { stamps: { endUser: 'own', tags } }, tagsHeader: 'b,c' }) as unknown as CallContext;
  expect(attributionOf(stamped(['a', 'b']), { user: 'u-1', metadata: { tags: 'd' } })).toEqual({
    endUser: 'own',
    tags: ['a', 'b', 'c', 'd'],
  });
  const nine = Array.from({ length: 9 }, (_, index) => `t${index}`);
  expect(() => attributionOf(stamped(nine), {})).toThrow('at most 10 tags');
});
