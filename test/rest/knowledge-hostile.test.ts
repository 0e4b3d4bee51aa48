import { execFileSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { createInstallation } from '../support/installation.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { spawnPenstock } from '../support/spawned.js';
import { eventually } from '../support/wait.js';
import { docxOf, wordXml } from '../support/zip.js';

let penstock: TestServer;
let key: string;
let agentId: string;

beforeAll(async () => {
  // Files are watched by asking often.
  penstock = await startPenstock({
    plans: { plans: { pro_monthly: { rate: { rpm: 60_000, burst: 60_000 } } } },
  });
  ({ key } = await penstock.createOrg({ plan: 'pro_monthly' }));
  agentId = await makeAgent(penstock, key);
});
afterAll(() => penstock?.close());

interface FileRecord {
  id: string;
  filename: string;
  status: string;
  error_message: string | null;
  size_bytes: number;
  chunk_count: number;
}

async function upload(bytes: Uint8Array | string, filename: string) {
  const form = new FormData();
  form.append('file', new Blob([bytes as Uint8Array<ArrayBuffer>]), filename);
  const url = `${penstock.baseUrl}/agents/${agentId}/knowledge`;
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body: form,
  });
  return { status: response.status, body: (await response.json()) as { file: FileRecord; error?: string } };
}

/** Uploads, waits for the end, deletes. */
async function outcomeOf(bytes: Uint8Array | string, filename: string): Promise<FileRecord> {
  const { status, body } = await upload(bytes, filename);
  expect(status).toBe(200);
  const path = `/agents/${agentId}/knowledge/${body.file.id}`;
  const file = await eventually(
    async () => {
      const answer = await penstock.rest<{ file: FileRecord }>('GET', path, { key });
      return (
        (answer.body.file.status === 'completed' || answer.body.file.status === 'failed') && answer.body.file
      );
    },
    { timeoutMs: 60_000 },
  );
  await penstock.rest('DELETE', path, { key });
  return file;
}

/** What lies in the store besides its marker: files, and what is on its way in. */
async function stored(): Promise<string[]> {
  const folder = join(penstock.installation.env['DATA_DIR'] ?? '', 'files');
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return found.flatMap((entry) => (entry.isFile() && entry.name !== 'installation' ? [entry.name] : []));
}

/** Processes of this one that read a document now. */
function readers(): number[] {
  const listed = execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });
  return listed.split('\n').flatMap((line) => {
    const [pid, ppid, ...args] = line.trim().split(/\s+/);
    return Number(ppid) === process.pid && args.join(' ').includes('extract.child.js') ? [Number(pid)] : [];
  });
}

/** Kills those who read until `end` has come, at most `times`. @returns how many it killed */
async function killReaders(times: number, end: Promise<unknown>): Promise<number> {
  const killed = new Set<number>();
  let over = false;
  void end.finally(() => (over = true));
  while (!over && killed.size < times) {
    for (const pid of readers()) if (!killed.has(pid) && process.kill(pid, 'SIGKILL')) killed.add(pid);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return killed.size;
}

function pdfOf(content: Buffer): Buffer {
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 100 100] /Contents 4 0 R >>',
  ].map((body, index) => Buffer.from(`${index + 1} 0 obj\n${body}\nendobj\n`));
  const stream = `4 0 obj\n<< /Length ${content.length} /Filter [/FlateDecode /FlateDecode] >>\nstream\n`;
  return Buffer.concat([
    Buffer.from('%PDF-1.7\n'),
    ...objects,
    Buffer.from(stream),
    content,
    Buffer.from('\nendstream\nendobj\ntrailer\n<< /Root 1 0 R >>\n%%EOF\n'),
  ]);
}

test('a document whose reader is killed is read by another one; one that ends two readers has failed', async () => {
  const large = 'a,b,c\n' + 'one,two,three\n'.repeat(100_000);
  const once = outcomeOf(large, 'once.csv');
  expect(await killReaders(1, once)).toBe(1);
  expect(await once).toMatchObject({ status: 'completed', error_message: null });
  const twice = outcomeOf(large, 'twice.csv');
  expect(await killReaders(2, twice)).toBe(2);
  expect(await twice).toMatchObject({ status: 'failed', error_message: 'The file cannot be read' });
});

