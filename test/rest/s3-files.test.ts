import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/index.js';
import { createS3Store } from '../../src/files/s3-store.js';
import { startFakeS3 } from '../support/fake-s3.js';
import type { FakeS3 } from '../support/fake-s3.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { beginUpload, put } from '../support/uploads.js';

let s3: FakeS3;
let penstock: TestServer;
let key: string;

beforeAll(async () => {
  s3 = await startFakeS3();
  penstock = await startPenstock({
    env: {
      FILES_URL: 's3://media/penstock',
      S3_ENDPOINT: s3.endpoint,
      S3_ACCESS_KEY_ID: 'test',
      S3_SECRET_ACCESS_KEY: 'secret',
    },
  });
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});

afterAll(async () => {
  await penstock.close();
  await s3.close();
});

test('a generated file lies in the bucket and opens under its signed URL, whole and in ranges', async () => {
  const answer = await penstock.rest<{ data: { url: string }[] }>('POST', '/images/generations', {
    key,
    body: { prompt: 'a weir', size: '512x512' },
  });
  expect(answer.status).toBe(200);
  const stored = [...s3.objects.keys()].filter((name) => name.startsWith('/media/penstock/org_'));
  expect(stored).toHaveLength(1);
  const { pathname, search } = new URL(answer.body.data[0]!.url);
  const url = `${penstock.origin}${pathname}${search}`;
  const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
  expect(whole).toEqual(s3.objects.get(stored[0]!));
  const part = await fetch(url, { headers: { range: 'bytes=1-3' } });
  expect(part.status).toBe(206);
  expect(Buffer.from(await part.arrayBuffer()).toString('latin1')).toBe('PNG');
  expect((await fetch(url, { method: 'HEAD' })).headers.get('content-length')).toBe(String(whole.length));
});

test('an upload in parts becomes one object, and no part is left', async () => {
  const bytes = Buffer.from('# Weirs\n\nA weir is a low dam.\n');
  const input = { contentType: 'text/markdown', sizeBytes: bytes.length };
  const { path, id } = await beginUpload(penstock, key, input);
  const first = { bytes: bytes.subarray(0, 9), range: `0-8/${bytes.length}` };
  expect(await put(penstock, path, first)).toMatchObject({ status: 308, range: 'bytes=0-8' });
  expect(await put(penstock, path, { bytes })).toMatchObject({ status: 200 });
  const stored = [...s3.objects].filter(([name]) => name.includes(id) || name.endsWith('.part'));
  expect(stored.map(([, object]) => object)).toEqual([bytes]);
});

test('a file that is gone from the bucket is 404', async () => {
  const answer = await penstock.rest<{ data: { url: string }[] }>('POST', '/images/generations', {
    key,
    body: { prompt: 'a lock', size: '512x512' },
  });
  const { pathname, search } = new URL(answer.body.data[0]!.url);
  s3.objects.delete(`/media/penstock${pathname.replace('/files', '')}`);
  expect((await fetch(`${penstock.origin}${pathname}${search}`)).status).toBe(404);
});

test('a bucket that is busy, or cuts a connection, is asked again: no finished work is thrown away', async () => {
  s3.faults.push({ status: 503, code: 'SlowDown' }, 'reset');

  const answer = await penstock.rest<{ data: { url: string }[] }>('POST', '/images/generations', {
    key,
    body: { prompt: 'a sluice', size: '512x512' },
  });

  expect(answer.status).toBe(200);
  expect(s3.faults).toEqual([]);
});

test('a refused write is not asked again', async () => {
  s3.faults.push({ status: 403, code: 'AccessDenied' });

  const answer = await penstock.rest('POST', '/images/generations', {
    key,
    body: { prompt: 'a gate', size: '512x512' },
  });

  expect(answer.status).toBe(500);
});

test.each([
  [{ status: 404, code: 'NoSuchBucket' }, 'FILES_URL: there is no bucket media at S3_ENDPOINT'],
  [{ status: 403, code: 'AccessDenied' }, /^FILES_URL: s3:\/\/media cannot be read: .*AccessDenied/],
])('a bucket that answers %o is told to the operator in a sentence', async (fault, told) => {
  s3.faults.push(fault);
  const store = createS3Store({
    url: 's3://media',
    endpoint: s3.endpoint,
    region: 'us-east-1',
    accessKeyId: 'test',
    secretAccessKey: 'secret',
  });
  await expect(store.readInstallation()).rejects.toThrow(told);
});

test.each(['s3://', 's3:///prefix'])('%s names no bucket, which is a fault of the configuration', (url) => {
  const env = { FILES_URL: url, S3_ACCESS_KEY_ID: 'a', S3_SECRET_ACCESS_KEY: 'b' };
  expect(() => loadConfig(env)).toThrow(/FILES_URL: must name a bucket/);
});

test('a bucket without its keys is a fault of the configuration', () => {
  const env = { FILES_URL: 's3://media' };
  expect(() => loadConfig(env)).toThrow(/FILES_URL: needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY/);
});
