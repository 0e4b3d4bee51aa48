import { createServer } from 'node:http';
import type { Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createEgress } from '../../src/egress/index.js';
import type { Egress } from '../../src/egress/index.js';
import { createInputFetcher, fileReference, openFiles, removeOrphanedFiles } from '../../src/files/index.js';
import type { Files, InputFetcher } from '../../src/files/index.js';
import { createUrlSigner } from '../../src/files/signed-url.js';
import { newId } from '../../src/contract/ids.js';
import { createTestDatabase } from '../support/database.js';
import type { TestDatabase } from '../support/database.js';
import { startFakeS3 } from '../support/fake-s3.js';
import type { FakeS3 } from '../support/fake-s3.js';
import { eventually } from '../support/wait.js';

const logger = pino({ level: 'silent' });
const signing = { current: 'secret', previous: null };
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let test: TestDatabase;
let server: Server;
let files: Files;
let egress: Egress;
let inputs: InputFetcher;
let s3: FakeS3 | undefined;
const org = newId('org');
const stranger = newId('org');

const save = async (bytes: Buffer = PNG, orgId = org) =>
  await files.service.save({ orgId, bytes, contentType: 'image/png', width: 1, height: 1 });

/** Where files may lie; all else is the same on each. */
interface Place {
  settings(): object;
  /** Every file in the store, the installation's mark aside. */
  stored(): Promise<string[]>;
  /** Settings of another store, empty or with the mark of another installation. */
  another(mark: string | null): Promise<object>;
}

const FOLDER: Place = {
  settings: () => ({}),
  async stored() {
    const folder = join(test.config.dataDir, 'files');
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() && entry.name !== 'installation')
      .map((entry) => entry.name);
  },
  async another(mark) {
    const dataDir = await mkdtemp(join(test.config.dataDir, 'other-'));
    if (mark !== null) {
      await mkdir(join(dataDir, 'files'), { recursive: true });
      await writeFile(join(dataDir, 'files', 'installation'), `${mark}\n`);
    }
    return { dataDir };
  },
};

const bucket = (name: string) => ({
  files: {
    s3: {
      url: `s3://${name}/some/prefix`,
      endpoint: s3?.endpoint ?? '',
      region: 'auto',
      accessKeyId: 'test',
      secretAccessKey: 'secret',
    },
  },
});
const BUCKET: Place = {
  settings: () => bucket('media'),
  stored: () =>
    Promise.resolve(
      [...(s3?.objects.keys() ?? [])]
        .filter((name) => name.startsWith('/media/') && !name.endsWith('/installation'))
        .map((name) => name.split('/').at(-1) ?? ''),
    ),
  another(mark) {
    const name = `other${Math.random().toString(36).slice(2)}`;
    if (mark !== null) s3?.objects.set(`/${name}/some/prefix/installation`, Buffer.from(`${mark}\n`));
    return Promise.resolve(bucket(name));
  },
};

