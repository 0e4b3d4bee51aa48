import { connect } from 'node:net';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDiskStore } from '../../src/files/disk-store.js';
import { removeOrphanedFiles } from '../../src/files/index.js';
import { makeAgent } from '../support/agents.js';
import { makeToken } from '../support/client-tokens.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { beginUpload, CREATE_UPLOAD, put, uploadWhole } from '../support/uploads.js';
import { eventually } from '../support/wait.js';

let server: TestServer;
/** Another process of the same installation, as the file store and the database see it. */
let second: TestServer;
let key: string;
let orgId: string;
let picture: Buffer;
const ORIGIN = 'https://app.example.com';

beforeAll(async () => {
  server = await startPenstock({ env: { CORS_ORIGINS: ORIGIN } });
  second = await startPenstock({ installation: server.installation, role: 'api' });
  ({ key, orgId } = await server.createOrg({ plan: 'business_monthly' }));
  const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const;
  const create = { width: 300, height: 300, channels: 3, background: '#888', noise } as const;
  picture = await sharp({ create }).png().toBuffer();
});
afterAll(async () => {
  await second?.close();
  await server?.close();
});

const begin = (sizeBytes = picture.length, contentType = 'image/png') =>
  beginUpload(server, key, { contentType, sizeBytes });
const rangeOf = (start: number, end: number) => `${start}-${end - 1}/${picture.length}`;
const part = (start: number, end: number) => ({
  bytes: picture.subarray(start, end),
  range: rangeOf(start, end),
});
const where = () => ({ range: `*/${picture.length}` });

/** Whether an edit can be made of the file. */
async function edit(file: string, by = key) {
  const { status, body } = await server.rest<{ error?: string; param?: string }>('POST', '/images/edits', {
    key: by,
    body: { operation: 'colorization', image: file },
  });
  return { status, error: body.error, param: body.param };
}

async function storedBytes(of: string): Promise<number> {
  const query = '{ penstockStorage { fileBytes } }';
  const { data } = await server.graphql<{ penstockStorage: { fileBytes: number } }>(query, { key: of });
  return data?.penstockStorage.fileBytes ?? Number.NaN;
}

/** Names of all files that the store holds of an organisation. */
async function onDisk(of: string): Promise<string[]> {
  const folder = join(server.installation.dataDir, 'files', of);
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return found.filter((entry) => entry.isFile()).map(({ name }) => name);
}

