import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeAgent } from '../support/agents.js';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
let key: string;
const ajv = new Ajv2020({ strict: false, validateFormats: false });

beforeAll(async () => {
  server = await startPenstock();
  ({ key } = await server.createOrg({ plan: 'business_monthly' }));
  const description = (await (await fetch(`${server.baseUrl}/openapi.json`)).json()) as object;
  ajv.addSchema({ ...description, $id: 'api' });
});
afterAll(() => server?.close());

/** The JSON of each event of a stream, after it was held against the schema that the description has for it. */
async function eventsAsDescribed(
  operation: [method: 'GET' | 'POST', path: string],
  ids: Record<string, string>,
  body?: object,
) {
  const [method, path] = operation;
  const place = ['paths', path, method.toLowerCase(), 'responses', '200', 'content', 'text/event-stream'];
  const pointer = [...place, 'schema'].map((name) => name.replaceAll('/', '~1')).map(encodeURIComponent);
  const framed = ajv.compile({ $ref: `api#/${pointer.join('/')}` });
  const json = path === '/chat/completions' ? 'anyOf/1/contentSchema' : 'contentSchema';
  const taken = ajv.compile({ $ref: `api#/${pointer.join('/')}/properties/data/${json}` });
  const url = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name]!);
  const { status, events } = await server.events(method, url, { key, ...(body ? { body } : {}) });
  expect(status).toBe(200);
  const all: Record<string, unknown>[] = [];
  for await (const { data } of events) {
    expect(framed({ data }), ajv.errorsText(framed.errors)).toBe(true);
    if (data === '[DONE]') continue;
    const event = JSON.parse(data) as Record<string, unknown>;
    expect(taken(event), `${data} ${ajv.errorsText(taken.errors)}`).toBe(true);
    all.push(event);
  }
  expect(framed(all[0]), 'an event without its framing').toBe(false);
  expect(taken({ data: JSON.stringify(all[0]) }), 'an event in its framing').toBe(false);
  return all;
}

it('each chunk of a chat, and the failure of one that breaks off, is what the description says of it', async () => {
  const chat = (content: string) => ({ stream: true, messages: [{ role: 'user', content }] });
  const whole = await eventsAsDescribed(['POST', '/chat/completions'], {}, chat('@sandbox{"tokens":3}'));
  expect(whole.at(-1)).toHaveProperty('usage');
  const broken = chat('@sandbox{"tokens":20,"fail":"broken","fail_after_tokens":5}');
  const cut = await eventsAsDescribed(['POST', '/chat/completions'], {}, broken);
  expect(cut.at(-1)).toEqual({ error: 'Generation failed', code: 'server_error' });
});

it("each event of a job's stream is what the description says of it", async () => {
  const body = { prompt: 'a red square', size: '512x512' };
  const made = await server.rest<{ id: string }>('POST', '/images/generations?async=true', { key, body });
  const events = await eventsAsDescribed(['GET', '/jobs/{jobId}/stream'], { jobId: made.body.id });
  expect(events.at(-1)).toMatchObject({ type: 'job.completed' });
});

it("each event of an agent's run, joined again or not, is what the description says of it", async () => {
  const id = await makeAgent(server, key, { tools: ['generate_text'] });
  const events = await eventsAsDescribed(['POST', '/agents/{id}/run'], { id }, { input: 'Write a poem.' });
  expect(events.map(({ type }) => type)).toEqual(['start', 'step', 'step', 'step', 'step', 'done']);
  const runId = String(events[0]!['run_id']);
  expect(await eventsAsDescribed(['GET', '/agents/{id}/runs/{runId}/stream'], { id, runId })).toEqual(events);
  const failing = { input: '@sandbox{"fail":"broken"}' };
  const failed = await eventsAsDescribed(['POST', '/agents/{id}/run'], { id }, failing);
  expect(failed.at(-1)).toMatchObject({ type: 'error' });
});
