import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { waveOf } from '../support/audio.js';
import { startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { uploadWhole } from '../support/uploads.js';

type Kind = 'picture' | 'film' | 'sound' | 'document';
type Field = [path: string, where: string, kind: Kind, body: (file: string) => object];

const said = (content: object[]) => ({
  messages: [{ role: 'user', content: [{ type: 'text', text: 'x' }, ...content] }],
});
const text = { type: 'text', text: 'x' };

/** Every field that takes a file. */
const FIELDS: Field[] = [
  ['/api/v1/images/edits', 'image', 'picture', (image) => ({ operation: 'colorization', image })],
  ['/api/v1/images/edits', 'mask', 'picture', (mask) => ({ operation: 'objectRemoval', image: mask, mask })],
  [
    '/api/v1/videos/generations',
    'source_image',
    'picture',
    (source_image) => ({ prompt: 'x', mode: 'image_to_video', duration_seconds: 1, source_image }),
  ],
  [
    '/api/v1/videos/generations',
    'source_video',
    'film',
    (source_video) => ({ prompt: 'x', mode: 'video_to_video', duration_seconds: 1, source_video }),
  ],
  [
    '/api/v1/music/generations',
    'source_audio',
    'sound',
    (source_audio) => ({ prompt: 'x', mode: 'audio_to_audio', duration_seconds: 5, source_audio }),
  ],
  [
    '/api/v1/audio/speech',
    'reference_audio',
    'sound',
    (reference_audio) => ({ input: 'x', voice: 'me', reference_audio }),
  ],
  ['/api/v1/audio/transcriptions', 'file', 'sound', (file) => ({ file })],
  [
    '/api/v1/chat/completions',
    'images',
    'picture',
    (url) => ({ messages: [{ role: 'user', content: 'x', images: [url] }] }),
  ],
  [
    '/api/v1/chat/completions',
    'image_url',
    'picture',
    (url) => said([{ type: 'image_url', image_url: { url } }]),
  ],
  [
    '/api/v1/agents/:id/run',
    'image',
    'picture',
    (url) => ({ input: 'x', attachments: [{ type: 'image', url, name: 'x' }] }),
  ],
  [
    '/api/v1/agents/:id/run',
    'document',
    'document',
    (url) => ({ input: 'x', attachments: [{ type: 'document', url, name: 'x.md' }] }),
  ],
  [
    '/v1/chat/completions',
    'image_url',
    'picture',
    (url) => said([{ type: 'image_url', image_url: { url } }]),
  ],
  [
    '/v1/chat/completions',
    'file_data',
    'document',
    (file_data) => said([{ type: 'file', file: { file_data, filename: 'x.md' } }]),
  ],
  [
    '/v1/chat/completions',
    'input_audio',
    'sound',
    (data) => ({
      model: 'acme/ears',
      ...said([{ type: 'input_audio', input_audio: { data, format: 'wav' } }]),
    }),
  ],
  [
    '/v1/responses',
    'input_image',
    'picture',
    (image_url) => ({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'x' },
            { type: 'input_image', image_url },
          ],
        },
      ],
    }),
  ],
  [
    '/v1/responses',
    'input_file',
    'document',
    (file_url) => ({
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'x' },
            { type: 'input_file', file_url, filename: 'x.md' },
          ],
        },
      ],
    }),
  ],
  [
    '/v1/messages',
    'image',
    'picture',
    (url) => ({
      max_tokens: 50,
      messages: [{ role: 'user', content: [text, { type: 'image', source: { type: 'url', url } }] }],
    }),
  ],
  [
    '/v1/messages',
    'document',
    'document',
    (url) => ({
      max_tokens: 50,
      messages: [
        { role: 'user', content: [text, { type: 'document', title: 'x.md', source: { type: 'url', url } }] },
      ],
    }),
  ],
];

const NOBODY = 'file:file_00000000000000000000000000';

let server: TestServer;
let upstream: FakeUpstream;
let key: string;
let agentId: string;
const bytes: Partial<Record<Kind, Buffer>> = {};
const files: Partial<Record<Kind, string>> = {};
const TYPES: Record<Kind, string> = {
  picture: 'image/png',
  film: 'video/mp4',
  sound: 'audio/wav',
  document: 'text/markdown',
};

/** A film as the sandbox makes it. */
async function film(): Promise<Buffer> {
  const body = { prompt: 'x', duration_seconds: 1 };
  const made = await server.rest<{ data: { url: string } }>('POST', '/videos/generations', { key, body });
  return Buffer.from(await (await fetch(made.body.data.url)).arrayBuffer());
}

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const models = [
    {
      id: 'acme/ears',
      upstreamId: 'ears',
      type: 'chat',
      tier: 'basic',
      modalities: { input: ['text', 'audio'], output: ['text'] },
    },
  ];
  const acme = {
    id: 'acme',
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    apiKey: 'sk-acme',
    models,
  };
  server = await startPenstock({ env: { EGRESS_ALLOW: '127.0.0.0/8' }, providers: { providers: [acme] } });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  agentId = await makeAgent(server, key);
  const create = { width: 256, height: 256, channels: 3, background: '#8899aa' } as const;
  bytes.picture = await sharp({ create }).png().toBuffer();
  bytes.sound = waveOf(new Int16Array(64_000).map((_, at) => 8000 * Math.sin(at / 20)));
  bytes.document = Buffer.from('# Weirs\n\nA weir is a low dam.\n');
  bytes.film = await film();
  for (const kind of Object.keys(TYPES) as Kind[])
    files[kind] = await uploadWhole(server, key, {
      bytes: bytes[kind] ?? Buffer.alloc(0),
      contentType: TYPES[kind],
    });
}, 120_000);
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});

const post = async (path: string, body: object) => {
  const answer = await server.raw(path.replace(':id', agentId), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(path.startsWith('/v1') ? { model: 'sandbox/chat-basic', ...body } : body),
  });
  return { status: answer.statusCode, text: await answer.body.text() };
};

it.each(FIELDS)(
  '%s takes an uploaded file in %s, and refuses an id of none',
  async (path, _where, kind, body) => {
    const taken = await post(path, body(files[kind] ?? ''));
    expect([taken.status < 300, taken.text.slice(0, taken.status < 300 ? 0 : 500)]).toEqual([true, '']);
    const refused = await post(path, body(NOBODY));
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('Unknown file')]);
  },
);

it('is what a model hears', async () => {
  const heard = JSON.stringify(upstream.requests.at(-1)?.body);
  expect(heard).toContain((bytes.sound ?? Buffer.alloc(1)).toString('base64').slice(0, 500));
});

it('becomes knowledge of an agent where it was uploaded for that, and nothing else', async () => {
  const content = await uploadWhole(server, key, {
    bytes: bytes.document ?? Buffer.alloc(1),
    contentType: 'text/markdown',
    purpose: 'knowledge',
  });
  const upload = (given: string) =>
    server.graphql<{ uploadKnowledgeFile: { sizeBytes: number } }>(
      'mutation ($id: ID!, $input: UploadKnowledgeInput!) { uploadKnowledgeFile(agentId: $id, input: $input) { sizeBytes } }',
      { key, variables: { id: agentId, input: { filename: 'weirs.md', content: given } } },
    );
  expect((await upload(content)).data?.uploadKnowledgeFile.sizeBytes).toBe(bytes.document?.length);
  const wrong = await upload(files.document ?? '');
  expect(wrong.errors[0]).toMatchObject({ extensions: { httpStatus: 400, param: 'content' } });
  const [path, , , body] = FIELDS[10] as Field;
  expect((await post(path, body(content))).status).toBe(400);
});
