import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { event, startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream, Reply } from '../support/fake-upstream.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { isStored, killedInTheMiddle } from '../support/killed-worker.js';
import { runToEnd } from '../support/run-to-end.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { eventually } from '../support/wait.js';
import { nativeEvents, streamedResponse } from '../v1/native-responses.js';

const WORDS = ['The', ' tide', ' comes', ' in', ' at', ' noon.'];
const WHOLE = WORDS.join('');
const ARGUMENTS = ['{"place":', '"Emden"}'];

const place = { item_id: 'msg_up', output_index: 0, content_index: 0 };
const part = { type: 'output_text', text: '', annotations: [], logprobs: [] };
const message = { id: 'msg_up', type: 'message', role: 'assistant', status: 'completed' };
const call = { id: 'fc_up', type: 'function_call', call_id: 'call_1', name: 'tide', status: 'completed' };
const [whole, wholeCall] = [
  { ...part, text: WHOLE },
  { ...call, arguments: ARGUMENTS.join('') },
];
const wholeMessage = { ...message, content: [whole] };
const response = (more: object) => ({ id: 'resp_up', object: 'response', model: 'up', output: [], ...more });
const END = response({
  status: 'completed',
  output: [wholeMessage, wholeCall],
  usage: { input_tokens: 10, output_tokens: 7, total_tokens: 17 },
});

/** The upstream's answer: a text, and a call of a tool. */
const TOLD: (Record<string, unknown> & { type: string })[] = [
  ...['created', 'in_progress'].map((type) => ({
    type: `response.${type}`,
    response: response({ status: 'in_progress' }),
  })),
  {
    type: 'response.output_item.added',
    output_index: 0,
    item: { ...message, status: 'in_progress', content: [] },
  },
  { type: 'response.content_part.added', ...place, part },
  ...WORDS.map((delta) => ({ type: 'response.output_text.delta', ...place, delta, logprobs: [] })),
  { type: 'response.output_text.done', ...place, text: WHOLE, logprobs: [] },
  { type: 'response.content_part.done', ...place, part: whole },
  { type: 'response.output_item.done', output_index: 0, item: wholeMessage },
  {
    type: 'response.output_item.added',
    output_index: 1,
    item: { ...call, status: 'in_progress', arguments: '' },
  },
  ...ARGUMENTS.map((delta) => ({
    type: 'response.function_call_arguments.delta',
    item_id: 'fc_up',
    output_index: 1,
    delta,
  })),
  { type: 'response.output_item.done', output_index: 1, item: wholeCall },
  { type: 'response.completed', response: END },
];
/** How many events it takes to the middle of the call. */
const TO_THE_CALL = TOLD.findIndex(({ delta }) => delta === ARGUMENTS[0]) + 1;

/** Some events as they come, each filled up at random as the maker does it. */
const events = (from = 0, to = TOLD.length): string[] =>
  TOLD.slice(from, to).map(({ type, ...rest }, at) => {
    const filled = rest['delta'] === undefined ? {} : { obfuscation: randomUUID() };
    const data = { type, sequence_number: from + at, ...rest, ...filled };
    return `event: ${type}\n${event(data)}`;
  });
const hangsAfter = (count: number): Reply => ({ chunks: events(0, count), then: 'hang' });

let upstream: FakeUpstream;
let search: FakeUpstream;
let installation: Installation;
/** Takes calls and works on none. */
let server: TestServer;
let key: string;
let orgId: string;

beforeAll(async () => {
  [upstream, search] = await Promise.all([startFakeUpstream(), startFakeUpstream()]);
  upstream.always({ body: {} });
  search.always({
    body: { results: [{ title: 'Tide', url: 'https://tide.example/', content: 'At noon.' }] },
  });
  const chat = { type: 'chat', tier: 'basic', upstreamId: 'up', cost: [{ input: '1', output: '10' }] };
  installation = await createInstallation({
    env: { SEARXNG_URL: search.baseUrl.replace('/v1', '') },
    providers: {
      providers: [
        {
          id: 'acme',
          kind: 'openai-compatible',
          baseUrl: upstream.baseUrl,
          apiKey: 'k',
          dialects: ['responses'],
          retry: { retries: 2, backoffMs: 1 },
          models: [
            { id: 'acme/chat', ...chat, background: true },
            { id: 'acme/plain', ...chat },
          ],
        },
      ],
    },
  });
  server = await startPenstock({ installation, role: 'api' });
});
afterAll(async () => {
  await server.close();
  await installation.close();
  await Promise.all([upstream.close(), search.close()]);
});
beforeEach(async () => {
  upstream.requests.length = 0;
  ({ key, orgId } = await installation.createOrg({ plan: 'business_monthly' }));
});

