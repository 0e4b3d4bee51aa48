import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { pngBomb } from '../support/png-bomb.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;
let key: string;
let pages: Server;
let circle: Buffer;

const draw = (shapes: string, background: string, size = { width: 400, height: 200 }): Promise<Buffer> =>
  sharp(
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${size.width}" height="${size.height}">
       <rect width="100%" height="100%" fill="${background}"/>${shapes}</svg>`,
    ),
  )
    .png()
    .toBuffer();

beforeAll(async () => {
  circle = await draw('<circle cx="200" cy="100" r="60" fill="#e02020"/>', '#ffffff');
  pages = createServer((request, response) => {
    response.writeHead(request.url === '/circle.png' ? 200 : 404, { 'content-type': 'image/png' });
    response.end(circle);
  });
  await new Promise<void>((resolve) => pages.listen(0, '127.0.0.1', resolve));
  penstock = await startPenstock({ env: { EGRESS_ALLOW: '127.0.0.1/32' } });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(async () => {
  await penstock?.close();
  pages.closeAllConnections();
  await new Promise((resolve) => pages.close(resolve));
});

/** What the sandbox says of pictures. */
async function seen(...pictures: (Buffer | string)[]): Promise<string> {
  const parts = pictures.map((picture) => ({
    type: 'image_url',
    image_url: { url: typeof picture === 'string' ? picture : picture.toString('base64') },
  }));
  const content = [{ type: 'text', text: 'What is this?' }, ...parts];
  const { status, body } = await penstock.rest<{ choices: { message: { content: string } }[] }>(
    'POST',
    '/chat/completions',
    { key, body: { messages: [{ role: 'user', content }] } },
  );
  expect(status, JSON.stringify(body)).toBe(200);
  return body.choices[0]!.message.content;
}

test('the sandbox tells format, size, light, colours and the shapes with their places, the same each time', async () => {
  const words = await seen(circle);
  expect(words).toContain('I see 1 image. It is a PNG of 400 × 200 pixels (landscape), bright');
  expect(words).toContain(
    'It shows a red circle in the centre (14 % of the picture) on a plain white background.',
  );
  expect(words).toMatch(/Its colours are white 8\d % and red 1\d %/);
  expect(words).toContain('No part of it is transparent');
  expect(await seen(circle)).toBe(words);
});

test.each([
  [
    '<rect x="20" y="20" width="160" height="60" fill="#1030e0"/>',
    '#000000',
    'a blue rectangle at the top left',
  ],
  ['<polygon points="300,20 380,180 220,180" fill="#f7df1c"/>', '#14245e', 'a yellow triangle at the right'],
  [
    '<rect x="280" y="130" width="60" height="60" fill="#2fa43a"/>',
    '#ffffff',
    'a green square at the bottom right',
  ],
  [
    '<polygon points="200,40 260,100 200,160 140,100" fill="#f58216"/>',
    '#ffffff',
    'an orange diamond in the centre',
  ],
  ['', '#7a35ad', 'one plain purple area'],
])('it names %s on %s', async (shapes, background, words) => {
  expect(await seen(await draw(shapes, background))).toContain(words);
});

test('transparency, JPEG and WebP, and where a scene is light or dark', async () => {
  const hole = await sharp({ create: { width: 100, height: 100, channels: 4, background: '#0000' } })
    .composite([{ input: await draw('', '#ff0000', { width: 50, height: 100 }), left: 0, top: 0 }])
    .png()
    .toBuffer();
  const scene = await sharp(
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="300" height="600"><defs><linearGradient id="g" x2="0" y2="1">
       <stop stop-color="#8fc7ef"/><stop offset="1" stop-color="#14532a"/></linearGradient></defs>
       <rect width="300" height="600" fill="url(#g)"/></svg>`,
    ),
  )
    .webp()
    .toBuffer();
  const words = await seen(hole, scene, await sharp(circle).jpeg().toBuffer());
  expect(words).toContain('I see 3 images. Image 1 is a PNG of 100 × 100 pixels (square)');
  expect(words).toContain('50 % of it is transparent');
  expect(words).toMatch(
    /Image 2 is a WebP of 300 × 600 pixels \(portrait\).*light blue at the top.*dark green at the bottom/,
  );
  expect(words).toMatch(/Image 3 is a JPEG of 400 × 200 pixels.*a red circle in the centre/);
});

test('a picture that the sandbox made says for which prompt, in every size', async () => {
  for (const upscale of ['none', '2x']) {
    const made = await penstock.rest<{ data: { url: string }[] }>('POST', '/images/generations', {
      key,
      body: { prompt: 'a heron at dawn', size: '512x512', upscale },
    });
    const words = await seen(made.body.data[0]!.url);
    expect(words).toContain(upscale === 'none' ? '512 × 512' : '1024 × 1024');
    expect(words).toContain(
      'The file says that the Penstock sandbox made it for the prompt "a heron at dawn"',
    );
  }
});

test('what cannot be read or fetched is said, and nothing is made up', async () => {
  const broken = circle.subarray(0, circle.length - 40);
  expect(await seen(broken)).toContain('It cannot be read');
  expect(await seen(pngBomb(50_000))).toContain('It cannot be read');
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  expect(await seen(`${origin}/circle.png`)).toContain('a red circle');
  expect(await seen(`${origin}/none.png`)).toContain('It could not be fetched');
});

test('analyze_image sees the same', async () => {
  const id = await makeAgent(penstock, key, { tools: ['analyze_image'] });
  const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  const { steps } = await runAgent(penstock, key, id, {
    input: `What is in the picture ${origin}/circle.png ?`,
  });
  const result = steps.find(({ type }) => type === 'tool_result');
  expect(String(result?.tool_output?.['description'])).toContain('a red circle in the centre');
});

test('web_search without a provider searches what the run was given, and says that it is not the web', async () => {
  const id = await makeAgent(penstock, key, { tools: ['web_search', 'web_fetch'] });
  const text = 'About gates.\n\nThe weir gate opens at nine.\n\nLunch is at noon.';
  const { steps, last } = await runAgent(penstock, key, id, {
    input: 'Search the web: when does the weir gate open?',
    attachments: [
      {
        type: 'document',
        name: 'gate.txt',
        url: `data:text/plain;base64,${Buffer.from(text).toString('base64')}`,
      },
    ],
  });
  const result = steps.find(({ type }) => type === 'tool_result');
  expect(result?.tool_output).toMatchObject({
    sandbox: true,
    notice: expect.stringContaining('the web was not searched'),
    results: [{ title: 'gate.txt, paragraph 2', url: null, snippet: 'The weir gate opens at nine.' }],
  });
  expect(last.type).toBe('done');
  expect(last.output).toContain('the web was not searched');
  expect(last.output).toContain('The weir gate opens at nine.');
  expect(last.output).toContain('[untrusted: sandbox search for');
});
