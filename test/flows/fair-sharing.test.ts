import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgentWork } from '../../src/agents/index.js';
import { createAudio } from '../../src/audio/index.js';
import { runForOrg } from '../../src/processes/index.js';
import { makeAgent, runAgent } from '../support/agents.js';
import { waveOf } from '../support/audio.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';
import { mediaJobs } from '../support/media-jobs.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';

const HOUR_MS = 3_600_000;
const ENDPOINTS = ['image', 'image_edit', 'video', 'music', 'tts', 'stt'];

let penstock: TestServer;
let upstream: FakeUpstream;

beforeAll(async () => {
  upstream = await startFakeUpstream();
  upstream.always({ chunks: [], then: 'hang' });
  const models = [
    { id: 'slow/chat', upstreamId: 'chat', type: 'chat', tier: 'basic' },
    { id: 'slow/image', upstreamId: 'image', type: 'image', tier: 'basic' },
  ];
  const slow = {
    id: 'slow',
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    apiKey: 'sk-slow',
    models,
  };
  const windows = ENDPOINTS.map((name) => [name, { limit: 1000, windowSeconds: 60 }]);
  penstock = await startPenstock({
    providers: { providers: [slow] },
    plans: { endpointLimits: Object.fromEntries(windows) as object },
  });
});
afterAll(async () => {
  await penstock?.close();
  await upstream?.close();
});

const business = async () => (await penstock.createOrg({ plan: 'business_monthly' })).key;

interface Work {
  path: string;
  body: object;
}

/** Makes jobs that are not waited for. */
async function begin(key: string, work: Work[]): Promise<string[]> {
  const ids: string[] = [];
  for (const { path, body } of work) {
    const made = await penstock.rest<{ id: string }>('POST', `${path}?async=true`, { key, body });
    expect(made.status, JSON.stringify(made.body)).toBe(200);
    ids.push(made.body.id);
  }
  return ids;
}

const statusesOf = async (ids: string[]) =>
  (
    await penstock.installation.sql<{ status: string }>(
      'SELECT status FROM jobs WHERE id = ANY ($1) ORDER BY id',
      [ids],
    )
  ).map(({ status }) => status);

async function cancel(key: string, ids: string[]): Promise<void> {
  for (const id of ids) expect((await penstock.rest('DELETE', `/jobs/${id}`, { key })).status).toBe(200);
}

async function beginRuns(key: string, agentId: string, { count, input }: { count: number; input: string }) {
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { data, errors } = await penstock.graphql<{ runAgent: { id: string } }>(
      'mutation ($id: ID!, $input: RunAgentInput!) { runAgent(id: $id, input: $input) { id } }',
      { key, variables: { id: agentId, input: { input } } },
    );
    expect(errors).toEqual([]);
    ids.push(data!.runAgent.id);
  }
  return ids;
}

const endRuns = async (ids: string[]) =>
  await penstock.installation.sql(
    `UPDATE agent_runs SET deadline = now() - interval '1 min' WHERE id = ANY ($1)`,
    [ids],
  );

const runsAt = async (ids: string[], held: boolean) =>
  (
    await penstock.installation.sql(
      `SELECT 1 FROM agent_runs WHERE id = ANY ($1) AND status = 'running' AND (worker_id IS NOT NULL) = $2`,
      [ids, held],
    )
  ).length;

