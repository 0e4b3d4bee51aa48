import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;
let agentId: string;
const ajv = new Ajv2020({ strict: false, validateFormats: false });

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  agentId = await makeAgent(server, key);
  const description = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as object;
  ajv.addSchema({ ...description, $id: 'api' });
  const ofMakers = (await (await fetch(`${server.origin}/v1/openapi.json`)).json()) as object;
  ajv.addSchema({ ...ofMakers, $id: 'v1' });
});
afterAll(() => server?.close());

/** Whether a description takes a body. */
function describedBy(document: 'api' | 'v1', path: string, body: object): true | string {
  const place = ['paths', path, 'post', 'requestBody', 'content', 'application/json', 'schema'];
  const pointer = place.map((name) => encodeURIComponent(name.replaceAll('/', '~1'))).join('/');
  return ajv.validate({ $ref: `${document}#/${pointer}` }, body) || ajv.errorsText();
}

/** Whether the server, and whether its description, takes a body. */
async function takenBy(path: string, body: object) {
  const answer = await server.rest('POST', path.replace('{id}', agentId), { key, body });
  return {
    server: answer.status === 200 || [answer.status, answer.body],
    description: describedBy('api', path, body),
  };
}

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const user = { role: 'user', content: 'Hello' };
const call = { name: 'weather', arguments: '{}' };
const messages = (...list: object[]) => ({ messages: list, max_tokens: 3 });

describe('a chat that the server takes is one that the description takes', () => {
  it.each<[string, object]>([
    ['an assistant that refused', messages({ role: 'assistant', content: null, refusal: 'No' }, user)],
    [
      'a refusal as a part',
      messages({ role: 'assistant', content: [{ type: 'refusal', refusal: 'No' }] }, user),
    ],
    ['a function call', messages({ role: 'assistant', content: null, function_call: call }, user)],
    [
      'tool calls and their answer',
      messages(
        user,
        { role: 'assistant', tool_calls: [{ id: 'a', type: 'function', function: call }] },
        { role: 'tool', content: 'Rain', tool_call_id: 'a' },
      ),
    ],
    [
      'a message as an answer has it, every field there',
      messages(user, { role: 'assistant', content: 'Hi', refusal: null, tool_calls: null, name: null }, user),
    ],
    ['a picture without words', messages({ role: 'user', images: [PIXEL] })],
    [
      'a picture without an object',
      messages({ role: 'user', content: [{ type: 'image_url', image_url: PIXEL }] }),
    ],
    [
      'a tool whose description and parameters are null',
      {
        ...messages(user),
        tools: [{ type: 'function', function: { name: 'a', description: null, parameters: null } }],
      },
    ],
  ])('%s', async (_what, body) => {
    expect(await takenBy('/chat/completions', body)).toEqual({ server: true, description: true });
  });
});

describe('a chat that the server refuses is none that the description takes', () => {
  it.each<[string, object]>([
    ['a user without content', messages({ role: 'user', content: null })],
    ['a user that refused', messages({ role: 'user', content: null, refusal: 'No' })],
    ['an assistant without anything', messages({ role: 'assistant', content: null, tool_calls: null }, user)],
    ['no picture and no words', messages({ role: 'user', images: [] })],
    [
      'a call without arguments',
      messages({ role: 'assistant', content: 'x', function_call: { name: 'a' } }, user),
    ],
    ['tool calls that are no list', messages({ role: 'assistant', content: 'x', tool_calls: {} }, user)],
    ['a JSON schema that is absent', { ...messages(user), response_format: { type: 'json_schema' } }],
    ['a numbered tool call', messages({ role: 'tool', content: 'x', tool_call_id: 1 })],
  ])('%s', async (_what, body) => {
    const { server: answer, description } = await takenBy('/chat/completions', body);
    expect(answer).toEqual([400, expect.objectContaining({ code: 'invalid_request' })]);
    expect(description).not.toBe(true);
  });
});

it('an answer whose message calls a function is described with it, whole and as chunks', async () => {
  const body = { ...messages(user), functions: [{ name: 'weather' }], function_call: { name: 'weather' } };
  const path = '/chat/completions';
  interface Said {
    choices: { message: object; delta: object }[];
  }
  const whole = await server.rest<Said>('POST', path, { key, body });
  const message = whole.body.choices[0]!.message;
  expect(message).toHaveProperty('function_call');
  expect(Object.keys(message).filter((name) => !described('ChatCompletion', 'message', name))).toEqual([]);
  const { events } = await server.events('POST', path, { key, body: { ...body, stream: true } });
  const deltas: object[] = [];
  for await (const { data } of events)
    if (data !== '[DONE]') deltas.push(...(JSON.parse(data) as Said).choices.map(({ delta }) => delta));
  const names = deltas.flatMap((delta) => Object.keys(delta));
  expect(names).toContain('function_call');
  expect(names.filter((name) => !described('ChatCompletionChunk', 'delta', name))).toEqual([]);
});

/** The schema of a field of a choice's message in a component of the description. */
function described(component: string, part: string, name: string): unknown {
  const path = ['properties', 'choices', 'items', 'properties', part, 'properties', name];
  return ajv.getSchema(`api#/components/schemas/${component}/${path.join('/')}`);
}

