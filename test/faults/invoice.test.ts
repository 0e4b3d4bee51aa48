import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Reconciliation } from '../../src/usage/index.js';
import { decimalText } from '../../src/pricing/index.js';
import { eventually, inParallel, seededRandom } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const CALLS = scaled(20_000, 300);
/** USD for a million tokens. */
const PRICE = { input: '2', cachedInput: '0.5', output: '8.25' };
/** The same in pico-dollars for one. */
const PICO = { input: 2_000_000n, cached: 500_000n, output: 8_250_000n };

interface Entry {
  model: string;
  input: number;
  cached: number;
  output: number;
}

const random = seededRandom(13);
const below = (most: number) => Math.floor(random() * most);

/** What the upstream will ask to be paid for, by the ids of its answers. */
const books = new Map<string, Entry>();
/** Answers whose readers left: the upstream had written more than was read. */
const aborted = new Set<string>();
let made = 0;
/** Calls that were not answered. */
const refused: string[] = [];

function usageOf({ input, cached, output }: Entry) {
  const reasoning = Math.floor(output / 3);
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

async function stream(response: ServerResponse, { id, entry }: { id: string; entry: Entry }): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const head = { id, object: 'chat.completion.chunk', created: 1_700_000_000, model: entry.model };
  const say = (more: object) => response.write(`data: ${JSON.stringify({ ...head, ...more })}\n\n`);
  const planned = entry.output;
  let isGone = false;
  response.on('close', () => (isGone = true));
  for (entry.output = 0; entry.output < planned;) {
    if (isGone) return;
    entry.output += 1;
    const choices = [{ index: 0, delta: { content: ' word' }, finish_reason: null }];
    say({ choices, usage: usageOf(entry) });
    if (entry.output % 8 === 0) await sleep(5);
  }
  say({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: usageOf(entry) });
  response.end('data: [DONE]\n\n');
}

/** Fails now and then before it does anything; `flaky` does so always. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await json(request)) as { model: string; stream?: boolean; messages?: object[] };
  if (body.model === 'flaky' || random() < 0.01)
    return void response
      .writeHead(503, { 'content-type': 'application/json' })
      .end('{"error":{"message":"busy"}}');
  const id = `up-${++made}`;
  const input = 20 + below(400);
  const entry: Entry = { model: body.model, input, cached: below(2) * below(input), output: 5 + below(60) };
  books.set(id, entry);
  if (body.stream === true) return await stream(response, { id, entry });
  const message = { role: 'assistant', content: ' word'.repeat(entry.output) };
  const whole = {
    id,
    object: 'chat.completion',
    created: 1_700_000_000,
    model: body.model,
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage: usageOf(entry),
  };
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(whole));
}

let upstream: Server;
let cluster: Cluster;
beforeAll(async () => {
  upstream = createServer(
    (request, response) => void answer(request, response).catch(() => response.destroy()),
  );
  // A connection that ends while a call is sent over it would be a failure of another kind.
  upstream.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as AddressInfo;
  const models = ['chat', 'flaky'].map((name) => ({
    id: `acme/${name}`,
    upstreamId: name,
    type: 'chat',
    tier: 'basic',
    cost: [PRICE],
  }));
  const provider = { kind: 'openai-compatible', baseUrl: `http://127.0.0.1:${port}/v1`, apiKey: 'k' };
  const retry = { retries: 3, backoffMs: 5 };
  cluster = await startCluster([{ role: 'all' }, { role: 'api' }], {
    providers: {
      providers: [{ id: 'acme', ...provider, retry, models }],
      fallbacks: { 'acme/flaky': ['acme/chat'] },
    },
  });
});
afterAll(async () => {
  await cluster?.close();
  upstream?.closeAllConnections();
  await new Promise((resolve) => upstream?.close(resolve));
});

const messages = [{ role: 'user', content: 'Count' }];

/** One call of some form. @returns its status */
async function call(key: string, agentId: string): Promise<number> {
  const { origin } = cluster.next();
  const hangUp = new AbortController();
  const send = async (path: string, body: object, most = Number.POSITIVE_INFINITY) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify(body), signal: hangUp.signal };
    const response = await fetch(origin + path, init);
    let read = '';
    for await (const part of response.body ?? []) {
      read += Buffer.from(part as Uint8Array).toString('latin1');
      if (read.length <= most) continue;
      // Its upstream may have written more than anybody read.
      const id = /"id":"(up-\d+)"/.exec(read)?.[1];
      if (id !== undefined) aborted.add(id);
      break;
    }
    if (response.status !== 200) refused.push(`${path}: ${response.status} ${read}`);
    return response.status;
  };
  const model = random() < 0.1 ? 'acme/flaky' : 'acme/chat';
  const chat = { model, messages };
  const forms: (() => Promise<number>)[] = [
    () => send('/api/v1/chat/completions', chat),
    () => send('/api/v1/chat/completions', { ...chat, stream: true }),
    // Its reader leaves in the middle.
    () => send('/v1/chat/completions', { ...chat, stream: true }, 1500),
    () => send('/v1/chat/completions', chat),
    () => send('/v1/responses', { model, input: 'Count' }),
    () => send('/v1/responses', { model, input: 'Count', stream: true, store: false }),
    () => send('/v1/messages', { ...chat, max_tokens: 500 }),
    () => send('/v1/messages', { ...chat, max_tokens: 500, stream: true }),
    () => send('/v1/completions', { model, prompt: 'Count' }),
    () => send('/api/v1/embeddings', { model: 'sandbox/embedding-basic', input: 'Count' }),
    () => send('/api/v1/audio/speech?async=true', { model: 'sandbox/tts-fast', input: 'Count' }),
  ];
  if (random() < 0.02) return await send(`/api/v1/agents/${agentId}/run`, { input: 'Count' });
  return await (forms[below(forms.length)] as () => Promise<number>)();
}

