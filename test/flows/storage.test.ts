import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createImage } from '../support/storage.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const MB = 1_048_576;
const LIMIT_MB = 3;
const PENDING = 2;

let server: TestServer;
/** A PNG of noise, about a megabyte, as a data: URL. */
let picture: string;
let pictureBytes: number;
beforeAll(async () => {
  server = await startPenstock({
    env: { EGRESS_ALLOW: '127.0.0.0/8' },
    plans: {
      plans: {
        business_monthly: { storage: { maxMb: LIMIT_MB }, rate: { rpm: 6000, burst: 6000 } },
        pro_monthly: { storage: { maxMb: -1 } },
        cli_pro: { maxPendingJobs: PENDING, limits: { image_generations: 100, image_edits: 100 } },
      },
      endpointLimits: {
        image_edit: { limit: 1000, windowSeconds: 60 },
        stt: { limit: 1000, windowSeconds: 60 },
      },
    },
  });
  const bytes = await createImage(600);
  pictureBytes = bytes.length;
  picture = `data:image/png;base64,${bytes.toString('base64')}`;
});
afterAll(() => server.close());

interface Use {
  usedBytes: number;
  limitBytes: number;
  files: number;
  fileBytes: number;
  answers: number;
  answerBytes: number;
}
const use = async (key: string): Promise<Use> => {
  const { data } = await server.graphql<{ penstockStorage: Use }>(
    '{ penstockStorage { usedBytes limitBytes files fileBytes answers answerBytes } }',
    { key },
  );
  return data!.penstockStorage;
};
/** What really lies in the store. */
const onDisk = async (orgId: string): Promise<number> => {
  const folder = join(server.installation.dataDir, 'files', orgId);
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  return names.filter((name) => name.includes('file_')).length;
};
const edit = (more: object = {}) => ({ image: picture, operation: 'colorization', ...more });
const full = { status: 402, body: { error: 'Storage limit reached', code: 'quota_exceeded' } };
const SLOW = '@sandbox{"delay_ms":60000}';
const slowEdit = () => edit({ operation: 'styleTransfer', prompt: SLOW });

