import PDFDocument from 'pdfkit';
import OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { completion, startFakeUpstream, type FakeUpstream } from '../support/fake-upstream.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let upstream: FakeUpstream;
let key: string;
let client: OpenAI;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const model = { type: 'chat', tier: 'basic', upstreamId: 'm' };
  const modalities = { input: ['text', 'image', 'audio', 'file'], output: ['text'] };
  server = await startPenstock({
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: upstream.baseUrl,
          apiKey: 'k',
          models: [
            { id: 'acme/words', ...model },
            { id: 'acme/all', ...model, modalities },
          ],
        },
      ],
    },
    plans: { endpointLimits: { chat: { limit: 1000, windowSeconds: 60 } } },
  });
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  client = new OpenAI({ apiKey: key, baseURL: `${server.origin}/v1`, maxRetries: 0 });
});
afterAll(async () => {
  await server?.close();
  await upstream?.close();
});
beforeEach(() => {
  upstream.requests.length = 0;
  upstream.always({ body: completion('Read') });
});

const asData = (type: string, bytes: Buffer | string) =>
  `data:${type};base64,${Buffer.from(bytes).toString('base64')}`;

async function pdfOf(text: string): Promise<Buffer> {
  const document = new PDFDocument();
  const parts: Buffer[] = [];
  document.on('data', (part: Buffer) => parts.push(part));
  document.text(text).end();
  await new Promise((resolve) => document.once('end', resolve));
  return Buffer.concat(parts);
}

type Part = OpenAI.ChatCompletionContentPart;
const filePart = (filename: string, file_data: string): Part => ({
  type: 'file',
  file: { filename, file_data },
});
const ask = (model: string, ...parts: object[]) =>
  client.chat.completions.create({
    model,
    messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }, ...(parts as Part[])] }],
  });
const refusal = (asked: Promise<unknown>) =>
  asked.then(
    () => null,
    (error: unknown) => error,
  );
/** The content of the message as the upstream got it. */
const sent = () =>
  (upstream.requests.at(-1)?.body['messages'] as { content: object[] }[] | undefined)?.[0]?.content;

describe('files in a chat at /v1', () => {
  it('reach a model that takes files as they are', async () => {
    const pdf = asData('application/pdf', await pdfOf('The moon is grey.'));
    await ask('acme/all', filePart('moon.pdf', pdf), filePart('notes.md', asData('text/markdown', '# Moon')));
    expect(sent()).toEqual([
      { type: 'text', text: 'What is it?' },
      { type: 'file', file: { filename: 'moon.pdf', file_data: pdf } },
      { type: 'file', file: { filename: 'notes.md', file_data: asData('text/markdown', '# Moon') } },
    ]);
  });

  it('are their words to all others, which count as the prompt that they are', async () => {
    const pdf = asData('application/pdf', await pdfOf('The moon is grey.'));
    const text = Buffer.from('cheese '.repeat(3000)).toString('base64');
    await ask('acme/words', filePart('moon.pdf', pdf), filePart('notes.txt', text));
    const [, moon, notes] = sent() as { type: string; text: string }[];
    expect(moon).toEqual({
      type: 'text',
      text: expect.stringMatching(/^File "moon.pdf":\n.*The moon is grey\./s),
    });
    expect(notes?.text).toContain('cheese cheese');
    const { usage } = await ask('sandbox/chat-basic', filePart('notes.txt', text));
    expect(usage?.prompt_tokens).toBeGreaterThan(3000);
  });

  it('are refused where they cannot be read, by their place', async () => {
    const exe = asData('application/pdf', Buffer.from('MZ\x90\x00\x03\x00\x00\x00\xff\xff', 'latin1'));
    const cases: [object, string][] = [
      [
        { type: 'file', file: { file_id: 'file-1' } },
        'messages[0].content[1].file.file_id is not supported: send file_data',
      ],
      [{ type: 'file', file: {} }, 'messages[0].content[1].file.file_data is required'],
      [{ type: 'file' }, 'messages[0].content[1].file.file_data is required'],
      [filePart('x.pdf', exe), 'messages[0].content[1].file: Unsupported file type'],
      [filePart('x.pdf', 'http://169.254.169.254/x'), 'Invalid URL'],
    ];
    for (const [part, message] of cases)
      expect(await refusal(ask('acme/words', part))).toMatchObject({ status: 400, error: { message } });
    expect(upstream.requests).toEqual([]);
  });

  it('belong to /v1', async () => {
    const content = [filePart('notes.md', asData('text/markdown', '# Moon'))];
    const answer = await server.rest('POST', '/chat/completions', {
      key,
      body: { model: 'acme/all', messages: [{ role: 'user', content }] },
    });
    expect(answer).toMatchObject({
      status: 400,
      body: { error: 'messages[0].content[0].type must be text or image_url' },
    });
  });
});

describe('sound in a chat at /v1', () => {
  const sound = { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } };

  it('reaches a model that takes it, and is refused for all others', async () => {
    await ask('acme/all', sound);
    expect(sent()?.[1]).toEqual(sound);
    expect(await refusal(ask('acme/words', sound))).toMatchObject({
      status: 400,
      param: 'input_audio',
      error: { message: 'messages[0].content[1]: acme/words does not take audio' },
    });
    expect(await refusal(ask('acme/all', { type: 'input_audio', input_audio: {} }))).toMatchObject({
      error: { message: 'messages[0].content[1].input_audio.data is required' },
    });
  });
});
