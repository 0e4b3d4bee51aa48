import { bodyAttacks } from './loop-attacks/bodies.js';
import {
  chat,
  each,
  MB,
  rest,
  says,
  some,
  type Attack,
  type Attacker,
  type Body,
  type Told,
} from './loop-attacks/attack.js';
import { graphqlAttacks } from './loop-attacks/graphql.js';
import { strangerAttacks } from './loop-attacks/strangers.js';
import { upstreamAttacks } from './loop-attacks/upstreams.js';
import { webSocketAttacks } from './loop-attacks/websocket.js';
import { longTexts, schemas, spacedBase64, type Hostile } from './hostile-texts.js';

/** Work that is linear in the length is visible in a body of the maximum length. */
const LONG = ['one letter', 'combining marks', 'slashes and line breaks', 'quotes'];
const long = (): Hostile<string>[] => longTexts(12 * MB).filter(({ form }) => LONG.includes(form));

const FILE_LENGTH = 2 * MB;
const texts = longTexts(100_000);
const short = longTexts(9_000);

function chatAttacks(): Attack[] {
  const named = (name: string, parameters: unknown) => ({ type: 'function', function: { name, parameters } });
  return [
    ...each('chat messages[].content', texts, (text: string) => says(text)),
    ...each('chat messages[].content of 12 MB', long(), (text: string) => says(text)),
    ...each('chat messages[].content (system)', some(texts), (text: string) =>
      chat({
        max_tokens: 5,
        messages: [
          { role: 'system', content: text },
          { role: 'user', content: 'Hi' },
        ],
      }),
    ),
    ...each('chat tool result', some(texts), (text: string) =>
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
    ...each('chat messages[].content with tools', some(texts), (text: string) =>
      says(`Draw a chart of ${text}`, {
        tools: ['web_search', 'generate_chart', 'create_document', 'generate_image'].map((name) =>
          named(name, {}),
        ),
      }),
    ),
    ...each('chat messages[].content[].image_url', spacedBase64(FILE_LENGTH), (data: string) =>
      says([{ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }]),
    ),
    ...each('chat messages[].images', some(spacedBase64(FILE_LENGTH)), (data: string) =>
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
    ...each('chat stop', some(short), (text: string) =>
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
      form: '20,000 members',
      send: says('Hi', {
        logit_bias: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [at, 1])),
      }),
    },
    {
      field: 'chat metadata',
      form: '20,000 members',
      send: says('Hi', {
        metadata: Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, 'v'])),
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

let keys = 0;
/** The maximum length of pictures. */
const PICTURE = `data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ${'A'.repeat(25 * MB)}`;

/** A file of an agent's knowledge; its text is read after the answer. */
const knowledge =
  (text: string) =>
  async ({ server, key, agentId }: Attacker): Promise<Told> => {
    const form = new FormData();
    form.append('file', new Blob([text]), 'a.txt');
    const answer = await fetch(`${server.origin}/api/v1/agents/${agentId}/knowledge`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    return { status: answer.status, error: ((await answer.json()) as { error?: string }).error };
  };

const labels = (text: string) =>
  Array.from({ length: 50 }, (_, at) => ({ label: `${at} ${text.slice(0, 80)}`, value: at }));

/** A run whose model calls a tool with these arguments. */
const runTool = (name: string, given: Body) =>
  rest('POST', ({ agentId }) => `/agents/${agentId}/run`, {
    input: `@sandbox${JSON.stringify({ steps: [{ tool_call: { name, arguments: given } }] })}`,
  });

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
      rest('POST', '/audio/speech?async=true', { input }),
    ),
    ...each('music prompt', some(longTexts(4000)), (prompt: string) =>
      rest('POST', '/music/generations?async=true', { prompt }),
    ),
    ...each('edit image', [...some(spacedBase64(FILE_LENGTH)), ...long().slice(0, 1)], (image: string) =>
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
    ...each(
      'transcription file',
      [...some(spacedBase64(FILE_LENGTH)), ...long().slice(0, 1)],
      (file: string) => rest('POST', '/audio/transcriptions?async=true', { file }),
    ),
    ...each('video image', [...some(spacedBase64(FILE_LENGTH)), ...long().slice(0, 1)], (image: string) =>
      rest('POST', '/videos/generations?async=true', {
        prompt: 'a',
        mode: 'image_to_video',
        source_image: image,
      }),
    ),
    ...each('agent system_prompt', some(short), (text: string) =>
      rest('POST', '/agents', { name: 'a', system_prompt: text }),
    ),
    ...each('agent run input', some(short), (input: string) =>
      rest('POST', ({ agentId }) => `/agents/${agentId}/run`, { input }),
    ),
    ...each(
      'agent run remembered facts',
      [
        { form: 'my my my …', value: 'my '.repeat(3_000) },
        { form: 'please please …', value: 'please '.repeat(1_400) },
        { form: 'blank lines', value: `${' \n'.repeat(4_900)}I am Tom` },
      ],
      (input: string) => rest('POST', ({ agentId }) => `/agents/${agentId}/run`, { input }),
    ),
    ...each('agent run conversation_history', some(texts), (content: string) =>
      rest('POST', ({ agentId }) => `/agents/${agentId}/run`, {
        input: 'Hello',
        conversation_history: [{ role: 'user', content }],
      }),
    ),
    {
      field: 'agent run conversation_history',
      form: '90,000 entries',
      send: rest('POST', ({ agentId }) => `/agents/${agentId}/run`, {
        input: 'Hello',
        conversation_history: Array.from({ length: 90_000 }, () => ({ role: 'user', content: 'a' })),
      }),
    },
    {
      field: 'agent system_prompt',
      form: '12 MB',
      send: rest('POST', '/agents', { name: 'a', system_prompt: 'a '.repeat(6 * MB) }),
    },
    {
      field: 'chat under a key',
      form: 'a picture of 19 MB',
      send: (attacker) =>
        rest(
          'POST',
          '/chat/completions',
          { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: PICTURE } }] }] },
          { 'idempotency-key': `c${++keys}` },
        )(attacker),
    },
    ...each('knowledge text', some(longTexts(MB)), knowledge),
    {
      field: 'knowledge search',
      form: 'of 1 MB of words',
      async send(attacker) {
        await knowledge('one word of many. '.repeat(60_000))(attacker);
        return await rest('POST', `/agents/${attacker.agentId}/run`, { input: 'many words '.repeat(800) })(
          attacker,
        );
      },
    },
    ...each('picture label', longTexts(4000), (text: string) =>
      rest('POST', '/images/generations', { prompt: `A sign that says "${text.slice(0, 3900)}"` }),
    ),
    ...each('agent chart', some(longTexts(2000)), (title: string) =>
      runTool('generate_chart', { type: 'bar', title, data: labels(title) }),
    ),
    ...each('agent document', some(longTexts(8000)), (content: string) =>
      runTool('create_document', { title: 'a', content, format: 'pdf' }),
    ),
    ...each('webhook url', some(longTexts(8000)), (text: string) =>
      rest('POST', '/webhooks', {
        name: 'a',
        url: `https://example.com/${text}`,
        events: ['generation.completed'],
      }),
    ),
    ...each('webhook custom_headers', some(longTexts(8000)), (text: string) =>
      rest('POST', '/webhooks', {
        name: 'a',
        url: 'https://example.com/',
        events: ['generation.completed'],
        custom_headers: Object.fromEntries(
          Array.from({ length: 1000 }, (_, at) => [`x-${at}`, text.slice(0, 100)]),
        ),
      }),
    ),
    ...each('query string', some(longTexts(12_000)), (text: string) =>
      rest('GET', `/jobs?status=${encodeURIComponent(text).slice(0, 14_000)}`, undefined),
    ),
    {
      field: 'query string',
      form: '4,000 fields',
      send: rest('GET', `/jobs?${'a=&'.repeat(4000)}`, undefined),
    },
    ...each('cursor', some(longTexts(3000)), (text: string) =>
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

/** The worst known values of each field. */
export const loopAttacks = (): Attack[] => [
  ...chatAttacks(),
  ...otherAttacks(),
  ...bodyAttacks(),
  ...graphqlAttacks(),
  ...webSocketAttacks(),
  ...upstreamAttacks(),
  ...strangerAttacks(),
];
