import { longTexts, schemas, spacedBase64, type Hostile } from './hostile-texts.js';
import type { SpawnedServer } from './spawned.js';

/** Who attacks: a key with everything allowed, and an agent of its organisation. */
export interface Attacker {
  server: SpawnedServer;
  key: string;
  agentId: string;
}

/** A field of an endpoint with a hostile form in it. `send` gives the answer's status. */
export interface Attack {
  field: string;
  form: string;
  /** Set where reading the body itself takes longer than any of the rest. */
  limitMs?: number;
  send(attacker: Attacker): Promise<number>;
}

type Body = Record<string, unknown>;

export const rest =
  (method: string, path: string | ((attacker: Attacker) => string), body: unknown, headers = {}) =>
  async (attacker: Attacker): Promise<number> => {
    const at = typeof path === 'string' ? path : path(attacker);
    const { status } = await attacker.server.rest(method, at, { key: attacker.key, body, headers });
    return status;
  };

const chat = (body: Body) => rest('POST', '/chat/completions', body);
const says = (content: unknown, more: Body = {}) =>
  chat({ messages: [{ role: 'user', content }], max_tokens: 20, ...more });

const each = (field: string, forms: readonly Hostile[], send: (value: never) => Attack['send']): Attack[] =>
  forms.map(({ form, value }) => ({ field, form, send: (attacker) => send(value as never)(attacker) }));

/** Every fifth: each of them is work of seconds for a process of its own. */
const some = (forms: Hostile<string>[]) => forms.filter((_, at) => at % 5 === 0);

/** Of large bodies a few: most of their time is the parser's. */
const LARGE = ['one letter', 'combining marks', 'slashes and line breaks', 'blanks', 'emoji joined'];
const large = (forms: Hostile<string>[]) => forms.filter(({ form }) => LARGE.includes(form));

/** A body of 8 to 16 MB, or of 150,000 members, is parsed in one go: what that takes on a busy machine. */
const BODY_MS = 1000;

const MB = 1_048_576;
const texts = longTexts(300_000);
const short = longTexts(10_000);

function chatAttacks(): Attack[] {
  const named = (name: string, parameters: unknown) => ({ type: 'function', function: { name, parameters } });
  return [
    ...each('chat messages[].content', texts, (text: string) => says(text)),
    ...each('chat messages[].content of 8 MB', large(longTexts(8 * MB)), (text: string) => says(text)),
    ...each('chat messages[].content (system)', texts, (text: string) =>
      chat({
        max_tokens: 5,
        messages: [
          { role: 'system', content: text },
          { role: 'user', content: 'Hi' },
        ],
      }),
    ),
    ...each('chat tool result', texts, (text: string) =>
      chat({
        max_tokens: 50,
        messages: [
          { role: 'user', content: 'Search the web' },
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'web_search', arguments: '{}' } }],
          },
          { role: 'tool', tool_call_id: 'a', content: text },
        ],
        tools: [named('web_search', {}), named('create_document', {}), named('generate_chart', {})],
      }),
    ),
    ...each('chat messages[].content with tools', texts, (text: string) =>
      says(`Draw a chart of ${text}`, {
        tools: ['web_search', 'generate_chart', 'create_document', 'generate_image'].map((name) =>
          named(name, {}),
        ),
      }),
    ),
    ...each('chat messages[].content[].image_url', spacedBase64(6 * MB), (data: string) =>
      says([{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }]),
    ),
    ...each('chat messages[].images', spacedBase64(6 * MB), (data: string) =>
      chat({ messages: [{ role: 'user', content: 'Hi', images: [data] }], max_tokens: 5 }),
    ),
    ...each('chat response_format.json_schema', schemas(), (schema: unknown) =>
      says('Hi', {
        max_tokens: 100_000,
        response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
      }),
    ),
    ...each('chat tools[].function.parameters', schemas(), (schema: unknown) =>
      says('Hi', { tools: [named('a', schema)], tool_choice: 'required', max_tokens: 100_000 }),
    ),
    ...each('chat stop', short, (text: string) =>
      says('Hi @sandbox{"tokens":3000}', {
        stop: Array.from({ length: 64 }, (_, at) => `${at}${text}`),
        max_tokens: 3000,
      }),
    ),
    ...each(
      'chat stop against the answer',
      [{ form: 'b + 50,000 a', value: `b${'a'.repeat(50_000)}` }],
      (stop: string) =>
        says('Hi', {
          stop,
          max_tokens: 100_000,
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'a', schema: { const: 'a'.repeat(400_000) } },
          },
        }),
    ),
    {
      field: 'chat max_tokens',
      form: 'a directive of 1,000,000 tokens',
      send: says('@sandbox{"tokens":1000000}', { max_tokens: 1_000_000 }),
    },
    {
      field: 'chat logprobs',
      form: '20 alternatives of 100,000 tokens',
      send: says('@sandbox{"tokens":100000}', { max_tokens: 100_000, logprobs: true, top_logprobs: 20 }),
    },
    ...each(
      'chat @sandbox directive',
      [
        { form: '100,000 marks', value: '@sandbox{'.repeat(100_000) },
        { form: '64 marks of 64 KB', value: `@sandbox{"a":${'['.repeat(60_000)}`.repeat(70) },
        { form: '50,000 steps', value: `@sandbox{"steps":[${'{},'.repeat(20_000)}{}]}` },
      ],
      (text: string) => says(text),
    ),
    {
      field: 'chat logit_bias',
      form: '150,000 members',
      send: says('Hi', {
        logit_bias: Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => [at, 1])),
      }),
    },
    {
      field: 'chat metadata',
      form: '150,000 members',
      send: says('Hi', {
        metadata: Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => [`k${at}`, 'v'])),
      }),
    },
    {
      field: 'chat messages',
      form: '100,000 messages',
      send: chat({
        max_tokens: 5,
        messages: Array.from({ length: 90_000 }, () => ({ role: 'user', content: 'a' })),
      }),
    },
    {
      field: 'chat messages[].content[]',
      form: '60,000 parts',
      send: says(Array.from({ length: 60_000 }, () => ({ type: 'text', text: 'a' }))),
    },
    {
      field: 'chat tools',
      form: '128 tools of 100 KB',
      send: says('Hi', {
        tools: Array.from({ length: 128 }, (_, at) => ({
          type: 'function',
          function: { name: `t${at}`, description: 'x '.repeat(50_000) },
        })),
      }),
    },
    {
      field: 'chat prediction',
      form: '500 levels',
      send: says('Hi', { prediction: JSON.parse(`${'{"a":'.repeat(400)}1${'}'.repeat(400)}`) as unknown }),
    },
  ];
}

