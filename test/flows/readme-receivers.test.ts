/** The README's own receivers, run as they stand there, take real deliveries and refuse what was changed on the way. */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { childEnv, freePort } from '../support/installation.js';
import { startReceiver, trustReceivers, type ReceivedRequest, type Receiver } from '../support/receiver.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

trustReceivers();
const readme = await readFile(new URL('../../README.md', import.meta.url), 'utf8');
const hasPython = spawnSync('python3', ['--version']).status === 0;

let penstock: TestServer;
let key: string;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-receivers-'));
  penstock = await startPenstock({ env: { EGRESS_ALLOW: '127.0.0.0/8' } });
  ({ key } = await penstock.createOrg({ plan: 'pro_monthly' }));
});
afterAll(async () => {
  await penstock.close();
  await rm(folder, { recursive: true, force: true });
});

/** The block of a language that listens on 8080, on another port. */
function program(language: string, port: number): string {
  const fence = '`'.repeat(3);
  const blocks = readme.matchAll(new RegExp(`${fence}${language}\n(.*?)${fence}`, 'gs'));
  const [block, ...more] = [...blocks].map(([, text]) => text!).filter((text) => text.includes('8080'));
  if (block === undefined || more.length > 0) throw new Error(`the README has not one ${language} receiver`);
  return block.replace('8080', String(port));
}

interface Shop {
  child: ChildProcess;
  output(): string;
  /** What the program answers to a request as it came. */
  forward(request: Pick<ReceivedRequest, 'headers' | 'body'>): Promise<number>;
}

async function open(language: 'js' | 'python', secret: string): Promise<Shop> {
  const port = await freePort();
  const [command, file] = language === 'js' ? [process.execPath, 'receiver.mjs'] : ['python3', 'receiver.py'];
  const path = join(folder, file);
  await writeFile(path, program(language, port));
  const child = spawn(command, [path], {
    env: childEnv({ WEBHOOK_SECRET: secret, PYTHONUNBUFFERED: '1' }),
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  const forward: Shop['forward'] = async ({ headers, body }) => {
    const { 'transfer-encoding': _, connection: __, ...kept } = headers;
    const length = String(Buffer.byteLength(body));
    const sent = httpRequest({ port, method: 'POST', headers: { ...kept, 'content-length': length } });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [{ statusCode: number; resume(): void }];
    response.resume();
    return response.statusCode;
  };
  await eventually(() => forward({ headers: {}, body: '{}' }), { what: `the ${language} receiver` });
  return { child, output: () => Buffer.concat(parts).toString(), forward };
}

describe.each(['js', 'python'] as const)('the receiver in %s', (language) => {
  test.skipIf(language === 'python' && !hasPython)(
    'acknowledges a real delivery, also during a rotation, and refuses changed and old ones',
    async () => {
      let shop: Shop | null = null;
      const front: Receiver = await startReceiver((received, response) => {
        void shop?.forward(received).then((status) => response.writeHead(status).end());
      });
      const path = '/webhooks';
      const body = { name: 'readme', url: front.url, events: ['generation.completed'] };
      const made = await penstock.rest<{ webhook: { id: string; secret: string } }>('POST', path, {
        key,
        body,
      });
      const { id, secret } = made.body.webhook;
      try {
        shop = await open(language, secret);
        const deliver = () =>
          penstock.rest<{ delivery: { status: string } }>('POST', `${path}/${id}/test`, { key });
        expect((await deliver()).body.delivery.status).toBe('succeeded');
        const event = JSON.parse(front.requests[0]!.body) as { id: string };
        await eventually(() => shop!.output().includes(event.id), { what: 'the printed event' });

        const genuine = front.requests[0]!;
        const changed = { ...genuine, body: genuine.body.replace('webhook.test', 'webhook.tost') };
        expect(await shop.forward(changed)).toBe(401);
        const later = String(Number(genuine.headers['x-service-timestamp']) + 1);
        const moved = { ...genuine, headers: { ...genuine.headers, 'x-service-timestamp': later } };
        expect(await shop.forward(moved)).toBe(401);

        const rotated = await penstock.rest<typeof made.body>('POST', `${path}/${id}/rotate-secret`, { key });
        expect((await deliver()).body.delivery.status).toBe('succeeded');
        shop.child.kill();
        shop = await open(language, rotated.body.webhook.secret);
        expect((await deliver()).body.delivery.status).toBe('succeeded');
      } finally {
        shop?.child.kill();
        await front.close();
        await penstock.rest('DELETE', `${path}/${id}`, { key });
      }
    },
  );
});