const openai = () => new OpenAI({ apiKey: key, baseURL: `${server.origin}/v1`, maxRetries: 0 });
const tools = [{ type: 'function' as const, name: 'tide', parameters: {}, strict: false }];
const ask = { model: 'acme/chat', input: 'When?', tools, background: true } as const;

async function streamed(): Promise<ResponseStreamEvent[]> {
  const found: ResponseStreamEvent[] = [];
  for await (const one of await openai().responses.create({ ...ask, stream: true })) found.push(one);
  return found;
}

/** Starts one in the background, and waits until it has failed. */
async function failed() {
  const { id } = await openai().responses.create(ask);
  return await eventually(
    async () => {
      const found = await openai().responses.retrieve(id);
      return found.status === 'failed' && found;
    },
    { timeoutMs: 60_000 },
  );
}

/** The worker is killed in the middle of the call. */
const killedInTheCall = <T>(asked: () => Promise<T>): Promise<T> =>
  killedInTheMiddle({
    installation,
    orgId,
    ask: asked,
    isDue: () => isStored(installation, orgId, 'function_call_arguments.delta'),
  });

async function withWorker<T>(work: () => Promise<T>): Promise<T> {
  const worker = await startPenstock({ installation, role: 'worker' });
  try {
    return await work();
  } finally {
    await worker.close();
  }
}

const requests = () => upstream.requests.map(({ method, path }) => `${method} ${path}`);
const ASKED = 'POST /v1/responses';
const ASKED_AGAIN = 'GET /v1/responses/resp_up?stream=true';
const CANCELLED = 'POST /v1/responses/resp_up/cancel';
const FORGOTTEN = 'DELETE /v1/responses/resp_up';

const ledger = () =>
  installation.sql<{ state: string; status: string; cost: string; id: string }>(
    `SELECT state, status, cost_nano AS cost, upstream_id AS id FROM usage_ledger WHERE org_id = '${orgId}' AND kind <> 'period'`,
  );

/** That its reader saw one whole answer. */
function expectWhole(found: readonly ResponseStreamEvent[]): void {
  expect(found.map(({ sequence_number: n }) => n)).toEqual(found.map((_, at) => at));
  const said = (type: string) =>
    found.flatMap((one) => (one.type === type && 'delta' in one ? [one.delta] : [])).join('');
  expect(said('response.output_text.delta')).toBe(WHOLE);
  expect(said('response.function_call_arguments.delta')).toBe(ARGUMENTS.join(''));
  const last = found.at(-1);
  if (last?.type !== 'response.completed') throw new Error(`it ended with ${last?.type}`);
  const named = found.flatMap((one) => ('item_id' in one ? [`${one.output_index} ${one.item_id}`] : []));
  const { output, usage } = last.response;
  expect([...new Set(named)]).toEqual(output.map(({ id }, at) => `${at} ${id}`));
  expect(output).toMatchObject([{ content: [{ text: WHOLE }] }, { arguments: ARGUMENTS.join('') }]);
  expect(usage).toMatchObject({ input_tokens: 10, output_tokens: 7 });
  const created = found.flatMap((one) => ('response' in one ? [one.response.created_at] : []));
  expect(new Set(created).size).toBe(1);
}

/** That it was paid for once. 10 tokens for 1 USD and 7 for 10 USD a million are 80,000 nano-dollars. */
async function expectOneCharge(): Promise<void> {
  expect(await ledger()).toEqual([{ state: 'settled', status: 'succeeded', cost: '80000', id: 'resp_up' }]);
}