describe('the earlier messages of a run', () => {
  const input = 'Hello';

  it('are taken by the server and the description alike', async () => {
    const body = { input, conversation_history: [user, { role: 'assistant', content: 'Hi' }] };
    expect(await takenBy('/agents/{id}/run', body)).toEqual({ server: true, description: true });
  });

  it.each<[string, object]>([
    ['a further field', { ...user, name: 'Ann' }],
    ['another role', { ...user, role: 'system' }],
    ['no content', { role: 'user' }],
  ])('are refused by both: %s', async (_what, message) => {
    const { server: answer, description } = await takenBy('/agents/{id}/run', {
      input,
      conversation_history: [message],
    });
    expect(answer).toEqual([400, expect.objectContaining({ code: 'invalid_request' })]);
    expect(description).not.toBe(true);
  });
});

it.each(['/images/generations', '/videos/generations', '/music/generations'])(
  'what is longer than %s takes is longer than its description takes',
  async (path) => {
    for (const field of ['prompt', 'negative_prompt']) {
      const refused = await takenBy(path, { prompt: 'x', [field]: 'n'.repeat(32_001) });
      const error = `${field} exceeds maximum length of 32000 characters`;
      expect(refused.server).toEqual([400, expect.objectContaining({ error, param: field })]);
      expect(refused.description).toContain('must NOT have more than 32000 characters');
    }
  },
);

describe('at /v1 the server and the description agree', () => {
  const asked = { messages: [user], max_tokens: 2000 };
  const edit = { image: PIXEL, prompt: 'A sketch' };
  const draw = { prompt: 'A fox', size: '512x512' };

  async function statusOf(path: string, body: object): Promise<number> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    const answer = await fetch(`${server.origin}/v1${path}`, request);
    await answer.arrayBuffer();
    return answer.status;
  }

  it.each<[string, string, object]>([
    ['any user of a picture', '/images/generations', { ...draw, user: {} }],
    ['any user of an edit', '/images/edits', { ...edit, user: 1 }],
    ['a mask that is null', '/images/edits', { ...edit, mask: null }],
    ['further pictures that are none', '/images/edits', { ...edit, images: [] }],
    ['a name that no choice reads', '/messages', { ...asked, tool_choice: { type: 'any', name: 1 } }],
    ['thinking whose type is null', '/messages', { ...asked, thinking: { type: null, budget_tokens: 'x' } }],
    ['the name of a tool of the maker', '/responses', { input: 'x', tools: [{ type: 'mcp', name: 1 }] }],
  ])('that they take %s', async (_what, path, body) => {
    expect(describedBy('v1', path, body)).toBe(true);
    expect(await statusOf(path, body)).toBe(200);
  });

  it.each<[string, string, object]>([
    ['an echo that is no flag', '/completions', { prompt: 'x', echo: {} }],
    ['words that the operation does not read', '/images/edits', { ...edit, new_background: {} }],
    ['too many such words', '/images/edits', { ...edit, new_background: 'n'.repeat(32_001) }],
    ['a choice without the tool', '/messages', { ...asked, tool_choice: { type: 'tool' } }],
    ['a choice without a type', '/messages/count_tokens', { messages: [user], tool_choice: {} }],
    ['a small budget', '/messages', { ...asked, thinking: { type: 'enabled', budget_tokens: 1 } }],
    ['a function without a name', '/responses', { input: 'x', tools: [{ type: 'function' }] }],
  ])('that they refuse %s', async (_what, path, body) => {
    expect(describedBy('v1', path, body)).not.toBe(true);
    expect(await statusOf(path, body)).toBe(400);
  });
});

describe('a client token', () => {
  it('that is bound to an unknown agent is a described 404', async () => {
    const { status } = await server.rest('POST', '/client-tokens', {
      key,
      body: { scopes: ['chat'], agent_id: 'x' },
    });
    expect(status).toBe(404);
    expect(ajv.getSchema('api#/paths/~1client-tokens/post/responses/404')).toBeDefined();
  });

  it.each([
    ['a rate of 0', 'rate', { rate: { rpm: 0, burst: 1 } }],
    ['two caps', 'budget_usd', { credits: 5, budget_usd: '1.5' }],
    ['a cap of nothing', 'budget_usd', { budget_usd: '0.00' }],
    ['two objects', 'agent_id', { job_id: 'x', agent_id: 'y' }],
  ])('with %s is refused by both', async (_what, param, fields) => {
    const refused = await takenBy('/client-tokens', { scopes: ['chat'], ...fields });
    expect(refused.server).toEqual([400, expect.objectContaining({ param })]);
    expect(refused.description).not.toBe(true);
  });

  it('with one cap and nulls beside it is accepted by both', async () => {
    const accepted = await takenBy('/client-tokens', {
      scopes: ['chat'],
      ...{ budget_usd: '0.5', credits: null, job_id: null, agent_id: null },
    });
    expect(accepted).toEqual({ server: true, description: true });
  });
});