describe.each([
  ['folder', FOLDER],
  ['bucket', BUCKET],
])('with files in a %s', (_where, place) => {
  const { stored } = place;
  const open = async (settings: object) =>
    await openFiles({ config: { ...test.config, ...settings }, database: test.database, signing, logger });

  beforeAll(async () => {
    test = await createTestDatabase();
    s3 = await startFakeS3();
    server = createServer((request, response) => {
      if (request.url?.startsWith('/files/') === true) void files.handler(request, response);
      else if (request.url === '/big') response.end(Buffer.alloc(3 * 1_048_576));
      else if (request.url === '/gone') response.writeHead(404).end();
      else response.end(PNG);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    test.config.http.publicUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    files = await open(place.settings());
    egress = createEgress({ config: { egress: { allow: ['127.0.0.1/32'] } } });
    inputs = createInputFetcher({ egress, files: files.service });
  });

  afterAll(async () => {
    files.close();
    await egress.close();
    server.closeAllConnections();
    server.close();
    await s3?.close();
    await test.close();
  });

  describe('a stored file', () => {
    it('has its row before its bytes, and no bytes once its row is gone: whoever dies or deletes meanwhile', async () => {
      const { put } = files.store;
      const rows: unknown[] = [];
      const spied = vi.spyOn(files.store, 'put');
      spied.mockImplementation(async (key, bytes) => {
        rows.push((await files.service.get(org, key.id)).id);
        if (rows.length === 2) await files.service.remove(org, [key.id]);
        await put(key, bytes);
      });
      try {
        const [kept, deleted] = [await save(), await save()];
        expect(rows).toEqual([kept.id, deleted.id]);
        expect(await files.store.size(kept)).toBe(PNG.length);
        expect(await files.store.size(deleted)).toBeNull();
      } finally {
        spied.mockRestore();
      }
    });

    it('opens under its signed address without a key, as what it is and nothing more', async () => {
      const file = await save();
      const answer = await fetch(files.service.url(file));
      expect(answer.status).toBe(200);
      expect(Buffer.from(await answer.arrayBuffer())).toEqual(PNG);
      const headers = Object.fromEntries(answer.headers);
      expect(headers).toMatchObject({
        'content-type': 'image/png',
        'content-length': String(PNG.length),
        'x-content-type-options': 'nosniff',
        'accept-ranges': 'bytes',
        'content-disposition': `inline; filename="${file.id}.png"`,
      });
      expect(headers['content-security-policy']).toContain('sandbox');
      expect(headers['cache-control']).toMatch(/^private, max-age=\d+, immutable$/);
    });

    it('is served in ranges', async () => {
      const url = files.service.url(await save(Buffer.from('0123456789')));
      const get = async (range: string) => await fetch(url, { headers: { range } });
      for (const [range, text, shown] of [
        ['bytes=0-3', '0123', 'bytes 0-3/10'],
        ['bytes=7-', '789', 'bytes 7-9/10'],
        ['bytes=-2', '89', 'bytes 8-9/10'],
        ['bytes=8-99', '89', 'bytes 8-9/10'],
        ['Bytes=8-99999999999999999999', '89', 'bytes 8-9/10'],
      ] as const) {
        const answer = await get(range);
        expect([answer.status, answer.headers.get('content-range'), await answer.text()]).toEqual([
          206,
          shown,
          text,
        ]);
      }
      const beyond = await get('bytes=10-');
      expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */10']);
      expect((await get('bytes=-0')).status).toBe(416);
      for (const odd of ['bytes=0-1,3-4', 'lines=1-2', 'bytes=5-2'])
        expect((await get(odd)).status, odd).toBe(200);
    });

    it('answers HEAD without a body and 304 to who has it already', async () => {
      const url = files.service.url(await save());
      const head = await fetch(url, { method: 'HEAD' });
      expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
        200,
        String(PNG.length),
        '',
      ]);
      const ranged = await fetch(url, { method: 'HEAD', headers: { range: 'bytes=0-3' } });
      expect([ranged.status, ranged.headers.get('content-length')]).toEqual([200, String(PNG.length)]);
      const etag = head.headers.get('etag') ?? '';
      for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
        expect((await fetch(url, { headers: { 'if-none-match': known } })).status).toBe(304);
      expect((await fetch(url, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
      const post = await fetch(url, { method: 'POST' });
      expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    });

    it('is given only to whoever wants these bytes, where a caller says which', async () => {
      const url = files.service.url(await save());
      const etag = (await fetch(url, { method: 'HEAD' })).headers.get('etag') ?? '';
      const headers = { range: 'bytes=0-3', 'if-none-match': '"other"' };
      const asked = async (wanted: string) =>
        (await fetch(url, { headers: { ...headers, 'if-match': wanted } })).status;
      for (const wanted of [etag, `"other", ${etag}`, '*']) expect(await asked(wanted)).toBe(206);
      for (const wanted of ['"other"', `W/${etag}`]) expect(await asked(wanted)).toBe(412);
    });

    it('does not open under a forged address, and is gone once removed', async () => {
      const file = await save();
      const url = files.service.url(file);
      for (const forged of [
        url.replace(org, stranger),
        url.replace(/.$/, (last) => (last === '0' ? '1' : '0')),
        url.split('?')[0] ?? '',
      ]) {
        const answer = await fetch(forged);
        expect(answer.status).toBe(403);
        expect(await answer.json()).toEqual({ error: 'Invalid or expired link', code: 'forbidden' });
      }
      await files.service.remove(stranger, [file.id]);
      expect((await fetch(url)).status).toBe(200);
      await files.service.remove(org, [file.id]);
      expect((await fetch(url)).status).toBe(404);
      expect((await stored()).some((name) => name.startsWith(file.id))).toBe(false);
      await expect(files.service.get(org, file.id)).rejects.toMatchObject({ code: 'not_found' });
    });

    it('closes when its address expires', async () => {
      const { id, orgId, extension } = await save();
      // Signed nine days ago.
      const signer = createUrlSigner(signing, () => Date.now() - 9 * 86_400_000);
      const old = `${test.config.http.publicUrl}${signer.sign({ orgId, id, extension })}`;
      expect((await fetch(old)).status).toBe(403);
      const prolonged = new URL(old);
      prolonged.searchParams.set('expires', String(Math.ceil(Date.now() / 1000) + 86_400));
      expect((await fetch(prolonged)).status).toBe(403);
    });

    it('is found by its own organisation only', async () => {
      const file = await save();
      expect(await files.service.read(org, file.id)).toEqual(PNG);
      await expect(files.service.get(stranger, file.id)).rejects.toMatchObject({ code: 'not_found' });
      await expect(files.service.get(org, '../x')).rejects.toMatchObject({ code: 'not_found' });
    });

    it('shows as the same signed address wherever JSON refers to it', async () => {
      const file = await save();
      const value = {
        images: [{ url: fileReference(file), width: 1 }],
        other: { $file: 'x', y: 1 },
        at: null,
      };
      expect(files.service.sign(org, value)).toEqual({
        images: [{ url: files.service.url(file), width: 1 }],
        other: { $file: 'x', y: 1 },
        at: null,
      });
    });

    it('is closed again where its reader left while it was opened', async () => {
      const url = files.service.url(await save());
      const { store } = files;
      const stream = store.stream.bind(store);
      const left = new Promise((resolve) =>
        server.once('request', (_request, response: ServerResponse) => response.once('close', resolve)),
      );
      const reader = new AbortController();
      const opened: Readable[] = [];
      const spy = vi.spyOn(store, 'stream').mockImplementation(async (...given) => {
        const bytes = await stream(...given);
        if (bytes !== null) opened.push(bytes);
        reader.abort();
        await left;
        return bytes;
      });
      await expect(fetch(url, { signal: reader.signal })).rejects.toThrow();
      await eventually(() => opened[0]?.destroyed === true);
      spy.mockRestore();
    });

    it('leaves nothing where its row cannot be written', async () => {
      const before = await stored();
      const bad = { orgId: org, bytes: PNG, contentType: 'image/png', width: 1.5 };
      await expect(files.service.save(bad)).rejects.toThrow();
      expect(await stored()).toEqual(before);
    });

    it('goes when what it belonged to is no more, or never came to be, an hour later, and stays otherwise', async () => {
      const orphan = await files.service.save({
        orgId: org,
        bytes: PNG,
        contentType: 'image/png',
        jobId: newId('job'),
      });
      const young = await files.service.save({
        orgId: org,
        bytes: PNG,
        contentType: 'image/png',
        jobId: newId('job'),
      });
      const [upload, kept] = [await save(), await save()];
      await test.database.system.query(
        `WITH o AS (INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ($2, 'o', 'free', 'usr_o') ON CONFLICT DO NOTHING)
          INSERT INTO knowledge_files (id, org_id, agent_id, file_id, filename, content_type, size_bytes)
          VALUES ($1, $2, 'agt_a', $3, 'a.txt', 'text/plain', 1)`,
        [newId('kf'), org, kept.id],
      );
      await test.database.system.query(
        `UPDATE files SET created_at = now() - interval '2 hours' WHERE id = ANY($1)`,
        [[orphan.id, upload.id, kept.id]],
      );
      expect(await removeOrphanedFiles(test.database, files.store)).toBe(2);
      for (const { id } of [orphan, upload])
        await expect(files.service.get(org, id)).rejects.toMatchObject({ code: 'not_found' });
      expect((await files.service.get(org, young.id)).id).toBe(young.id);
      expect((await files.service.get(org, kept.id)).id).toBe(kept.id);
    });
  });

  describe('the store', () => {
    it('that lacks the installation is refused with the reason, and one of another installation too', async () => {
      await expect(open(await place.another(null))).rejects.toThrow(/lacks the installation's id/);
      await expect(open(await place.another('another'))).rejects.toThrow(/belong to another installation/);
    });

    it('of this installation opens again', async () => {
      (await open(place.settings())).close();
    });
  });

  describe('an input that a caller gives', () => {
    const read = async (value: string, orgId = org) =>
      await inputs.fetch({ orgId, value, field: 'image', maxMb: 1 });

    it('is read from a URL, a data: URL or base64, and judged by its bytes', async () => {
      const url = `${test.config.http.publicUrl}/a.txt`;
      for (const value of [url, `data:text/plain;base64,${PNG.toString('base64')}`, PNG.toString('base64')])
        expect(await read(value)).toEqual({ bytes: PNG, contentType: 'image/png' });
      expect(await read('data:,hello%20world')).toEqual({
        bytes: Buffer.from('hello world'),
        contentType: null,
      });
      // Any byte in percent signs; a character beyond ASCII is UTF-8.
      expect((await read('data:,%ff%4aé+%C3%a9')).bytes).toEqual(Buffer.from('ff4ac3a92bc3a9', 'hex'));
    });

    it('that is a signed address of its own organisation is read from the store', async () => {
      const url = files.service.url(await save());
      const offline = createInputFetcher({
        egress: { ...egress, request: () => Promise.reject(new Error('no connection is made')) },
        files: files.service,
      });
      const request = { value: url, field: 'image', maxMb: 1 };
      expect((await offline.fetch({ ...request, orgId: org })).bytes).toEqual(PNG);
      await expect(offline.fetch({ ...request, orgId: stranger })).rejects.toThrow('no connection is made');
    });

    it('is refused with the field named where it is too large, unreadable, or of a forbidden form', async () => {
      const base = test.config.http.publicUrl;
      for (const [value, code, message] of [
        [`${base}/big`, 'payload_too_large', 'image exceeds the maximum size of 1 MB'],
        [
          Buffer.alloc(1_200_000).toString('base64'),
          'payload_too_large',
          'image exceeds the maximum size of 1 MB',
        ],
        [`data:,${'x'.repeat(1_100_000)}`, 'payload_too_large', 'image exceeds the maximum size of 1 MB'],
        [`${base}/gone`, 'invalid_request', 'Could not fetch image'],
        ['http://127.0.0.1:1/', 'invalid_request', 'Could not fetch image'],
        ['http://10.0.0.1/', 'invalid_request', 'Invalid URL'],
        ['http://localhost/', 'invalid_request', 'Invalid URL'],
        ['ftp://example.com/', 'invalid_request', 'Invalid URL'],
        ['file:///etc/passwd', 'invalid_request', 'Invalid URL'],
        ['//127.0.0.1/', 'invalid_request', 'Invalid URL'],
        [' http://127.0.0.1/', 'invalid_request', 'Invalid URL'],
        ['not base64!', 'invalid_request', 'image must be an http(s) URL, a data: URL or base64 data'],
        [
          'data:image/png;base64',
          'invalid_request',
          'image must be an http(s) URL, a data: URL or base64 data',
        ],
        ['', 'invalid_request', 'image must be an http(s) URL, a data: URL or base64 data'],
      ] as const)
        await expect(read(value), value.slice(0, 40)).rejects.toMatchObject({
          code,
          message,
          details: { param: 'image' },
        });
    });
  });
});
