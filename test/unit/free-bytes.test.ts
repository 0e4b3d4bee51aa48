import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import type { Principal } from '../../src/access/access.types.js';
import { TimeSlicer } from '../../src/collections/time-slicer.js';
import { createByteBudget, freeBytes, RequestBody } from '../../src/http/index.js';

const MB = 1_048_576;

it('frees a long buffer, and leaves a short one, whose memory others may use', () => {
  const [long, short] = [Buffer.alloc(MB, 1), Buffer.from('a weir')];
  freeBytes(long);
  freeBytes(short);
  expect(long.length).toBe(0);
  expect(short.toString()).toBe('a weir');
});

it('a body of JSON is freed when it is parsed, also a broken one, and waits for no collection', async () => {
  const piece = Buffer.alloc(MB, 'a');
  const bodyOf = (end: string): RequestBody => {
    const parts = [Buffer.from('{"file":"'), ...Array.from({ length: 24 }, () => piece), Buffer.from(end)];
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    const headers = { 'content-type': 'application/json', 'content-length': String(length) };
    const request = Object.assign(Readable.from(parts), { headers }) as unknown as IncomingMessage;
    const plan = { bodies: { heldMb: 512, mbPerSecond: 1000 } };
    const principal = { keyId: 'key', orgId: 'org', plan } as unknown as Principal;
    return new RequestBody(request, principal, {
      budget: createByteBudget(512 * MB),
      timeSlicer: new TimeSlicer(),
    });
  };
  const before = process.memoryUsage().arrayBuffers;
  const { file } = (await bodyOf('"}').parseJson(64 * MB, () => undefined)) as { file: string };
  expect(file.length).toBe(24 * MB);
  await expect(bodyOf('"').parseJson(64 * MB, () => undefined)).rejects.toThrow();
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(12 * MB);
});