describe("another organisation's work is done beside", () => {
  test(
    'jobs of every tool that wait an hour for the sandbox: they hold no place',
    { timeout: 120_000 },
    async () => {
      const crowds = await Promise.all([business(), business(), business()]);
      const delayed = await mediaJobs(HOUR_MS);
      const all: { key: string; ids: string[] }[] = [];
      for (const key of crowds)
        all.push({ key, ids: await begin(key, [...delayed, ...delayed, ...delayed]) });
      const key = await business();
      for (const { path, body } of await mediaJobs()) {
        const done = await penstock.rest('POST', path, { key, body });
        expect(done.status, `${path} ${JSON.stringify(done.body)}`).toBe(200);
      }
      const ids = all.flatMap((crowd) => crowd.ids);
      // They are all under way at once, which is how it shows that none holds a place.
      await eventually(async () => (await statusesOf(ids)).every((status) => status === 'processing'));
      for (const crowd of all) await cancel(crowd.key, crowd.ids);
    },
  );

  test('jobs whose upstream does not answer: a reserve is left; and a cancelled one frees its place at once', async () => {
    const crowd = await business();
    const before = upstream.requests.length;
    const held = Array.from({ length: 6 }, () => ({
      path: '/images/generations',
      body: { prompt: 'a mill', model: 'slow/image', size: '512x512' },
    }));
    const ids = await begin(crowd, held);
    await eventually(() => upstream.requests.length === before + 2);
    for (const key of [await business(), await business()]) {
      const body = { prompt: 'a weir', size: '512x512' };
      expect((await penstock.rest('POST', '/images/generations', { key, body })).status).toBe(200);
    }
    expect((await statusesOf(ids)).filter((status) => status === 'pending')).toHaveLength(4);
    expect(upstream.requests).toHaveLength(before + 2);
    await cancel(crowd, ids.slice(0, 1));
    await eventually(() => upstream.requests.length === before + 3);
    await cancel(crowd, ids.slice(1));
  });

  test('runs that wait an hour for the sandbox, more of them than there are places', async () => {
    const crowd = await business();
    const agentId = await makeAgent(penstock, crowd);
    const input = `@sandbox{"delay_ms": ${HOUR_MS}}`;
    const ids = await beginRuns(crowd, agentId, { count: 40, input });
    const key = await business();
    const run = await runAgent(penstock, key, await makeAgent(penstock, key), { input: 'Hello' });
    expect(run.last).toMatchObject({ type: 'done' });
    await eventually(async () => (await runsAt(ids, true)) === 40);
    await endRuns(ids);
    await eventually(async () => (await runsAt(ids, true)) + (await runsAt(ids, false)) === 0);
  });

  test('runs whose model does not answer, more of them than there are places', async () => {
    const crowd = await business();
    const agentId = await makeAgent(penstock, crowd, { model: 'slow/chat' });
    const ids = await beginRuns(crowd, agentId, { count: 40, input: 'Hello' });
    await eventually(async () => (await runsAt(ids, true)) === 32);
    const key = await business();
    const run = await runAgent(penstock, key, await makeAgent(penstock, key), { input: 'Hello' });
    expect(run.last).toMatchObject({ type: 'done' });
    expect(await runsAt(ids, false)).toBe(8);
    await endRuns(ids);
    await eventually(async () => (await runsAt(ids, true)) + (await runsAt(ids, false)) === 0);
  });

  test('knowledge files that take long to read', async () => {
    const upload = async (key: string, agentId: string, text: string): Promise<string> => {
      const form = new FormData();
      form.append('file', new Blob([text]), 'notes.txt');
      const headers = { authorization: `Bearer ${key}` };
      const path = `${penstock.baseUrl}/agents/${agentId}/knowledge`;
      const answer = await fetch(path, { method: 'POST', headers, body: form });
      expect(answer.status).toBe(200);
      return agentId;
    };
    const [crowd, key] = [await business(), await business()];
    const [crowded, agentId] = [await makeAgent(penstock, crowd), await makeAgent(penstock, key)];
    const long = Array.from({ length: 120_000 }, (_, n) => `The gate of weir ${n} opens at nine.`).join('\n');
    for (let n = 0; n < 4; n++) await upload(crowd, crowded, long);
    const left = async (id: string) =>
      (
        await penstock.installation.sql(
          `SELECT 1 FROM knowledge_files WHERE agent_id = $1 AND status IN ('pending', 'processing')`,
          [id],
        )
      ).length;
    await upload(key, agentId, 'The gate opens at nine.');
    await eventually(async () => (await left(agentId)) === 0);
    expect(await left(crowded)).toBeGreaterThanOrEqual(3);
    // What is deleted frees its reader.
    const files = await penstock.installation.sql<{ id: string }>(
      'SELECT id FROM knowledge_files WHERE agent_id = $1',
      [crowded],
    );
    for (const { id } of files)
      await penstock.rest('DELETE', `/agents/${crowded}/knowledge/${id}`, { key: crowd });
    await upload(crowd, crowded, 'The gate opens at ten.');
    await eventually(async () => (await left(crowded)) === 0);
  });
});

/** Does the crowd's work and, a moment later, one piece of another's: how much of the crowd's was done when that was. */
async function doneBefore(crowd: (() => Promise<unknown>)[], other: () => Promise<unknown>): Promise<number> {
  let done = 0;
  const all = crowd.map((work) => runForOrg('crowd', work).then(() => done++));
  await runForOrg('other', other);
  const before = done;
  await Promise.all(all);
  return before;
}

describe('places of processes and threads', () => {
  test('the reading of one recording waits for none of the many that another organisation gives', async () => {
    const audio = createAudio();
    const wave = waveOf(new Int16Array(10_000_000));
    try {
      await audio.probe(wave);
      const crowd = Array.from({ length: 24 }, () => () => audio.probe(wave));
      expect(await doneBefore(crowd, () => audio.probe(wave))).toBeLessThan(12);
    } finally {
      audio.close();
    }
  });

  test("a run's tool waits for none of the many of another organisation's runs", async () => {
    const work = createAgentWork();
    const data = Array.from({ length: 200 }, (_, n) => ({ label: `weir ${n}`, value: n }));
    const draw = (signal = new AbortController().signal) =>
      work.chart({ type: 'bar', title: 'Weirs', xLabel: '', yLabel: '', data }, signal);
    try {
      await draw();
      const crowd = Array.from({ length: 24 }, () => () => draw());
      expect(await doneBefore(crowd, () => draw())).toBeLessThan(12);
      // One that is given up while it waits goes at once.
      const few = runForOrg('crowd', () => Array.from({ length: 6 }, () => draw()));
      const gone = new AbortController();
      const last = runForOrg('crowd', () => draw(gone.signal));
      gone.abort(new Error('gone'));
      await expect(last).rejects.toThrow('gone');
      await Promise.all(few);
    } finally {
      await work.close();
    }
  });
});
