import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createPenstock, PenstockError } from '../../client/src/index.js';
import type { Penstock } from '../../client/src/index.js';
import { createCuttable } from '../support/cuttable.js';
import { freePort } from '../support/installation.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
/** A way to the server that can be cut. */
let wire: Awaited<ReturnType<typeof createCuttable>>;
let penstock: Penstock;
/** Long enough for some parts; what it holds looks like a picture to nobody but its first bytes. */
const bytes = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(3_000_000)]);

beforeAll(async () => {
  const port = await freePort();
  wire = await createCuttable(`http://127.0.0.1:${port}`);
  server = await startPenstock({ port, env: { PUBLIC_URL: wire.url } });
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  penstock = createPenstock({ url: wire.url, key });
});
afterAll(async () => {
  penstock.close();
  await wire.close();
  await server.close();
});

const stored = async () => {
  const rows = await server.installation.sql<{ received: string; size_bytes: string; finished: boolean }>(
    `SELECT u.received, f.size_bytes, u.finished_at IS NOT NULL AS finished FROM uploads u JOIN files f ON f.id = u.file_id ORDER BY u.file_id DESC LIMIT 1`,
  );
  return rows[0];
};

it('sends a file in parts, tells how far it is, and goes on after the connection was lost', async () => {
  const told: number[] = [];
  let cuts = 0;
  const onProgress = (fraction: number): void => {
    told.push(fraction);
    if (fraction > 0.05 && cuts === 0) {
      cuts++;
      wire.cut();
      setTimeout(() => wire.mend(), 500);
    }
  };
  const file = await penstock.upload(new Blob([bytes], { type: 'image/png' }), { onProgress });
  expect(file).toEqual({
    id: expect.stringMatching(/^file_/) as string,
    reference: `file:${file.id}`,
    contentType: 'image/png',
    sizeBytes: bytes.length,
  });
  expect(cuts).toBe(1);
  expect([told[0], told.at(-1)]).toEqual([0, 1]);
  expect(told).toEqual(told.toSorted((a, b) => a - b));
  expect(await stored()).toEqual({
    received: String(bytes.length),
    size_bytes: String(bytes.length),
    finished: true,
  });
});

it('fails with the refusal of the server, and can be left', async () => {
  const text = new File(['# Weirs'], 'weirs.md');
  expect((await penstock.upload(text, { purpose: 'knowledge' })).contentType).toBe('text/markdown');
  await expect(penstock.upload(new Blob(['<p>'], { type: 'text/html' }))).rejects.toMatchObject({
    status: 400,
    param: 'contentType',
  });
  const lie = await penstock
    .upload(new Blob([bytes], { type: 'audio/wav' }))
    .catch((error: unknown) => error);
  expect(lie).toBeInstanceOf(PenstockError);
  expect(lie).toMatchObject({ code: 'invalid_request', message: 'The file is not of the type audio/wav' });
  const leaving = new AbortController();
  const left = penstock.upload(new Blob([bytes], { type: 'image/png' }), {
    signal: leaving.signal,
    onProgress: (fraction) => fraction > 0 && leaving.abort(),
  });
  await expect(left).rejects.toMatchObject({ name: 'AbortError' });
  expect(await stored()).toMatchObject({ finished: false });
});
