import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openFiles, removeOrphanedFiles } from '../../src/files/index.js';
import type { Files } from '../../src/files/index.js';
import { newId } from '../../src/contract/ids.js';
import { createJobRetention } from '../../src/jobs/index.js';
import { makeAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

const logger = pino({ level: 'silent' });
let penstock: TestServer;
let files: Files;
let key: string;
let orgId: string;

beforeAll(async () => {
  penstock = await startPenstock();
  ({ key, orgId } = await penstock.createOrg({ plan: 'business_monthly' }));
  const { database, config } = penstock.services;
  files = await openFiles({ config, database, signing: { current: 'secret', previous: null }, logger });
});
afterAll(async () => {
  files?.close();
  await penstock?.close();
});

interface Stored {
  id: string;
  org_id: string;
  extension: string;
}
const pathOf = ({ id, org_id: org, extension }: Stored): string =>
  join(penstock.services.config.dataDir, 'files', org, id.slice(-2), `${id}.${extension}`);
const rows = (where: string) =>
  penstock.installation.sql<Stored>(`SELECT id, org_id, extension FROM files WHERE ${where}`);

/** A folder in a file's place: the store gives it up no more, as an object under a lock. */
async function lock(file: Stored): Promise<void> {
  await rm(pathOf(file));
  await mkdir(pathOf(file));
}
const age = () => penstock.installation.sql(`UPDATE files SET created_at = now() - interval '2 hours'`);

test('a job is forgotten after its time though the store keeps its file, which goes when it is given up', async () => {
  const make = async () => {
    const { headers } = await penstock.rest('POST', '/images/generations', {
      key,
      body: { prompt: 'x', size: '512x512' },
    });
    return String(headers['x-job-id']);
  };
  const jobs = [await make(), await make()];
  const [file] = await rows(`job_id = '${jobs[0]}'`);
  await lock(file!);
  await penstock.installation.sql(
    `UPDATE jobs SET completed_at = now() - CASE WHEN id = $1 THEN 41 ELSE 40 END * interval '1 day'`,
    [jobs[0]!],
  );
  const retention = createJobRetention({
    database: penstock.services.database,
    removeFiles: (org, ids) => files.service.remove(org, ids),
    retentionDays: 30,
    logger,
  });
  expect(await retention.sweep()).toBe(2);
  for (const id of jobs) expect((await penstock.rest('GET', `/jobs/${id}`, { key })).status).toBe(404);
  expect(await rows('true')).toEqual([file]);

  await files.service.save({ orgId, bytes: Buffer.from('x'), contentType: 'image/png', jobId: newId('job') });
  await age();
  const kept: string[] = [];
  const sweep = () =>
    removeOrphanedFiles(penstock.services.database, files.store, (_, id) => void kept.push(id));
  expect(await sweep()).toBe(1);
  expect(kept).toEqual([file!.id]);
  await rm(pathOf(file!), { recursive: true });
  expect(await sweep()).toBe(1);
  expect(await rows('true')).toEqual([]);
});

test('knowledge and agents are deleted though the store keeps a file', async () => {
  const id = await makeAgent(penstock, key);
  const upload = async () => {
    const form = new FormData();
    form.append('file', new Blob(['The weir was finished in 1911.']), 'weir.txt');
    const answer = await fetch(`${penstock.baseUrl}/agents/${id}/knowledge`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
      body: form,
    });
    return ((await answer.json()) as { file: { id: string } }).file.id;
  };
  const [first] = [await upload(), await upload()];
  for (const file of await rows('true')) await lock(file);
  const gone = { status: 200, body: { success: true } };
  expect(await penstock.rest('DELETE', `/agents/${id}/knowledge/${first}`, { key })).toMatchObject(gone);
  expect(await penstock.rest('DELETE', `/agents/${id}`, { key })).toMatchObject(gone);
  expect(await rows('true')).toHaveLength(2);
});