describe('an answer with which its upstream goes on by itself', () => {
  it('goes on in another worker with a call of a tool, as one answer, asked for and paid for once', async () => {
    upstream.queue(hangsAfter(TO_THE_CALL), { chunks: events() });
    expectWhole(await killedInTheCall(streamed));
    await expectOneCharge();
    await eventually(() => Promise.resolve(requests().length === 3));
    expect(requests()).toEqual([ASKED, ASKED_AGAIN, FORGOTTEN]);
    expect(upstream.requests[0]?.body).toMatchObject({ background: true, store: true, stream: true });
  }, 90_000);

  it('is not asked for twice where its worker is killed before anything of it came', async () => {
    upstream.queue(hangsAfter(1), { chunks: events() });
    const isDue = async () =>
      (
        await installation.sql(
          `SELECT 1 FROM responses WHERE org_id = '${orgId}' AND upstream_id = 'resp_up'`,
        )
      ).length === 1;
    expectWhole(await killedInTheMiddle({ installation, orgId, ask: streamed, isDue }));
    await expectOneCharge();
    expect(requests().slice(0, 2)).toEqual([ASKED, ASKED_AGAIN]);
  }, 90_000);

  it('ends as interrupted, with what was delivered, where the upstream does not know it any more', async () => {
    upstream.queue(hangsAfter(TO_THE_CALL), { status: 404, body: { error: { message: 'gone' } } });
    const ended = await killedInTheCall(failed);
    expect(ended.error?.message).toBe('Interrupted');
    expect(ended.output_text).toBe(WHOLE);
    expect(requests()).toEqual([ASKED, ASKED_AGAIN]);
    expect(await ledger()).toMatchObject([{ state: 'settled', status: 'failed' }]);
  }, 90_000);

  it('ends as interrupted, with what was delivered, where the upstream tells something else now', async () => {
    const other = events().map((one) => one.replace('noon.', 'six.'));
    upstream.queue(hangsAfter(TO_THE_CALL), { chunks: other });
    const ended = await killedInTheCall(failed);
    expect(ended.error?.message).toBe('Interrupted');
    expect(ended.output_text).toBe(WHOLE);
    await eventually(() => Promise.resolve(requests().includes(FORGOTTEN)));
    expect(requests().filter((one) => one === ASKED)).toHaveLength(1);
    expect(await ledger()).toMatchObject([{ state: 'settled', status: 'failed' }]);
  }, 90_000);

  it('is asked for from where its connection broke, as often as it breaks', async () => {
    const breaks = (from: number, to: number): Reply => ({ chunks: events(from, to), then: 'reset' });
    upstream.queue(breaks(0, 6), breaks(6, 7), { status: 503 }, breaks(7, 12), { chunks: events(12) });
    expectWhole(await withWorker(streamed));
    await expectOneCharge();
    await eventually(() => Promise.resolve(requests().includes(FORGOTTEN)));
    const after = [5, 6, 6, 11].map((n) => `${ASKED_AGAIN}&starting_after=${n}`);
    expect(requests()).toEqual([ASKED, ...after, FORGOTTEN]);
  }, 60_000);

  it('is cancelled at its upstream, and removed there, when its caller cancels it', async () => {
    upstream.queue(hangsAfter(TO_THE_CALL));
    await withWorker(async () => {
      const { id } = await openai().responses.create(ask);
      await eventually(() => isStored(installation, orgId, 'function_call_arguments.delta'));
      expect(await openai().responses.cancel(id)).toMatchObject({ status: 'cancelled' });
      await eventually(() => Promise.resolve(requests().includes(FORGOTTEN)));
    });
    expect(requests()).toEqual([ASKED, CANCELLED, FORGOTTEN]);
    expect(await ledger()).toMatchObject([{ state: 'settled', status: 'cancelled' }]);
  }, 60_000);

  it('is removed there when a search makes another round of it, which is asked for as ever', async () => {
    const searched = { ...call, name: 'web_search', arguments: '{"query":"tide"}' };
    upstream.queue(
      { chunks: streamedResponse({ ...END, output: [searched] }) },
      { chunks: nativeEvents(WORDS) },
    );
    const text = await withWorker(async () => {
      const asked = { ...ask, tools: [{ type: 'web_search' as const }], stream: true as const };
      let said = '';
      for await (const one of await openai().responses.create(asked))
        if (one.type === 'response.output_text.delta') said += one.delta;
      return said;
    });
    expect(text).toBe(WHOLE);
    expect(requests()).toEqual([ASKED, ASKED, FORGOTTEN]);
    expect(upstream.requests.map(({ body }) => body['store'])).toEqual([true, false, undefined]);
    expect((await ledger()).map(({ state }) => state)).not.toContain('reserved');
  }, 60_000);

  it('is asked for only in the background, and only of models that say so', async () => {
    upstream.queue({ body: END }, { chunks: events() });
    await openai().responses.create({ model: 'acme/chat', input: 'When?', tools });
    await withWorker(async () => {
      const stream = await openai().responses.create({ ...ask, model: 'acme/plain', stream: true });
      for await (const one of stream) expect(one.type).not.toBe('response.failed');
    });
    expect(upstream.requests.map(({ body }) => [body['store'], body['background']])).toEqual([
      [false, undefined],
      [false, undefined],
    ]);
  }, 60_000);
});

it('the start is refused where such a model is no chat, or its provider does not speak the dialect', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'penstock-background-'));
  const file = join(folder, 'providers.json');
  const provider = (id: string, dialects: string[], type: string) => ({
    id,
    kind: 'openai-compatible',
    baseUrl: upstream.baseUrl,
    dialects,
    models: [{ id: `${id}/m`, upstreamId: 'm', type, tier: 'basic', background: true }],
  });
  const providers = [provider('one', ['messages'], 'chat'), provider('two', ['responses'], 'image')];
  await writeFile(file, JSON.stringify({ providers }));
  const { code, stderr } = await runToEnd({
    PORT: '0',
    DATA_DIR: join(folder, 'data'),
    PROVIDERS_FILE: file,
  });
  await rm(folder, { recursive: true, force: true });
  expect(code).toBe(1);
  expect(stderr).toContain('providers.1.models.0.background: belongs to chat models');
  expect(stderr).toContain(
    'providers.0.models.0.background: needs a provider that speaks the dialect responses',
  );
});