function otherAttacks(): Attack[] {
  return [
    ...each('embeddings input', texts, (text: string) => rest('POST', '/embeddings', { input: text })),
    {
      field: 'embeddings input',
      form: '2,048 texts, 4,096 dimensions',
      send: rest('POST', '/embeddings', {
        input: Array.from({ length: 2048 }, (_, at) => `text ${at}`),
        dimensions: 4096,
      }),
    },
    {
      field: 'embeddings input',
      form: '100,000 texts',
      send: rest('POST', '/embeddings', { input: Array.from({ length: 100_000 }, () => 'a') }),
    },
    ...each('images prompt', some(longTexts(4000)), (prompt: string) =>
      rest('POST', '/images/generations?async=true', { prompt }),
    ),
    ...each('speech input', some(longTexts(10_000)), (input: string) =>
      rest('POST', '/audio/speech?async=true', { input, async: true }),
    ),
    ...each('music prompt', some(longTexts(4000)), (prompt: string) =>
      rest('POST', '/music/generations?async=true', { prompt }),
    ),
    ...each('edit image', spacedBase64(8 * MB), (image: string) =>
      rest('POST', '/images/edits?async=true', { image, operation: 'superResolution', scale: 2 }),
    ),
    ...each(
      'edit image as percent data',
      [
        { form: '12 MB of %41', value: `data:image/png,${'%41'.repeat(4 * MB)}` },
        { form: '12 MB of %', value: `data:image/png,${'%'.repeat(12 * MB)}` },
      ],
      (image: string) =>
        rest('POST', '/images/edits?async=true', { image, operation: 'superResolution', scale: 2 }),
    ),
    ...each('transcription file', spacedBase64(8 * MB), (file: string) =>
      rest('POST', '/audio/transcriptions?async=true', { file, audio: file }),
    ),
    ...each('video image', spacedBase64(8 * MB), (image: string) =>
      rest('POST', '/videos/generations?async=true', { prompt: 'a', image }),
    ),
    ...each('agent system_prompt', longTexts(20_000), (text: string) =>
      rest('POST', '/agents', { name: 'a', system_prompt: text }),
    ),
    ...each('agent run input', longTexts(30_000), (input: string) =>
      rest('POST', ({ agentId }) => `/agents/${agentId}/run`, { input, message: input, stream: false }),
    ),
    ...each(
      'agent run remembered facts',
      [
        { form: 'my my my …', value: 'my '.repeat(10_000) },
        { form: 'please please …', value: 'please '.repeat(4000) },
        { form: 'blank lines', value: ' \n'.repeat(15_000) },
      ],
      (input: string) =>
        rest('POST', ({ agentId }) => `/agents/${agentId}/run`, { input, message: input, stream: false }),
    ),
    ...each('webhook url', longTexts(8000), (text: string) =>
      rest('POST', '/webhooks', { url: `https://example.com/${text}`, events: ['job.completed'] }),
    ),
    ...each('webhook custom_headers', longTexts(8000), (text: string) =>
      rest('POST', '/webhooks', {
        url: 'https://example.com/',
        events: ['job.completed'],
        custom_headers: Object.fromEntries(
          Array.from({ length: 1000 }, (_, at) => [`x-${at}`, text.slice(0, 500)]),
        ),
      }),
    ),
    ...each('query string', longTexts(12_000), (text: string) =>
      rest('GET', `/jobs?status=${encodeURIComponent(text).slice(0, 14_000)}`, undefined),
    ),
    {
      field: 'query string',
      form: '4,000 fields',
      send: rest('GET', `/jobs?${'a=&'.repeat(4000)}`, undefined),
    },
    ...each('cursor', longTexts(3000), (text: string) =>
      rest('GET', `/jobs?after=${encodeURIComponent(text).slice(0, 9000)}&cursor=x`, undefined),
    ),
    {
      field: 'Accept',
      form: '12 KB of commas',
      send: rest('POST', '/audio/speech?async=true', { input: 'Hi' }, { accept: 'a/b;q=0.1,'.repeat(1200) }),
    },
    {
      field: 'Accept',
      form: '12 KB of blanks',
      send: rest(
        'POST',
        '/chat/completions',
        { messages: [{ role: 'user', content: 'a' }] },
        { accept: `text/${' '.repeat(12_000)}x` },
      ),
    },
    {
      field: 'Content-Type',
      form: '12 KB of parameters',
      send: rest('POST', '/chat/completions', '{}', {
        'content-type': `application/json${'; a=b'.repeat(2000)}`,
      }),
    },
    {
      field: 'Idempotency-Key',
      form: '12 KB',
      send: rest('POST', '/embeddings', { input: 'a' }, { 'idempotency-key': 'a'.repeat(12_000) }),
    },
    {
      field: 'Last-Event-ID',
      form: '12 KB of digits',
      send: rest('GET', '/jobs/job_x/stream', undefined, { 'last-event-id': '9'.repeat(12_000) }),
    },
    { field: 'path', form: '12 KB of %2e', send: rest('GET', `/jobs/${'%2e'.repeat(4000)}`, undefined) },
  ];
}