test('a CSV whose rows would be long with the name of their column has the name in front of some only', async () => {
  const wide = await outcomeOf(`${'n'.repeat(1000)}\n${'1\n'.repeat(30_000)}`, 'wide.csv');
  expect(wide).toMatchObject({ status: 'completed', error_message: null });
  expect(wide.chunk_count).toBeLessThan(200);
});

test('however long and odd a text is, the process that has it read answers others meanwhile, and stays small', async () => {
  const installation = await createInstallation();
  const server = await spawnPenstock(installation);
  try {
    const owner = await installation.createOrg({ plan: 'business_monthly' });
    const agent = await server.rest<{ agent: { id: string } }>('POST', '/agents', {
      key: owner.key,
      body: { name: 'Reader', system_prompt: 'x' },
    });
    const path = `/agents/${agent.body.agent.id}/knowledge`;
    const body = Buffer.concat([
      Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="tabs.txt"\r\n\r\n'),
      Buffer.alloc(19_800_000, 'a\t'),
      Buffer.from('\r\n--b--\r\n'),
    ]);
    const headers = { 'content-type': 'multipart/form-data; boundary=b' };
    const sent = await server.rest<{ file: FileRecord }>('POST', path, { key: owner.key, body, headers });
    expect(sent.status).toBe(200);

    let longest = 0;
    for (let status = 'pending'; status !== 'completed';) {
      const asked = performance.now();
      await (await server.raw('/healthz', { method: 'GET' })).body.dump();
      longest = Math.max(longest, performance.now() - asked);
      const [row] = await installation.sql<{ status: string; error_message: string }>(
        'SELECT status, error_message FROM knowledge_files WHERE id = $1',
        [sent.body.file.id],
      );
      status = row?.status ?? 'failed';
      expect(row?.error_message).toBe(null);
    }
    expect(longest).toBeLessThan(600);
    const peak = /VmHWM:\s*(\d+)/.exec(await readFile(`/proc/${server.pid}/status`, 'utf8'))?.[1];
    expect(Number(peak)).toBeLessThan(600 * 1024);
  } finally {
    await server.close();
    await installation.close();
  }
}, 90_000);

describe('a hostile document ends as failed, and says why', () => {
  const flood = (bytes: number) => Buffer.from(wordXml('a'.repeat(bytes)));

  test.each([
    ['a DOCX that unpacks to 200 MB', () => docxOf(flood(200e6)), 'The document is too large unpacked'],
    [
      'one that says it is small',
      () => docxOf(flood(100e6), [], { claimedSize: 1000 }),
      'The document cannot be opened',
    ],
    [
      'one of 6,000 parts',
      () =>
        docxOf(
          wordXml('x'),
          Array.from({ length: 6000 }, (_, n) => ({ name: `word/${n}.bin`, bytes: Buffer.from('x') })),
        ),
      'The document is too large unpacked',
    ],
    [
      'one with an external entity',
      () => docxOf(wordXml('&file;', '<!DOCTYPE d [<!ENTITY file SYSTEM "file:///etc/passwd">]>')),
      'The document declares entities',
    ],
    [
      'one with entities in another of its parts, written in UTF-16',
      () =>
        docxOf(wordXml('x'), [
          {
            name: 'word/styles.xml',
            bytes: Buffer.from(
              '\ufeff<?xml version="1.0"?><!DOCTYPE d [<!ENTITY a "b">]><d>&a;</d>',
              'utf16le',
            ),
          },
        ]),
      'The document declares entities',
    ],
  ])(
    '%s',
    async (_what, make, reason) => {
      expect(await outcomeOf(make(), 'bomb.docx')).toMatchObject({ status: 'failed', error_message: reason });
    },
    70_000,
  );

  test('a PDF whose page unpacks to half a gigabyte', async () => {
    const bomb = deflateSync(deflateSync(Buffer.alloc(512 * 1024 * 1024, 'q Q ')));
    expect(bomb.length).toBeLessThan(100_000);
    expect(await outcomeOf(pdfOf(bomb), 'bomb.pdf')).toMatchObject({ status: 'failed' });
  }, 90_000);

  test('and an honest DOCX is read', async () => {
    expect(await outcomeOf(docxOf(wordXml('The sluice is shut.')), 'a.docx')).toMatchObject({
      status: 'completed',
    });
  });
});

