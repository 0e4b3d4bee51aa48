import { getIntrospectionQuery } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ApiError } from '../../src/contract/errors.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'cli_team' }));
});
afterAll(() => server?.close());

interface Sent {
  body?: string;
  method?: string;
  headers?: Record<string, string>;
  search?: string;
}

async function send({ body, method = 'POST', headers = {}, search = '' }: Sent) {
  const response = await fetch(server.graphqlUrl + search, {
    method,
    ...(body === undefined ? {} : { body }),
    headers: {
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  const text = await response.text();
  const json = (text === '' ? {} : JSON.parse(text)) as {
    data?: unknown;
    errors?: { message: string; extensions: Record<string, unknown> }[];
  };
  return { status: response.status, headers: response.headers, json, errors: json.errors ?? [] };
}

const query = (text: string, accept?: string) =>
  send({ body: JSON.stringify({ query: text }), ...(accept === undefined ? {} : { headers: { accept } }) });

const aliases = (count: number, field: string, name = 'a') =>
  Array.from({ length: count }, (_, i) => `${name}${i}: ${field}`).join(' ');

const LONG = 'x'.repeat(250);

const refused: [string, () => string][] = [
  ['nests too deep', () => `{ viewer ${'{ organization '.repeat(17)}{ id }${' }'.repeat(17)} }`],
  ['costs too much', () => `{ ${aliases(12, 'jobs(first: 100) { nodes { id } }')} }`],
  ['asks a costly field 16 times', () => `mutation { ${aliases(16, 'cancelJob(id: "x") { success }')} }`],
  [
    'gives a field 16 aliases, wherever they stand',
    () =>
      `{ jobs { nodes { ${aliases(8, 'inputParams')} } nodes { ${aliases(16, 'inputParams').slice(8)} } } }`,
  ],
  ['asks for its own type under 16 names', () => `{ jobs { nodes { ${aliases(16, '__typename')} } } }`],
  ['asks for the schema ten times', () => `{ ${aliases(10, '__schema { types { name } }')} }`],
  ["repeats the schema's types", () => `{ __schema { ${aliases(16, 'types { name }')} } }`],
  [
    "repeats the fields of the schema's types, wherever they stand",
    () => `{ __schema { ${aliases(4, `types { ${aliases(4, 'fields { name }')} }`)} } }`,
  ],
  ['holds 60 directives', () => `{ penstockVersion { ${'api @skip(if: false) '.repeat(60)} } }`],
  ['has over 1,000 tokens', () => `{ ${'penstockVersion { api } '.repeat(260)} }`],
  ['has over 10,000 lines', () => `{ penstockVersion { api } } ${'#\r\n'.repeat(10_000)}`],
  [
    'has circular fragments',
    // not in the schema: the guard must refuse it
    () => '{ caller { ...a } } fragment a on Caller { ...b } fragment b on Caller { ...a }',
  ],
  [
    'multiplies fragments',
    () => {
      const steps = Array.from(
        { length: 14 },
        (_, i) => `fragment f${i} on Caller { ...f${i + 1} ...f${i + 1} }`,
      );
      return `{ caller { ...f0 } } ${steps.join(' ')} fragment f14 on Caller { id }`;
    },
  ],
  ['has a name of 256 letters', () => `{ models { ${'x'.repeat(256)}: id } }`],
  ['has long aliases in a page', () => `{ jobs(first: 100) { nodes { ${aliases(9, 'id', LONG)} } } }`],
  ["has long aliases of the schema's fields", () => `{ __schema { types { ${aliases(8, 'name', LONG)} } } }`],
  ['holds a NUL in a literal', () => '{ job(id: "a\\u0000b") { id } }'],
];

describe('a GraphQL document', () => {
  it.each(refused)('that %s is 400 with a code, whatever the client accepts', async (_what, text) => {
    for (const accept of ['application/json', 'application/graphql-response+json']) {
      const { status, errors } = await query(text(), accept);
      expect(status).toBe(400);
      expect(errors[0]?.extensions).toMatchObject({ code: 'invalid_request', httpStatus: 400 });
    }
  });

  it('refers to at most 1,000 entities, over all its fields', async () => {
    const text = `query ($one: [_Any!]!, $two: [_Any!]!) {
      one: _entities(representations: $one) { __typename } two: _entities(representations: $two) { __typename }
    }`;
    const models = (count: number) =>
      Array.from({ length: count }, () => ({ __typename: 'Model', id: 'sandbox/chat-basic' }));
    const ask = (one: number, two: number) =>
      send({ body: JSON.stringify({ query: text, variables: { one: models(one), two: models(two) } }) });
    expect(await ask(600, 400)).toMatchObject({ status: 200, errors: [] });
    const over = await ask(600, 401);
    expect(over).toMatchObject({ status: 400, errors: [{ extensions: { code: 'invalid_request' } }] });
  });

  it('refers to no more entities by the default of a variable', async () => {
    const models = '{ __typename: "Model", id: "sandbox/chat-basic" } '.repeat(70);
    const entities = (count: number) => aliases(count, '_entities(representations: $all) { __typename }');
    const ask = (count: number) => query(`query ($all: [_Any!]! = [${models}]) { ${entities(count)} }`);
    expect(await ask(14)).toMatchObject({ status: 200, errors: [] });
    expect(await ask(15)).toMatchObject({
      status: 400,
      errors: [{ extensions: { code: 'invalid_request' } }],
    });
  });

  it('with the size of a page in a variable costs what the variable says', async () => {
    const text = `query ($first: Int) { ${aliases(12, 'jobs(first: $first) { nodes { id } }')} }`;
    const small = await send({ body: JSON.stringify({ query: text, variables: { first: 5 } }) });
    expect(small.json.data).toBeTruthy();
    const large = await send({ body: JSON.stringify({ query: text, variables: { first: 100 } }) });
    expect(large.status).toBe(400);
    const byDefault = await send({ body: JSON.stringify({ query: text.replace('Int', 'Int = 5') }) });
    expect(byDefault.json.data).toBeTruthy();
    for (const variables of [{}, { first: null }]) {
      const ofUsualSize = await send({ body: JSON.stringify({ query: text, variables }) });
      expect(ofUsualSize.json.data).toBeTruthy();
    }
  });

  it('that introspects is 401 for a stranger, and passes with any key', async () => {
    const stranger = { authorization: 'Bearer nonsense' };
    const asked = await send({
      body: JSON.stringify({ query: '{ __schema { queryType { name } } }' }),
      headers: stranger,
    });
    expect(asked).toMatchObject({ status: 401, json: {} });
    expect(asked.json.data).toBeUndefined();
    const { status, json } = await query(getIntrospectionQuery());
    expect(status).toBe(200);
    expect(json.errors).toBeUndefined();
  });

  it('that guesses a name learns no other', async () => {
    // not in the schema: a wrong name
    const { errors } = await query('{ vewer { keyId } }');
    expect(errors[0]?.message).not.toContain('Did you mean');
    const variable = await send({
      body: JSON.stringify({
        query: 'query ($t: JobTool) { jobs(tool: $t) { nodes { id } } }',
        variables: { t: 'imag' },
      }),
    });
    expect(JSON.stringify(variable.json)).not.toContain('Did you mean');
  });
});

describe('faulty variables', () => {
  const ask = async (text: string, variables: object) => {
    const { status, errors } = await send({ body: JSON.stringify({ query: text, variables }) });
    expect(status).toBe(200);
    expect(errors.every(({ extensions }) => extensions['code'] === 'invalid_request')).toBe(true);
    return errors.map(({ message }) => message);
  };

  it('are told with their places, not with the megabytes around them', async () => {
    const names = Array.from({ length: 50 }, (_, at) => [`k${at}`, at]);
    const chat = { messages: [], model: 'x'.repeat(1_000_000), ...Object.fromEntries(names) };
    const text = 'query ($chat: ChatCompletionInput!) { estimate(input: { chat: $chat }) { model } }';
    const told = await ask(text, { chat });
    expect(told[0]).toBe(
      'Variable "$chat" got invalid value; Field "k0" is not defined by type "ChatCompletionInput".',
    );
    expect(told.join('').length).toBeLessThan(20_000);
    const message = { role: 'user', content: 'x', images: [1] };
    expect(await ask(text, { chat: { messages: [message] } })).toEqual([
      'Variable "$chat" got invalid value at "chat.messages[0].images[0]"; String cannot represent a non string value: 1',
    ]);
    expect(await ask(text, {})).toEqual([
      'Variable "$chat" of required type "ChatCompletionInput!" was not provided.',
    ]);
  });

  it('are told where a number should be, whatever they are', async () => {
    const text = 'query ($first: Int) { jobs(first: $first) { nodes { id } } }';
    for (const first of [{ toString: 1 }, { valueOf: 1, toString: null }, [9], '9', true]) {
      const [told] = await ask(text, { first });
      expect(told).toMatch(/^Variable "\$first" got invalid value; Int cannot represent non-integer value: /);
    }
  });

  it('hold nobody up, whatever they repeat', async () => {
    const text = 'query ($first: Int) { jobs(first: $first) { nodes { id } } }';
    const [told = ''] = await ask(text, { first: ' Did you mean '.repeat(100_000) });
    expect(told).toMatch(/^Variable "\$first" got invalid value; Int cannot represent non-integer value: /);
    expect(told).toHaveLength(1000);
  });
});

describe('a GraphQL request', () => {
  const body = JSON.stringify({ query: '{ penstockVersion { api } }' });

  it('in a batch is 400', async () => {
    const { status, errors } = await send({ body: `[${body},${body}]` });
    expect(status).toBe(400);
    expect(errors[0]?.extensions['code']).toBe('invalid_request');
  });

  it.each(['application/json', 'application/graphql-response+json', 'text/event-stream'])(
    'that mutates by GET is 405 to who accepts %s',
    async (accept) => {
      const search = `?query=${encodeURIComponent('mutation { cancelJob(id: "x") { success } }')}`;
      const { status, headers } = await send({ method: 'GET', search, headers: { accept } });
      expect(status).toBe(405);
      expect(headers.get('allow')).toBe('POST');
    },
  );

  it.each(['DELETE', 'PATCH'])('by %s is 405', async (method) => {
    expect((await send({ method })).status).toBe(405);
  });

  it.each([
    ['text/plain', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/json; charset=latin1', 415],
    ['application/json; charset=utf-8', 200],
  ])('declared as %s is %i', async (type, status) => {
    expect((await send({ body, headers: { 'content-type': type } })).status).toBe(status);
  });

  it('that is compressed is 415, so that no bomb is unpacked', async () => {
    expect((await send({ body, headers: { 'content-encoding': 'gzip' } })).status).toBe(415);
  });

  it.each(['{', '', 'null', '"x"', '{"query":1}', '{"query":"{penstockVersion{api}}","variables":"x"}'])(
    'with the body %s is 400 with a code',
    async (text) => {
      const { status, errors } = await send({ body: text });
      expect(status).toBe(400);
      expect(errors[0]?.extensions['code']).toBe('invalid_request');
    },
  );

  it.each(['\\u0000', '\\ud800', 'x\\udc00'])('with %s in a variable is 400', async (escape) => {
    const text = `{"query":"query ($id: ID!) { job(id: $id) { id } }","variables":{"id":"${escape}"}}`;
    expect((await send({ body: text })).status).toBe(400);
  });

  it('with a bad key is 401 with a GraphQL error body and the window of its address, _service too', async () => {
    const { status, headers, errors } = await send({
      body: JSON.stringify({ query: '{ _service { sdl } }' }),
      headers: { authorization: 'Bearer nonsense' },
    });
    expect(status).toBe(401);
    expect(errors).toEqual([
      { message: 'Invalid or missing API key', extensions: { code: 'unauthorized', httpStatus: 401 } },
    ]);
    expect(headers.get('x-ratelimit-limit')).toBe('60');
  });

  it('carries the rate limit and its request id on every answer', async () => {
    for (const answer of [await send({ body }), await send({ body: '{' }), await send({ method: 'PATCH' })]) {
      for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-request-id'])
        expect(answer.headers.get(name)).toBeTruthy();
    }
  });

  it('takes its slot before it is parsed: 429 comes before a syntax error, not before malformed JSON', async () => {
    const org = await server.createOrg({ plan: 'free' });
    const as = { authorization: `Bearer ${org.key}` };
    for (let i = 0; i < 30; i++)
      expect((await send({ body: '{"query":"{"}', headers: as })).status).toBe(200);
    const limited = await send({ body: '{"query":"{"}', headers: as });
    expect(limited.status).toBe(429);
    expect(limited.headers.get('retry-after')).toMatch(/^\d+$/);
    expect(limited.errors[0]?.extensions).toMatchObject({ code: 'rate_limited', httpStatus: 429 });
    expect((await send({ body: '{', headers: as })).status).toBe(400);
  });
});

describe('an error of a field', () => {
  it('is 200 with the contract code and status in its extensions', async () => {
    const { status, errors } = await query('{ job(id: "job_nope") { id } }');
    expect(status).toBe(200);
    expect(errors[0]).toMatchObject({
      message: 'Job not found',
      extensions: { code: 'not_found', httpStatus: 404 },
      path: ['job'],
    });
  });

  it('is the same 404 for the memories of an agent of others and of one that is not', async () => {
    const other = await server.createOrg({ plan: 'business_monthly' });
    const made = await send({
      body: JSON.stringify({
        query: 'mutation { createAgent(input: { name: "a", systemPrompt: "b" }) { id } }',
      }),
      headers: { authorization: `Bearer ${other.key}` },
    });
    const { id } = (made.json.data as { createAgent: { id: string } }).createAgent;
    for (const agentId of [id, 'agt_unknown']) {
      const { errors } = await query(`{ agentMemories(agentId: "${agentId}") { nodes { id } } }`);
      expect(errors[0]).toMatchObject({ message: 'Agent not found', extensions: { httpStatus: 404 } });
    }
  });

  it('names the argument that is out of range', async () => {
    const { errors } = await query('{ jobs(first: 101) { nodes { id } } }');
    expect(errors[0]?.extensions).toMatchObject({ code: 'invalid_request', httpStatus: 400, param: 'first' });
  });

  it('names arguments as the operation spells them, not as REST does', async () => {
    const cursor = await query('{ jobs(after: "nothing") { nodes { id } } }');
    expect(cursor.errors[0]).toMatchObject({ message: 'Invalid cursor', extensions: { param: 'after' } });
    const tokens = await query(
      'mutation { createChatCompletion(input: { maxTokens: 0, messages: [{ role: user, content: "x" }] }) { id } }',
    );
    expect(tokens.errors[0]?.extensions).toMatchObject({ code: 'invalid_request', param: 'maxTokens' });
  });

  it('is 403 where the key lacks the scope', async () => {
    const org = await server.createOrg({ plan: 'pro_monthly', scopes: ['chat'] });
    const { errors } = await send({
      body: JSON.stringify({ query: '{ quota { orgId } }' }),
      headers: { authorization: `Bearer ${org.key}` },
    });
    expect(errors[0]).toMatchObject({
      message: 'API key does not have required scope: usage',
      extensions: { code: 'forbidden', httpStatus: 403 },
    });
  });
});

describe('a document of several mutations under an Idempotency-Key', () => {
  const text = `mutation ($ask: ChatCompletionInput!) {
    ...First
    again: createChatCompletion(input: $ask) { choices { message { content } } }
    last: createChatCompletion(input: { messages: [{ role: user, content: "Bye" }] }) { usage { creditsUsed } }
  }
  fragment First on Mutation {
    first: createAgent(input: { name: "Once", systemPrompt: "x" }) { id name }
    image: generateImage(input: { prompt: "a dam", size: "512x512" }) { job { id status } }
  }`;
  const variables = { ask: { messages: [{ role: 'user', content: 'Hi' }] } };

  it('goes on where a field failed: what was done is not done again, and the whole answer is kept then', async () => {
    const own = await server.createOrg();
    const body = JSON.stringify({ query: text, variables });
    const headers = { authorization: `Bearer ${own.key}`, 'idempotency-key': 'one' };
    const faulty = await send({ body: JSON.stringify({ query: text }), headers });
    expect(faulty.json).not.toHaveProperty('data');
    expect(faulty.errors).toMatchObject([{ locations: [{ line: 1, column: 11 }] }]);
    const { chat } = server.services;
    const { complete } = chat;
    chat.complete = () => Promise.reject(new ApiError('server_error', 'Generation failed'));
    let failed: Awaited<ReturnType<typeof send>>;
    try {
      failed = await send({ body, headers });
    } finally {
      chat.complete = complete;
    }
    expect(failed.json.data).toMatchObject({ first: { name: 'Once' }, again: null, last: null });
    expect(failed.errors).toMatchObject([
      { message: 'Generation failed', path: ['again'], locations: [{ line: 3, column: 5 }] },
      { message: 'Generation failed', path: ['last'], locations: [{ line: 4, column: 5 }] },
    ]);
    const retried = await send({ body, headers });
    expect(retried.headers.get('idempotent-replayed')).toBeNull();
    expect(retried.errors).toEqual([]);
    expect(Object.keys(retried.json.data as object)).toEqual(['first', 'image', 'again', 'last']);
    expect(retried.json.data).toMatchObject({ image: { job: { status: 'completed' } } });
    expect(retried.headers.get('x-job-id')).toBe(failed.headers.get('x-job-id'));
    const replayed = await send({ body, headers });
    expect(replayed.headers.get('idempotent-replayed')).toBe('true');
    expect(replayed.json).toEqual(retried.json);
    const records = await server.services.usage.records({ orgId: own.orgId, first: 10 });
    expect(records.nodes.map(({ operation }) => operation)).toEqual(['chat', 'chat', 'image']);
    const { body: list } = await server.rest<{ agents: unknown[] }>('GET', '/agents', { key: own.key });
    expect(list.agents).toHaveLength(1);
  });
});