describe('an upload', () => {
  it('takes a file whole, and its id wherever a file is taken', async () => {
    const { path, headers, id } = await begin();
    expect(headers).toEqual([{ name: 'Content-Type', value: 'image/png' }]);
    expect(await edit(`file:${id}`)).toMatchObject({ status: 400, param: 'image' });
    expect(await put(server, path, { bytes: picture })).toMatchObject({
      status: 200,
      body: { file: { id } },
    });
    expect((await edit(`file:${id}`)).status).toBe(200);
  });

  it('takes a file in parts, over any process, and says where it stands', async () => {
    const { path, id } = await begin();
    expect(await put(server, path, where())).toEqual({ status: 308, range: undefined, body: null });
    expect(await put(server, path, part(0, 1000))).toEqual({ status: 308, range: 'bytes=0-999', body: null });
    expect(await put(second, path, where())).toMatchObject({ status: 308, range: 'bytes=0-999' });
    expect(await put(second, path, part(1000, 50_000))).toMatchObject({ range: 'bytes=0-49999' });
    const answer = await put(server, path, part(50_000, picture.length));
    expect(answer).toMatchObject({ status: 200, body: { file: { id } } });
    expect(await put(second, path, where())).toMatchObject({ status: 200 });
    const ours = (await onDisk(orgId)).filter((name) => name.startsWith(id) || name.endsWith('.part'));
    expect(ours).toEqual([`${id}.png`]);
    expect((await edit(`file:${id}`)).status).toBe(200);
  });

  it('begins each byte once, whatever overlaps, repeats or comes at the same time', async () => {
    const { path, id } = await begin();
    await put(server, path, part(0, 1000));
    const lie = { bytes: Buffer.alloc(2000, 7), range: rangeOf(0, 2000) };
    // The first thousand bytes stay what they were, the rest is new.
    lie.bytes.set(picture.subarray(1000, 2000), 1000);
    expect(await put(server, path, lie)).toMatchObject({ status: 308, range: 'bytes=0-1999' });
    expect(await put(server, path, part(0, 1000))).toMatchObject({ status: 308, range: 'bytes=0-1999' });
    const same = await Promise.all(
      [server, second, server, second].map((process) => put(process, path, part(2000, picture.length))),
    );
    expect(same.some(({ status }) => status === 200)).toBe(true);
    expect(await put(server, path, where())).toMatchObject({ status: 200 });
    // What comes after the end changes nothing.
    expect(await put(server, path, { bytes: Buffer.alloc(picture.length) })).toMatchObject({ status: 200 });
    expect((await edit(`file:${id}`)).status).toBe(200);
    expect((await onDisk(orgId)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('keeps what came of a part whose connection was lost', async () => {
    const { path } = await begin();
    const [half, { hostname, port }] = [picture.subarray(0, 100_000), new URL(server.origin)];
    const socket = connect(Number(port), hostname);
    socket.write(`PUT ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${picture.length}\r\n\r\n`);
    socket.end(half);
    socket.on('error', () => undefined).resume();
    await eventually(async () => (await put(server, path, where())).range === `bytes=0-${half.length - 1}`);
    expect(await put(second, path, part(half.length, picture.length))).toMatchObject({ status: 200 });
  });

  it('is open to pages of the allowed origins alone', async () => {
    const { path } = await begin();
    const headers = {
      origin: ORIGIN,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'content-range,content-type',
    };
    const preflight = await server.raw(path, { method: 'OPTIONS', headers });
    await preflight.body.dump();
    expect(preflight.headers).toMatchObject({
      'access-control-allow-origin': ORIGIN,
      'access-control-allow-methods': expect.stringContaining('PUT') as string,
      'access-control-allow-headers': 'content-range,content-type',
    });
    const asked = await server.raw(path, {
      method: 'PUT',
      headers: { origin: ORIGIN, 'content-range': `bytes ${where().range}` },
    });
    await asked.body.dump();
    expect(asked.headers['access-control-expose-headers']).toMatch(/\bRange\b/);
  });
});

describe('a hostile upload', () => {
  it('is refused where its range does not fit, and nothing of it is kept', async () => {
    const { path } = await begin();
    const total = picture.length;
    for (const [range, bytes, status] of [
      ['5-9', 5, 400],
      [`9-5/${total}`, 5, 400],
      [`-5-9/${total}`, 5, 400],
      [`0-${total}/${total}`, total + 1, 400],
      [`0-9/${total + 1}`, 10, 400],
      [`0-9/*`, 10, 400],
      [`10-19/${total}`, 10, 409],
      [`0-9/${total}`, 11, 400],
      [`0-9/${total}`, 9, 400],
      [`*/${total}`, 3, 400],
      [undefined, 10, 400],
    ] as const)
      expect([
        range,
        (await put(server, path, { bytes: Buffer.alloc(bytes), ...(range && { range }) })).status,
      ]).toEqual([range, status]);
    const packed = await put(server, path, { ...part(0, 10), headers: { 'content-encoding': 'gzip' } });
    expect(packed.status).toBe(415);
    const chunked = await server.raw(path, {
      method: 'PUT',
      body: (async function* () {
        yield Buffer.alloc(8);
        yield Buffer.alloc(8);
      })() as never,
      headers: { 'content-range': `bytes ${rangeOf(0, 10)}` },
    });
    expect([chunked.statusCode, await chunked.body.json()]).toEqual([
      400,
      expect.objectContaining({ code: 'invalid_request' }),
    ]);
    expect(await put(server, path, where())).toEqual({ status: 308, range: undefined, body: null });
  });

  it('needs the signature of its own address, which opens nothing else', async () => {
    const { path, id } = await begin();
    const [bare, query = ''] = path.split('?');
    const other = await server.createOrg({ plan: 'business_monthly' });
    for (const [forged, status] of [
      [bare, 403],
      [path.replace(/.$/, (last) => (last === '0' ? '1' : '0')), 403],
      [path.replace(orgId, other.orgId), 403],
      [path.replace(/expires=\d+/, 'expires=99999999999'), 403],
      [`${path}&signature=${'0'.repeat(64)}`, 403],
      [`/files/${orgId}/${id}.png?${query}`, 405],
    ] as const)
      expect([forged, (await put(server, forged ?? '', part(0, 10))).status]).toEqual([forged, status]);
    const read = await server.raw(path, { method: 'GET' });
    await read.body.dump();
    expect(read.statusCode).toBe(405);
    const asFile = await server.raw(`/files/${orgId}/${id}.png?${query}`, { method: 'GET' });
    await asFile.body.dump();
    expect(asFile.statusCode).toBe(403);
  });

  it('of another type than it said is refused, and gives its storage back', async () => {
    const before = await storedBytes(key);
    const { path, id } = await begin(picture.length, 'audio/wav');
    expect(await storedBytes(key)).toBe(before + picture.length);
    expect(await put(server, path, { bytes: picture })).toMatchObject({
      status: 400,
      body: { error: 'The file is not of the type audio/wav' },
    });
    expect(await storedBytes(key)).toBe(before);
    expect((await put(server, path, where())).status).toBe(404);
    expect((await onDisk(orgId)).filter((name) => name.startsWith(id) || name.endsWith('.part'))).toEqual([]);
  });
});

describe('createUpload', () => {
  const create = async (input: object, by = key, headers = {}) => {
    type Data = { createUpload: { url: string; file: { id: string } } };
    const { data, errors } = await server.graphql<Data>(CREATE_UPLOAD, {
      key: by,
      variables: { input },
      headers,
    });
    return {
      made: data?.createUpload,
      fault: errors[0] && { message: errors[0].message, ...errors[0].extensions },
    };
  };
  const input = { contentType: 'image/png', sizeBytes: 1000, purpose: 'input' };

  it('refuses what no field takes', async () => {
    for (const [change, fault] of [
      [{ contentType: 'text/html' }, { httpStatus: 400, param: 'contentType' }],
      [{ sizeBytes: 0 }, { httpStatus: 400, param: 'sizeBytes' }],
      [{ sizeBytes: -1 }, { httpStatus: 400, param: 'sizeBytes' }],
      [{ sizeBytes: 101 * 1_048_576 }, { httpStatus: 413, param: 'sizeBytes' }],
      [
        { sizeBytes: 60 * 1_048_576, purpose: 'knowledge' },
        { httpStatus: 413, param: 'sizeBytes' },
      ],
    ] as const)
      expect((await create({ ...input, ...change })).fault).toMatchObject(fault);
  });

  it('reserves storage of the declared size, until the limit', async () => {
    const free = await server.createOrg({ plan: 'free' });
    const most = 40 * 1_048_576;
    let fault;
    for (let made = 0; made < 40 && fault === undefined; made++)
      ({ fault } = await create({ ...input, sizeBytes: most }, free.key));
    expect(fault).toMatchObject({ message: 'Storage limit reached', httpStatus: 402 });
  });

  it('makes one upload for one Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'upload-1' };
    const [one, two] = [await create(input, key, headers), await create(input, key, headers)];
    expect(two.made).toEqual(one.made);
  });

  it('is for keys that can use the file, and never for tokens that are bound to something', async () => {
    const usage = await server.createKey(orgId, { scopes: ['usage'] });
    expect((await create(input, usage.key)).fault).toMatchObject({ httpStatus: 403 });
    const chat = await server.createKey(orgId, { scopes: ['chat'] });
    expect((await create(input, chat.key)).made).toBeDefined();
    expect((await create({ ...input, purpose: 'knowledge' }, chat.key)).fault).toMatchObject({
      httpStatus: 403,
    });
    const agentId = await makeAgent(server, key);
    const scopes = ['agents', 'chat'];
    const [free, bound] = [
      (await makeToken(server, key, { scopes })).token,
      (await makeToken(server, key, { scopes, agent_id: agentId })).token,
    ];
    expect((await create(input, free)).made).toBeDefined();
    expect((await create(input, bound)).fault).toMatchObject({ httpStatus: 403 });
    const url = await uploadWhole(server, key, { bytes: picture, contentType: 'image/png' });
    const body = { input: 'x', attachments: [{ type: 'image', url, name: 'x' }] };
    const run = (by: string) => server.rest('POST', `/agents/${agentId}/run`, { key: by, body });
    expect([(await run(free)).status, (await run(bound)).status]).toEqual([200, 400]);
  });

  it('gives ids that mean nothing to another organisation', async () => {
    const file = await uploadWhole(server, key, { bytes: picture, contentType: 'image/png' });
    const other = await server.createOrg({ plan: 'business_monthly' });
    const unknown = await edit('file:file_00000000000000000000000000', other.key);
    expect(unknown.status).toBe(400);
    expect(await edit(file, other.key)).toEqual(unknown);
    expect((await edit('file:///etc/passwd')).status).toBe(400);
  });

  it('is forgotten after a day, with its bytes and its storage', async () => {
    const org = await server.createOrg({ plan: 'business_monthly' });
    const { path, id } = await beginUpload(server, org.key, {
      contentType: 'image/png',
      sizeBytes: picture.length,
    });
    await put(server, path, part(0, 1000));
    expect((await onDisk(org.orgId)).length).toBe(1);
    await server.installation.sql(
      `UPDATE uploads SET expires_at = now() - interval '1 second' WHERE file_id = '${id}'`,
    );
    expect((await put(server, path, where())).status).toBe(404);
    const folder = join(server.installation.dataDir, 'files');
    const store = createDiskStore({ folder, spoolFolder: join(folder, 'incoming') });
    await removeOrphanedFiles(server.services.database, store);
    expect([await onDisk(org.orgId), await storedBytes(org.key)]).toEqual([[], 0]);
  });
});