describe('an upload', () => {
  test.each([
    ['a NUL in a text', Buffer.from('some\0text'), 'a.txt'],
    ['a NUL in a text of two-byte characters', Buffer.from('\ufeffsome\0text', 'utf16le'), 'a.md'],
    [
      'bytes that are no text, far into the file',
      Buffer.concat([Buffer.alloc(3e6, 'a'), Buffer.from([0xff, 0x01])]),
      'a.csv',
    ],
    ['an EXE called .pdf', Buffer.concat([Buffer.from('MZ'), Buffer.alloc(2048)]), 'a.pdf'],
  ])('of %s is an unsupported type, and nothing of it is kept', async (_what, bytes, filename) => {
    expect(await upload(bytes, filename)).toMatchObject({
      status: 400,
      body: { error: 'Unsupported file type' },
    });
    await eventually(async () => (await stored()).length === 0);
  });

  test('keeps only the base name of what it is called', async () => {
    for (const name of ['../../x.txt', '..\\..\\x.txt', '/etc/x.txt']) {
      const file = await outcomeOf('text', name);
      expect(file).toMatchObject({ filename: 'x.txt', status: 'completed' });
    }
  });

  /** Sends the beginning of a form without a length, then what `next` does. */
  function begin(megabytes: number) {
    const call = request(`${penstock.baseUrl}/agents/${agentId}/knowledge`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'multipart/form-data; boundary=b' },
    });
    const answered = new Promise<{ status: number; body: string }>((resolve, reject) => {
      call.on('error', reject);
      call.on('response', (response) => {
        let body = '';
        response.on('data', (part: Buffer) => (body += part.toString()));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      });
    });
    call.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n');
    for (let n = 0; n < megabytes; n++) call.write(Buffer.alloc(1024 * 1024, 'a'));
    return { call, answered };
  }

  test("over the plan's size is refused while it is read: its end is not waited for", async () => {
    const { call, answered } = begin(11);
    const { status, body } = await answered;
    expect([status, JSON.parse(body)]).toEqual([
      413,
      { error: 'File exceeds the maximum size of 10 MB', code: 'payload_too_large', param: 'file' },
    ]);
    call.destroy();
    await eventually(async () => (await stored()).length === 0);
  });

  test('that is given up leaves nothing behind', async () => {
    const { call, answered } = begin(3);
    await eventually(async () => (await stored()).length === 1);
    answered.catch(() => undefined);
    call.destroy();
    await eventually(async () => (await stored()).length === 0);
  });

  test('that ends in the middle is 400, with nothing kept', async () => {
    const { call, answered } = begin(1);
    call.end();
    expect(await answered).toMatchObject({
      status: 400,
      body: expect.stringContaining('Malformed multipart body'),
    });
    await eventually(async () => (await stored()).length === 0);
  });

  test('is made once for an Idempotency-Key, whatever its boundary', async () => {
    const url = `${penstock.baseUrl}/agents/${agentId}/knowledge`;
    const ids: string[] = [];
    for (const _ of [1, 2]) {
      const form = new FormData();
      form.append('file', new Blob(['same text']), 'same.txt');
      const headers = { authorization: `Bearer ${key}`, 'idempotency-key': 'upload-once' };
      const response = await fetch(url, { method: 'POST', headers, body: form });
      ids.push(((await response.json()) as { file: FileRecord }).file.id);
    }
    expect(ids[1]).toBe(ids[0]);
    await eventually(async () => (await stored()).length === 1);
    await penstock.rest('DELETE', `/agents/${agentId}/knowledge/${ids[0]}`, { key });
  });
});
