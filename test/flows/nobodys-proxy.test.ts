import { createServer as createHttpServer } from 'node:http';
import type { Server as HttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { hostname } from 'node:os';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { HOSTILE_URLS } from '../support/hostile-urls.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

/**
 * Promise 10 beyond REST's first look at an address (test/rest/media-inputs.test.ts): GraphQL, agents' tools, redirects, names. The hop is
 * a host that the guard allows, as a public one would be; the sink is private and must never hear a connection.
 */
let penstock: TestServer;
let key: string;
let sink: Server;
let hop: HttpServer;
let hopUrl = '';
let sinkPort = 0;
let connections = 0;
let picture = '';
/** Where the hop sends its callers. */
let target = '';
let hops = 0;

beforeAll(async () => {
  sink = createServer((socket) => {
    connections++;
    socket.destroy();
  });
  // Every address of this machine.
  await new Promise<void>((resolve) => sink.listen(0, resolve));
  sinkPort = (sink.address() as AddressInfo).port;
  hop = createHttpServer((_, response) => {
    hops++;
    response.writeHead(302, { location: target }).end();
  });
  await new Promise<void>((resolve) => hop.listen(0, '127.0.0.2', resolve));
  hopUrl = `http://127.0.0.2:${(hop.address() as AddressInfo).port}/`;
  const freely = { limit: 10_000, windowSeconds: 60 };
  penstock = await startPenstock({
    env: { EGRESS_ALLOW: '127.0.0.2/32' },
    plans: {
      plans: { business_monthly: { rate: { rpm: 100_000, burst: 100_000 } } },
      endpointLimits: {
        chat: freely,
        image_edit: freely,
        video: freely,
        tts: freely,
        stt: freely,
        music: freely,
      },
    },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
  const red = sharp({ create: { width: 32, height: 32, channels: 3, background: '#f00' } });
  picture = (await red.png().toBuffer()).toString('base64');
});
afterEach(() => expect(connections).toBe(0));
afterAll(async () => {
  await penstock?.close();
  hop.closeAllConnections();
  await new Promise((resolve) => hop.close(resolve));
  await new Promise((resolve) => sink.close(resolve));
});

const spelled = (): string[] => HOSTILE_URLS.map((url) => url.replace('PORT', String(sinkPort)));

type Field = [name: string, type: string, selection: string, param: string, input: (url: string) => object];
const FIELDS: Field[] = [
  ['editImage', 'EditImageInput', '{ created }', 'image', (image) => ({ operation: 'colorization', image })],
  [
    'editImage',
    'EditImageInput',
    '{ created }',
    'mask',
    (mask) => ({ operation: 'objectRemoval', image: picture, mask }),
  ],
  [
    'generateVideo',
    'GenerateVideoInput',
    '{ created }',
    'sourceImage',
    (sourceImage) => ({ prompt: 'x', mode: 'image_to_video', sourceImage }),
  ],
  [
    'generateVideo',
    'GenerateVideoInput',
    '{ created }',
    'sourceVideo',
    (sourceVideo) => ({ prompt: 'x', mode: 'video_to_video', sourceVideo }),
  ],
  [
    'generateMusic',
    'GenerateMusicInput',
    '{ created }',
    'sourceAudio',
    (sourceAudio) => ({ prompt: 'x', mode: 'audio_to_audio', sourceAudio }),
  ],
  [
    'createSpeech',
    'CreateSpeechInput',
    '{ created }',
    'referenceAudio',
    (referenceAudio) => ({ input: 'x', voice: 'me', referenceAudio }),
  ],
  ['createTranscription', 'CreateTranscriptionInput', '{ created }', 'file', (file) => ({ file })],
  ['estimate', 'EstimateInput', '{ model }', 'file', (file) => ({ transcription: { file } })],
  [
    'createChatCompletion',
    'ChatCompletionInput',
    '{ id }',
    'images',
    (url) => ({ messages: [{ role: 'user', content: 'x', images: [url] }] }),
  ],
  [
    'createChatCompletion',
    'ChatCompletionInput',
    '{ id }',
    'image_url',
    (url) => ({ messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }] }),
  ],
  [
    'createWebhook',
    'CreateWebhookInput',
    '{ id }',
    'url',
    (url) => ({ name: 'x', url, events: ['generation.completed'] }),
  ],
];

async function call([name, type, selection, , input]: Field, url: string) {
  const kind = name === 'estimate' ? 'query' : 'mutation';
  const document = `${kind} ($input: ${type}!) { ${name}(input: $input) ${selection} }`;
  const { status, errors } = await penstock.graphql(document, { key, variables: { input: input(url) } });
  const [fault] = errors;
  return [status, fault?.extensions['httpStatus'], fault?.message, fault?.extensions['param']];
}

test.each(FIELDS)('GraphQL %s (%s%s) refuses every spelling in its field %s', async (...field) => {
  for (const url of spelled())
    expect([url, ...(await call(field, url))]).toEqual([url, 200, 400, 'Invalid URL', field[3]]);
});

test('GraphQL runAgent and updateWebhook refuse every spelling', async () => {
  const id = await makeAgent(penstock, key);
  const made = await penstock.graphql<{ createWebhook: { id: string } }>(
    'mutation { createWebhook(input: { name: "x", url: "https://example.com/", events: ["generation.completed"] }) { id } }',
    { key },
  );
  const webhook = made.data!.createWebhook.id;
  for (const url of spelled()) {
    const run = await penstock.graphql(
      'mutation ($id: ID!, $input: RunAgentInput!) { runAgent(id: $id, input: $input) { id } }',
      {
        key,
        variables: { id, input: { input: 'x', attachments: [{ type: 'image', url }] } },
      },
    );
    const changed = await penstock.graphql(
      'mutation ($id: ID!, $input: UpdateWebhookInput!) { updateWebhook(id: $id, input: $input) { id } }',
      { key, variables: { id: webhook, input: { url } } },
    );
    expect([url, run.errors[0]?.message, changed.errors[0]?.message]).toEqual([
      url,
      'Invalid URL',
      'Invalid URL',
    ]);
  }
});

test.each(['web_fetch', 'analyze_image'])(
  'the tool %s reads none of them, whatever the model asks for',
  async (tool) => {
    const id = await makeAgent(penstock, key, { tools: [tool], max_iterations: 20 });
    const field = tool === 'web_fetch' ? 'url' : 'image';
    const urls = spelled();
    for (const some of [urls.slice(0, 12), urls.slice(12)]) {
      const steps = some.map((url) => ({ tool_call: { name: tool, arguments: { [field]: url } } }));
      const run = await runAgent(penstock, key, id, { input: `@sandbox${JSON.stringify({ steps })}` });
      const results = run.steps.filter(({ type }) => type === 'tool_result').map((step) => step.tool_output);
      expect(results).toEqual(some.map(() => ({ error: expect.any(String) as string })));
    }
  },
);

test('web_fetch reads a file of its own organisation from the store, and no other’s', async () => {
  const id = await makeAgent(penstock, key, { tools: ['create_document', 'web_fetch'] });
  const made = await runAgent(penstock, key, id, { input: 'Write a markdown document on the lock keeper' });
  const outputOf = (run: typeof made) => run.steps.find(({ type }) => type === 'tool_result')?.tool_output;
  const url = String(outputOf(made)?.['url']);
  const input = `Read ${url}`;
  expect(outputOf(await runAgent(penstock, key, id, { input }))?.['text']).toContain('lock keeper');
  const stranger = await penstock.createOrg({ plan: 'business_monthly' });
  const theirs = await makeAgent(penstock, stranger.key, { tools: ['web_fetch'] });
  const refused = outputOf(await runAgent(penstock, stranger.key, theirs, { input }));
  expect(refused).toEqual({ error: 'Invalid URL' });
});

const TARGETS = () => [
  `http://127.0.0.1:${sinkPort}/`,
  `http://[::1]:${sinkPort}/`,
  `http://2130706433:${sinkPort}/`,
  `//127.0.0.1:${sinkPort}/`,
  'http://169.254.169.254/latest/meta-data',
  'file:///etc/passwd',
];

test('a host that is allowed cannot send the server on to one that is not, over any field or tool', async () => {
  const fields = FIELDS.filter(([name]) => !['createWebhook', 'createChatCompletion'].includes(name));
  const id = await makeAgent(penstock, key, { tools: ['web_fetch', 'analyze_image'] });
  for (target of TARGETS()) {
    hops = 0;
    for (const field of fields) {
      const [status, httpStatus, message, param] = await call(field, hopUrl);
      expect([target, field[0], status, httpStatus, param]).toEqual([target, field[0], 200, 400, field[3]]);
      expect(message).toMatch(/^Could not fetch /);
    }
    const run = await penstock.rest('POST', `/agents/${id}/run`, {
      key,
      body: { input: 'x', attachments: [{ type: 'image', url: hopUrl }] },
    });
    expect(run.status).toBe(400);
    const chat = await penstock.rest('POST', '/chat/completions', {
      key,
      body: { messages: [{ role: 'user', content: 'x', images: [hopUrl] }] },
    });
    expect(JSON.stringify(chat.body)).toContain('could not be fetched');
    const calls = [
      { tool_call: { name: 'web_fetch', arguments: { url: hopUrl } } },
      { tool_call: { name: 'analyze_image', arguments: { image: hopUrl } } },
    ];
    const { steps } = await runAgent(penstock, key, id, {
      input: `@sandbox${JSON.stringify({ steps: calls })}`,
    });
    const results = steps.filter(({ type }) => type === 'tool_result').map((step) => step.tool_output);
    expect(results).toEqual(calls.map(() => ({ error: expect.any(String) as string })));
    // Each of them did reach the hop: it is the second step that is refused.
    expect(hops).toBe(fields.length + 4);
  }
});

test('a name that stands for this machine or its network is not connected to', async () => {
  const url = `http://${hostname()}:${sinkPort}/`;
  for (const field of FIELDS.filter(([name]) => name !== 'createWebhook' && name !== 'createChatCompletion'))
    expect((await call(field, url)).slice(0, 2)).toEqual([200, 400]);
});
