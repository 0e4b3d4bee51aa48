import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config.js';
import { startFakeS3 } from '../support/fake-s3.js';
import type { FakeS3 } from '../support/fake-s3.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

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

test('a file that is gone from the bucket is 404', async () => {
  const answer = await penstock.rest<{ data: { url: string }[] }>('POST', '/images/generations', {
    key,
    body: { prompt: 'a lock', size: '512x512' },
  });
  const { pathname, search } = new URL(answer.body.data[0]!.url);
  s3.objects.delete(`/media/penstock${pathname.replace('/files', '')}`);
  expect((await fetch(`${penstock.origin}${pathname}${search}`)).status).toBe(404);
});

test('a bucket without its keys is a fault of the configuration', () => {
  const env = { FILES_URL: 's3://media' };
  expect(() => loadConfig(env)).toThrow(/FILES_URL: needs S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY/);
});