const costOf = ({ input, cached, output }: Entry): bigint =>
  BigInt(input - cached) * PICO.input + BigInt(cached) * PICO.cached + BigInt(output) * PICO.output;

test(`an upstream's own books over ${CALLS} calls of every form agree with the ledger to the last answer`, async () => {
  const { installation } = cluster;
  const { key, orgId } = await installation.createOrg({ plan: 'business_monthly' });
  const { body } = await cluster.next().rest<{ agent: { id: string } }>('POST', '/agents', {
    key,
    body: { name: 'A', model: 'acme/chat', system_prompt: 'Count.' },
  });
  const statuses: Record<number, number> = {};
  await inParallel(Array.from({ length: CALLS }), 24, async () => {
    const status = await call(key, body.agent.id);
    statuses[status] = (statuses[status] ?? 0) + 1;
  });
  await eventually(
    async () => {
      const sql = `SELECT 1 FROM usage_ledger WHERE org_id = $1 AND state = 'reserved' LIMIT 1`;
      const open = await installation.sql(sql, [orgId]);
      const [folds] = await installation.sql<{ behind: string }>(
        `SELECT b.sequence - COALESCE(f.sequence, 0) AS behind FROM balances b LEFT JOIN usage_folds f USING (org_id)
         WHERE b.org_id = $1 AND NOT b.superseded`,
        [orgId],
      );
      return open.length === 0 && Number(folds?.behind) === 0;
    },
    { timeoutMs: 300_000, everyMs: 500, what: 'the end and the sums of every operation' },
  );
  const lines = [...books].map(([id, entry]) => {
    const { model, input, cached, output } = entry;
    return [id, model, input, cached, output, decimalText(costOf(entry), 12)].join(',');
  });
  const file = join(installation.dataDir, 'invoice.csv');
  await writeFile(
    file,
    ['request_id,model,input_tokens,cached_tokens,output_tokens,cost_usd', ...lines].join('\n'),
  );
  const found = await installation
    .cli<Reconciliation>('reconcile', '--org', orgId, '--invoice', file)
    .catch((error: unknown) => JSON.parse((error as { stdout: string }).stdout) as Reconciliation);
  const unexplained = found.differences.filter(({ of }) => !aborted.has(of));
  record({
    calls: CALLS,
    answers: books.size,
    aborted: aborted.size,
    differences: found.differences.length,
    ...Object.fromEntries(Object.entries(statuses).map(([status, count]) => [`status${status}`, count])),
  });
  expect(unexplained).toEqual([]);
  expect(refused).toEqual([]);
}, 3_600_000);
