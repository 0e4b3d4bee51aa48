import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { downloadFrom, waveOf, webmOf } from '../support/audio.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

const MB = 1_048_576;

let penstock: TestServer;

/** Takes long to make readable. */
const PAGE = `<!doctype html><title>Weirs</title><article>${'<div><p>A <b>weir</b> raises the level of a <a href="/">river</a>.</p></div>'.repeat(8_000)}</article>`;
let recording: Buffer = Buffer.alloc(0);
const web = createServer(({ url }, response) => {
  if (url === '/recording') return response.setHeader('content-type', 'audio/webm').end(recording);
  response.setHeader('content-type', 'text/html');
  return response.end(url === '/short' ? '<!doctype html><title>Gate</title><p>The gate is open.' : PAGE);
});
const at = (path: string) => `http://127.0.0.1:${(web.address() as AddressInfo).port}${path}`;

beforeAll(async () => {
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  penstock = await startPenstock({
    env: { EGRESS_ALLOW: '127.0.0.0/8' },
    plans: { endpointLimits: { stt: { limit: 1000, windowSeconds: 60 } } },
  });
});
afterAll(async () => {
  await penstock?.close();
  web.closeAllConnections();
  web.close();
});

const business = async () => (await penstock.createOrg({ plan: 'business_monthly' })).key;

/** Does a crowd's work, and another's once that is under way: how much of the crowd's was done when that was, and what it all came to. */
async function beside<T>(crowd: (() => Promise<T>)[], other: () => Promise<T>) {
  let done = 0;
  const all = crowd.map((work) => work().finally(() => done++));
  const others = await other();
  const before = done;
  return { before, others, crowd: await Promise.all(all) };
}

test(
  'ten estimates of a long recording leave others theirs, and have an answer after half a minute at the latest',
  { timeout: 180_000 },
  async () => {
    const [crowd, key] = [await business(), await business()];
    const speech = await penstock.rest<{ audio_url: string }>('POST', '/audio/speech', {
      key,
      body: { input: 'Water turns the wheel, and the wheel turns the stone.', response_format: 'opus' },
    });
    const { bytes } = await downloadFrom(penstock.origin, speech.body.audio_url);
    const once = (await webmOf(bytes)).length;
    recording = await webmOf(bytes, Math.ceil((20 * MB) / once));
    const short = waveOf(new Int16Array(32_000)).toString('base64');
    const estimate = async (of: string, file: string) => {
      const began = performance.now();
      const { data, errors } = await penstock.graphql<{ estimate: { amounts: { amount: number }[] } }>(
        `query ($transcription: CreateTranscriptionInput!) {
          estimate(input: { transcription: $transcription }) { amounts { amount } } }`,
        { key: of, variables: { transcription: { file } } },
      );
      const code = errors[0]?.extensions?.['code'] ?? null;
      return { code, seconds: data?.estimate?.amounts[0]?.amount, took: performance.now() - began };
    };
    const result = await beside(
      Array.from({ length: 10 }, () => () => estimate(crowd, at('/recording'))),
      () => estimate(key, short),
    );
    expect(result.others).toMatchObject({ code: null, seconds: 2 });
    expect(result.before).toBeLessThan(5);
    for (const { code, took } of result.crowd) {
      expect([null, 'unavailable']).toContain(code);
      // Decisions 1: 30 s, and what a machine with much else to do takes to tell it.
      expect(took).toBeLessThan(60_000);
    }
  },
);

test(
  'twelve long pages for web_fetch leave another organisation its page',
  { timeout: 240_000 },
  async () => {
    const [crowd, key] = [await business(), await business()];
    const tools = { tools: ['web_fetch'] };
    const [crowded, agent] = [await makeAgent(penstock, crowd, tools), await makeAgent(penstock, key, tools)];
    const fetchPage = async (of: string, id: string, path: string) => {
      const run = await runAgent(penstock, of, id, { input: `Read ${at(path)}` });
      return run.steps.find(({ type }) => type === 'tool_result')?.tool_output;
    };
    const result = await beside(
      Array.from({ length: 12 }, () => () => fetchPage(crowd, crowded, '/long')),
      () => fetchPage(key, agent, '/short'),
    );
    expect(result.others).toMatchObject({ title: 'Gate', text: 'The gate is open.' });
    expect(result.before).toBeLessThan(6);
    expect(result.crowd).toHaveLength(12);
  },
);
