import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

let penstock: TestServer;
let key: string;

beforeAll(async () => {
  penstock = await startPenstock();
  ({ key } = await penstock.createOrg({ plan: 'cli_team' }));
});
afterAll(() => penstock?.close());

test('a run shows attached images to the model and reads attached documents', async () => {
  const id = await makeAgent(penstock, key);
  const text = `data:text/plain;base64,${Buffer.from('The gate opens at nine.').toString('base64')}`;
  const run = await runAgent(penstock, key, id, {
    input: 'Look',
    attachments: [
      { type: 'image', url: PIXEL, name: 'pixel.png' },
      { type: 'document', url: text, name: 'gate.txt' },
    ],
  });
  expect(run.last.output).toContain('I see 1 image');
  expect(run.last.output).toContain('The gate opens at nine.');
});

test('a run shows its attached files: images with an address that works, documents by name, until they are removed', async () => {
  const id = await makeAgent(penstock, key);
  const text = `data:text/plain;base64,${Buffer.from('The gate opens at nine.').toString('base64')}`;
  const attachments = [
    { type: 'document', url: text, name: 'gate.txt' },
    { type: 'image', url: PIXEL, name: 'pixel.png' },
  ];
  const { runId } = await runAgent(penstock, key, id, { input: 'Look', attachments });
  await runAgent(penstock, key, id, { input: 'Hello' });
  const attached = async (): Promise<{ type: string; name: string; url: string | null }[][]> => {
    const query = `query ($id: ID!) { agentRuns(agentId: $id) { nodes { attachments { type name url } } } }`;
    const { data } = await penstock.graphql<{
      agentRuns: { nodes: { attachments: { type: string; name: string; url: string | null }[] }[] };
    }>(query, { key, variables: { id } });
    return data!.agentRuns.nodes.map((node) => node.attachments);
  };
  const [later, [document, image] = []] = await attached();
  expect(later).toEqual([]);
  expect(document).toEqual({ type: 'document', name: 'gate.txt', url: null });
  expect(image).toEqual({ type: 'image', name: 'pixel.png', url: expect.any(String) });
  const file = await fetch(String(image?.url));
  expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/png']);
  await file.arrayBuffer();

  // As the retention does after 30 days.
  await penstock.installation.sql(`DELETE FROM files WHERE run_id = '${runId}'`);
  expect((await attached())[1]?.[1]).toEqual({ type: 'image', name: 'pixel.png', url: null });
});

test('a document of the plan’s size is attached however much text it has: of that the beginning counts', async () => {
  const { key: business } = await penstock.createOrg({ plan: 'business_monthly' });
  const id = await makeAgent(penstock, business);
  const text = Buffer.from('The gate opens at nine. '.padEnd(1024, '. ').repeat(21 * 1024));
  const url = `data:text/plain;base64,${text.toString('base64')}`;
  const { last } = await runAgent(penstock, business, id, {
    input: 'Look',
    attachments: [{ type: 'document', url, name: 'gate.txt' }],
  });
  expect(last).toMatchObject({ type: 'done', output: expect.stringContaining('The gate opens at nine.') });
});

test('of many documents that come at once a few are read at a time, and all of them in the end', async () => {
  const id = await makeAgent(penstock, key);
  const url = `data:text/csv;base64,${Buffer.from('gate,opens\nnorth,nine\n').toString('base64')}`;
  const children = () => process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length;
  const before = children();
  let most = 0;
  const look = setInterval(() => (most = Math.max(most, children() - before)), 5);
  const body = { input: 'Look', attachments: [{ type: 'document', url, name: 'gate.csv' }] };
  const runs = await Promise.all(Array.from({ length: 16 }, () => runAgent(penstock, key, id, body)));
  clearInterval(look);
  for (const { last } of runs) expect(last.type).toBe('done');
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThan(7);
});

test('a run takes a file that was made here by its address, its own organisation’s only', async () => {
  const owner = await penstock.createOrg({ plan: 'business_monthly' });
  const made = await penstock.rest<{ data: { url: string }[] }>('POST', '/images/generations', {
    key: owner.key,
    body: { prompt: 'a weir', size: '512x512' },
  });
  const body = { input: 'Look', attachments: [{ type: 'image', url: made.body.data[0]!.url }] };
  const id = await makeAgent(penstock, owner.key);
  expect((await runAgent(penstock, owner.key, id, body)).last.output).toContain('I see 1 image');
  const stranger = await penstock.createOrg({ plan: 'business_monthly' });
  const theirs = await makeAgent(penstock, stranger.key);
  expect(await penstock.rest('POST', `/agents/${theirs}/run`, { key: stranger.key, body })).toMatchObject({
    status: 400,
    body: { error: 'Invalid URL', param: 'url' },
  });
});

test.each([
  ['What is on the attached picture?', []],
  ['Sum up the attached document', []],
  ['Draw a picture of a mill', ['generate_image']],
  ['Write a report as PDF on this document', ['generate_text', 'create_document']],
])('a run makes what is wanted, and not again what was given: %s', async (input, called) => {
  const id = await makeAgent(penstock, key, {
    tools: ['generate_text', 'generate_image', 'create_document'],
  });
  const { steps } = await runAgent(penstock, key, id, { input });
  expect(steps.filter(({ type }) => type === 'tool_call').map(({ tool }) => tool)).toEqual(called);
});