export const graphql =
  (query: string, variables: Body = {}) =>
  async ({ server, key }: Attacker) =>
    (await server.graphql(query, { key, variables })).status;

function graphqlAttacks(): Attack[] {
  const fragments = Array.from(
    { length: 150 },
    (_, at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`,
  );
  const long = 'x'.repeat(900_000);
  return [
    { field: 'graphql query', form: '200,000 braces', send: graphql('{a'.repeat(200_000)) },
    { field: 'graphql query', form: '900 KB of one name', send: graphql(`{ ${long} }`) },
    {
      field: 'graphql query',
      form: 'blanks and commas',
      send: graphql(`{ ${' ,'.repeat(400_000)} version }`),
    },
    {
      field: 'graphql query',
      form: 'a comment of 800 KB',
      send: graphql(`#${long.slice(0, 800_000)}\n{ version }`),
    },
    {
      field: 'graphql query',
      form: 'a block string of quotes',
      send: graphql(`{ a(b: """${'\\"""'.repeat(100_000)}""") }`),
    },
    {
      field: 'graphql query',
      form: 'fragments that double',
      send: graphql(`
        {
          ...f0
        }
        ${fragments.join(' ')}
        fragment f150 on Query {
          version
        }
      `),
    },
    {
      field: 'graphql query',
      form: '900 fields that conflict',
      send: graphql(`{ ${'quota { used } '.repeat(300)} }`),
    },
    {
      field: 'graphql query',
      form: 'inline fragments',
      send: graphql(`{ ${'... on Query { '.repeat(300)} version ${'}'.repeat(300)} }`),
    },
    {
      field: 'graphql variables',
      form: '150,000 that nothing declares',
      send: graphql(
        '{ version }',
        Object.fromEntries(Array.from({ length: 150_000 }, (_, at) => [`v${at}`, at])),
      ),
    },
    {
      field: 'graphql variables',
      form: 'lists of lists',
      send: graphql('mutation ($i: EmbeddingInput!) { createEmbedding(input: $i) { model } }', {
        i: { input: Array.from({ length: 90_000 }, () => [[1]]) },
      }),
    },
    {
      field: 'graphql variables',
      form: '90,000 faults',
      send: graphql('mutation ($i: CreateAgentInput!) { createAgent(input: $i) { id } }', {
        i: { name: 1, tools: Array.from({ length: 90_000 }, () => 7) },
      }),
    },
  ];
}

/** The worst that is known of each field. */
export const loopAttacks = (): Attack[] =>
  [...chatAttacks(), ...otherAttacks(), ...graphqlAttacks()].map((attack) =>
    /150,000|8 MB|edit image|transcription file|video image|image_url|images/.test(
      `${attack.field} ${attack.form}`,
    )
      ? { ...attack, limitMs: BODY_MS }
      : attack,
  );