describe('a storage limit', () => {
  test('is shown with what is stored, in GraphQL and in the metrics', async () => {
    const { key, orgId } = await server.createOrg();
    expect(await use(key)).toEqual({
      usedBytes: 0,
      limitBytes: LIMIT_MB * MB,
      files: 0,
      fileBytes: 0,
      answers: 0,
      answerBytes: 0,
    });
    await server.rest('POST', '/images/generations', { key, body: { prompt: 'a dam', size: '512x512' } });
    const after = await use(key);
    const [{ bytes }] = (await server.installation.sql<{ bytes: number }>(
      'SELECT sum(size_bytes)::int AS bytes FROM files WHERE org_id = $1',
      [orgId],
    )) as [{ bytes: number }];
    expect(after).toMatchObject({ files: 1, fileBytes: bytes, usedBytes: bytes });
    const metrics = await (await fetch(`${server.origin}/metrics`)).text();
    expect(metrics).toMatch(/penstock_storage_bytes\{kind="files"[^}]*\} [1-9]/);
    expect(metrics).toMatch(/penstock_storage_bytes\{kind="answers"[^}]*\} \d/);
    const other = await server.createOrg({ plan: 'pro_monthly' });
    expect(await use(other.key)).toMatchObject({ limitBytes: -1, usedBytes: 0 });
  });

  test('lets as many inputs in as fit, however many come at once, and keeps nothing of the others', async () => {
    const { key, orgId } = await server.createOrg();
    const fits = Math.floor((LIMIT_MB * MB) / pictureBytes);
    const path = '/images/edits?async=true';
    const answers = await Promise.all(
      Array.from({ length: fits + 6 }, () => server.rest('POST', path, { key, body: slowEdit() })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(fits);
    for (const { status, body } of answers) if (status !== 200) expect({ status, body }).toMatchObject(full);
    expect(await onDisk(orgId)).toBe(fits);
    expect(await use(key)).toMatchObject({ files: fits, fileBytes: fits * pictureBytes });
    const { body } = await server.rest<{ jobs: { id: string }[] }>('GET', '/jobs?limit=100', { key });
    for (const { id } of body.jobs) await server.rest('DELETE', `/jobs/${id}`, { key });
    expect(await use(key)).toMatchObject({ files: 0, usedBytes: 0 });
    expect(await server.rest('POST', '/images/edits', { key, body: edit() })).toMatchObject({ status: 200 });
  });

  test('refuses whatever would be stored once it is reached, and no chat', async () => {
    const { key, orgId } = await server.createOrg();
    const agent = await server.rest<{ agent: { id: string } }>('POST', '/agents', {
      key,
      body: { name: 'Keeper', system_prompt: 'x' },
    });
    await server.installation.sql('INSERT INTO stored_bytes VALUES ($1, 1, $2, 1)', [orgId, LIMIT_MB * MB]);
    const bodies: [string, object][] = [
      ['/images/generations', { prompt: 'a dam' }],
      ['/images/edits', edit()],
      ['/videos/generations', { prompt: 'a dam' }],
      ['/music/generations', { prompt: 'a dam' }],
      ['/audio/speech', { input: 'A dam.' }],
      [
        `/agents/${agent.body.agent.id}/run`,
        { input: 'Look', attachments: [{ type: 'image', url: picture, name: 'p' }] },
      ],
    ];
    for (const [path, body] of bodies)
      expect({ path, ...(await server.rest('POST', path, { key, body })) }).toMatchObject({ path, ...full });
    // A fault of the request comes before it.
    expect(await server.rest('POST', '/images/generations', { key, body: {} })).toMatchObject({
      status: 400,
    });
    const chat = { messages: [{ role: 'user', content: 'Hello' }] };
    const headers = { 'idempotency-key': 'full' };
    expect(await server.rest('POST', '/chat/completions', { key, body: chat })).toMatchObject({
      status: 200,
    });
    expect(await server.rest('POST', '/chat/completions', { key, body: chat, headers })).toMatchObject(full);
    expect(await onDisk(orgId)).toBe(0);
    await server.installation.sql('DELETE FROM stored_bytes WHERE org_id = $1', [orgId]);
    const again = await server.rest('POST', '/chat/completions', { key, body: chat, headers });
    expect(again).toMatchObject({ status: 200 });
    expect(again.headers['idempotent-replayed']).toBeUndefined();
  });

  test('does not lose what was paid for: a result is kept though it goes over the limit', async () => {
    const { key, orgId } = await server.createOrg();
    await server.installation.sql('INSERT INTO stored_bytes VALUES ($1, 1, $2, 1)', [
      orgId,
      LIMIT_MB * MB - 1,
    ]);
    const made = await server.rest<{ data: { url: string }[] }>('POST', '/images/generations', {
      key,
      body: { prompt: 'a dam', size: '512x512' },
    });
    expect(made.status).toBe(200);
    expect((await fetch(made.body.data[0]!.url)).status).toBe(200);
    expect((await use(key)).usedBytes).toBeGreaterThan(LIMIT_MB * MB);
  });

  test('counts kept answers, once each, until they are gone', async () => {
    const { key, orgId } = await server.createOrg();
    const text = 'water '.repeat(200);
    for (const n of [1, 2, 3, 3]) {
      const body = { messages: [{ role: 'user', content: `${text}${n}` }] };
      await server.rest('POST', '/chat/completions', { key, body, headers: { 'idempotency-key': `a ${n}` } });
    }
    const [{ bytes }] = (await server.installation.sql<{ bytes: number }>(
      'SELECT sum(octet_length(body))::int AS bytes FROM idempotency_keys WHERE org_id = $1',
      [orgId],
    )) as [{ bytes: number }];
    expect(await use(key)).toMatchObject({ answers: 3, answerBytes: bytes, usedBytes: bytes });
    await server.installation.sql('DELETE FROM idempotency_keys WHERE org_id = $1', [orgId]);
    expect(await use(key)).toMatchObject({ answers: 0, answerBytes: 0, usedBytes: 0 });
  });

  test('counts knowledge files, and gives their bytes back with them', async () => {
    const { key } = await server.createOrg();
    const { body } = await server.rest<{ agent: { id: string } }>('POST', '/agents', {
      key,
      body: { name: 'Reader', system_prompt: 'x' },
    });
    const upload = async (bytes: number) => {
      const form = new FormData();
      form.set('file', new Blob(['word '.repeat(bytes / 5)], { type: 'text/plain' }), 'notes.txt');
      const answer = await fetch(`${server.baseUrl}/agents/${body.agent.id}/knowledge`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}` },
        body: form,
      });
      return { status: answer.status, body: (await answer.json()) as { file: { id: string } } };
    };
    const first = await upload(2 * MB);
    expect(first.status).toBe(200);
    expect((await use(key)).files).toBe(1);
    expect(await upload(2 * MB)).toMatchObject(full);
    expect(await server.rest('POST', `/agents/${body.agent.id}/duplicate`, { key, body: {} })).toMatchObject(
      full,
    );
    expect((await use(key)).files).toBe(1);
    await server.rest('DELETE', `/agents/${body.agent.id}/knowledge/${first.body.file.id}`, { key });
    expect(await use(key)).toMatchObject({ files: 0, usedBytes: 0 });
    expect((await upload(2 * MB)).status).toBe(200);
  });
});

describe('inputs of work that came to nothing go at once', () => {
  const nothingLeft = async (key: string, orgId: string) => {
    // The row goes after the bytes, so that nothing can be left that no row names.
    await eventually(async () => (await use(key)).files === 0);
    expect(await use(key)).toMatchObject({ files: 0, usedBytes: 0 });
    expect(await onDisk(orgId)).toBe(0);
  };

  test('of jobs that are cancelled, while they wait and while a worker has them', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
    const jobs = [];
    for (let i = 0; i < 4; i++) {
      const { body } = await server.rest<{ id: string }>('POST', '/images/edits?async=true', {
        key,
        body: slowEdit(),
      });
      jobs.push(body.id);
    }
    expect(await use(key)).toMatchObject({ files: 4, fileBytes: 4 * pictureBytes });
    for (const id of jobs) expect((await server.rest('DELETE', `/jobs/${id}`, { key })).status).toBe(200);
    await nothingLeft(key, orgId);
    // The job itself stays readable.
    expect(await server.rest('GET', `/jobs/${jobs[0]}`, { key })).toMatchObject({
      body: { status: 'cancelled' },
    });
  });

  test('of jobs that fail', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
    const body = edit({ operation: 'styleTransfer', prompt: '@sandbox{"fail":"no luck"}' });
    expect((await server.rest('POST', '/images/edits', { key, body })).status).toBe(500);
    await nothingLeft(key, orgId);
  });

  test('of requests that are refused after their files came: 400 and 402', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
    const small = `data:image/png;base64,${(await createImage(32)).toString('base64')}`;
    const other = edit({ operation: 'inpainting', mask: small, prompt: 'x' });
    expect((await server.rest('POST', '/images/edits', { key, body: other })).status).toBe(400);
    await server.cli('quota', 'set', '--org', orgId, '--bucket', 'image_edits', '--used', '75');
    expect((await server.rest('POST', '/images/edits', { key, body: edit() })).status).toBe(402);
    expect(await onDisk(orgId)).toBe(0);
    expect(await use(key)).toMatchObject({ files: 0, usedBytes: 0 });
  });

  test('of a request that is refused with 429, since other jobs were made while its file came', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'cli_pro' });
    const asked = Promise.withResolvers<ServerResponse>();
    const pictures = createServer((_, response) => asked.resolve(response)).listen(0, '127.0.0.1');
    await once(pictures, 'listening');
    try {
      const image = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}/weir.png`;
      const late = server.rest('POST', '/images/edits', { key, body: edit({ image }) });
      const response = await asked.promise;
      const body = { prompt: SLOW, size: '512x512' };
      for (let i = 0; i < PENDING; i++)
        expect((await server.rest('POST', '/images/generations?async=true', { key, body })).status).toBe(200);
      response.setHeader('content-type', 'image/png').end(Buffer.from(picture.split(',')[1]!, 'base64'));
      expect(await late).toMatchObject({ status: 429, body: { error: 'Too many pending jobs' } });
      expect(await onDisk(orgId)).toBe(0);
      expect(await use(key)).toMatchObject({ files: 0, usedBytes: 0 });
    } finally {
      pictures.closeAllConnections();
      pictures.close();
    }
  });

  test('of a second input that does not fit the first one goes too', async () => {
    const { key, orgId } = await server.createOrg();
    await server.installation.sql('INSERT INTO stored_bytes VALUES ($1, 1, $2, 1)', [
      orgId,
      Math.round(LIMIT_MB * MB - 1.5 * pictureBytes),
    ]);
    const body = edit({ operation: 'objectRemoval', mask: picture });
    expect(await server.rest('POST', '/images/edits', { key, body })).toMatchObject(full);
    expect(await onDisk(orgId)).toBe(0);
  });

  test('of a run that is cancelled or refused', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
    const { body } = await server.rest<{ agent: { id: string } }>('POST', '/agents', {
      key,
      body: { name: 'Watcher', system_prompt: 'x' },
    });
    const attachments = [
      { type: 'image', url: picture, name: 'a.png' },
      { type: 'document', url: `data:text/plain;base64,AAECAwQ=`, name: 'broken.txt' },
    ];
    const run = `/agents/${body.agent.id}/run`;
    expect((await server.rest('POST', run, { key, body: { input: 'Look', attachments } })).status).toBe(400);
    expect(await onDisk(orgId)).toBe(0);
    const started = await server.graphql<{ runAgent: { id: string } }>(
      `mutation ($id: ID!, $input: RunAgentInput!) { runAgent(id: $id, input: $input) { id } }`,
      {
        key,
        variables: { id: body.agent.id, input: { input: SLOW, attachments: attachments.slice(0, 1) } },
      },
    );
    expect(started.errors).toEqual([]);
    expect(await onDisk(orgId)).toBe(1);
    await server.rest('POST', `/agents/${body.agent.id}/runs/${started.data!.runAgent.id}/cancel`, { key });
    await nothingLeft(key, orgId);
  });

  test('what a process that died left goes with the next sweep, and nothing else', async () => {
    const { key, orgId } = await server.createOrg({ plan: 'pro_monthly' });
    await server.rest('POST', '/images/edits', { key, body: edit() });
    const kept = await onDisk(orgId);
    const { removeOrphanedFiles } = await import('../../src/files/index.js');
    const { files, database } = server.services;
    const { body } = await server.rest<{ id: string }>('POST', '/images/edits?async=true', {
      key,
      body: slowEdit(),
    });
    await server.rest('DELETE', `/jobs/${body.id}`, { key });
    await eventually(async () => (await onDisk(orgId)) === kept);
    await files.save({ orgId, bytes: Buffer.from('late'), contentType: 'image/png', jobId: body.id });
    const { createDiskStore } = await import('../../src/files/disk-store.js');
    const folder = join(server.installation.dataDir, 'files');
    const store = createDiskStore({ folder, spoolFolder: join(folder, 'incoming') });
    expect(await removeOrphanedFiles(database, store)).toBe(1);
    expect(await onDisk(orgId)).toBe(kept);
  });
});
