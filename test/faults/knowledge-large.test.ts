import { readdir, readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { createInstallation } from '../support/installation.js';
import type { Installation } from '../support/installation.js';
import { spawnPenstock } from '../support/spawned.js';
import type { SpawnedServer } from '../support/spawned.js';

const MB = 1024 * 1024;

let installation: Installation;
let server: SpawnedServer;

beforeAll(async () => {
  installation = await createInstallation();
  server = await spawnPenstock(installation);
});
afterAll(async () => {
  await server?.close();
  await installation?.close();
});

const WORDS = 'weir sluice harbour order invoice shipment return refund river mountain bread garden'.split(
  ' ',
);

/** A text of exactly so many bytes, one line after the other. */
function textOf(bytes: number, line: (nth: number) => string): Buffer {
  const text = Buffer.alloc(bytes, ' ');
  for (let at = 0, nth = 0; at < bytes; nth++) {
    const written = text.write(line(nth), at);
    if (written === 0) break;
    at += written;
  }
  return text;
}

const word = (nth: number): string => WORDS[(nth * 7919) % WORDS.length] ?? '';
const sentence = (nth: number): string =>
  `${word(nth)} ${nth} lies behind ${word(nth >> 3)} and ${word(nth >> 5)} of ${nth * 31}.\n`;

/** The most memory, in MB, that a process has had. */
async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? 0) / 1024;
}

async function childrenOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = threads.map((thread) =>
    readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''),
  );
  return (await Promise.all(lists)).join(' ').split(' ').filter(Boolean).map(Number);
}

interface Read {
  status: string;
  error_message: string | null;
  chunk_count: number;
}

/** Asks until the file is read. */
async function endOf(column: 'id' | 'agent_id', id: string) {
  let reader = 0;
  for (;;) {
    for (const pid of await childrenOf(server.pid)) reader = Math.max(reader, await peakOf(pid));
    const sql = `SELECT status, error_message, chunk_count FROM knowledge_files WHERE ${column} = $1`;
    const [row] = await installation.sql<Read>(sql, [id]);
    if (row?.status === 'completed' || row?.status === 'failed') return { ...row, reader };
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Uploads, and waits until the file is read. */
async function read(path: string, key: string, { text, filename }: { text: Buffer; filename: string }) {
  const form = new FormData();
  form.append('file', new Blob([text as Uint8Array<ArrayBuffer>]), filename);
  const headers = { authorization: `Bearer ${key}` };
  const sent = await fetch(`${server.origin}/api/v1${path}`, { method: 'POST', headers, body: form });
  expect(sent.status).toBe(200);
  const { file } = (await sent.json()) as { file: { id: string } };
  return await endOf('id', file.id);
}

/** What a run's first step says of the files. */
async function foundBy(key: string, agentId: string, input: string): Promise<string | undefined> {
  const { steps } = await runAgent(server, key, agentId, { input });
  return steps[0]?.content;
}

const row = (nth: number): string => (nth === 0 ? 'id,name,value\n' : `${nth},${word(nth)},${nth * 31}\n`);

test.each([
  // One sign of four bytes makes two bytes of each in memory.
  ['text', 50, 'a.txt', (nth: number) => (nth === 0 ? '😀\n' : sentence(nth))],
  ['table', 25, 'a.csv', row],
])(
  'a %s of %i MB, which the plan allows, is read and found, in a duplicate too, and the processes stay small',
  async (_what, megabytes, filename, line) => {
    const { key } = await installation.createOrg({ plan: 'cli_team' });
    const agentId = await makeAgent(server, key);
    const end = '\nThe zymurgist keeps the key\n';
    const text = Buffer.concat([textOf(megabytes * MB - end.length, line), Buffer.from(end)]);
    const {
      status,
      error_message: fault,
      ...found
    } = await read(`/agents/${agentId}/knowledge`, key, { text, filename });
    expect({ status, fault }).toEqual({ status: 'completed', fault: null });
    expect(found.chunk_count).toBeLessThan(40_001);
    const asked = 'Who is the zymurgist?';
    expect(await foundBy(key, agentId, asked)).toContain(`passage ${found.chunk_count}:`);
    const copy = await server.rest<{ agent: { id: string } }>('POST', `/agents/${agentId}/duplicate`, {
      key,
    });
    expect(copy.status).toBe(200);
    expect(await endOf('agent_id', copy.body.agent.id)).toMatchObject({
      status: 'completed',
      chunk_count: found.chunk_count,
    });
    expect(await foundBy(key, copy.body.agent.id, asked)).toContain(`passage ${found.chunk_count}:`);
    expect(found.reader).toBeLessThan(512);
    expect(await peakOf(server.pid)).toBeLessThan(600);
  },
  120_000,
);
