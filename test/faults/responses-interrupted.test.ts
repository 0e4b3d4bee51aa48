import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { inParallel, seededRandom } from '../support/wait.js';
import { startCluster, type Cluster } from './cluster.js';
import { record, scaled } from './scale.js';

const ANSWERS = scaled(1000, 40);
const WORDS = Array.from({ length: 30 }, (_, n) => `word${n} `);
const TEXT = WORDS.join('');
/** One in so many answers is cut by its upstream. */
const CUT = 8;

const random = seededRandom(12);
let upstream: Server;
let cluster: Cluster;
beforeAll(async () => {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { messages } = (await json(request)) as { messages: { role: string; content: string }[] };
    const last = messages.at(-1);
    // It goes on with an answer that it is given the beginning of.
    const begun = last?.role === 'assistant' ? last.content.split(' ').length - 1 : 0;
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const most = random() < 1 / CUT ? Math.floor(random() * WORDS.length) : WORDS.length;
    const chunk = (delta: object, reason: string | null = null) => {
      const choices = [{ index: 0, delta, finish_reason: reason }];
      response.write(
        `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices })}\n\n`,
      );
    };
    for (const content of WORDS.slice(begun, most)) {
      chunk({ content });
      await sleep(20);
    }
    if (most < WORDS.length) return void response.destroy();
    chunk({}, 'stop');
    response.end('data: [DONE]\n\n');
  };
  upstream = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  const { port } = upstream.address() as AddressInfo;
  const providers = {
    providers: [
      {
        id: 'acme',
        kind: 'openai-compatible',
        baseUrl: `http://127.0.0.1:${port}/v1`,
        apiKey: 'k',
        retry: { retries: 0 },
        models: ['plain', 'chat', 'spare'].map((name) => ({
          id: `acme/${name}`,
          type: 'chat',
          tier: 'basic',
          upstreamId: name,
          prefill: name !== 'plain',
        })),
      },
    ],
    fallbacks: { 'acme/chat': ['acme/spare'] },
    continueStreams: true,
  };
  cluster = await startCluster([{ role: 'api' }, { role: 'api' }, { role: 'worker' }, { role: 'worker' }], {
    providers,
  });
});
afterAll(async () => {
  await cluster?.close();
  upstream?.closeAllConnections();
  await new Promise((resolve) => upstream?.close(resolve));
});

interface Event {
  type: string;
  sequence_number: number;
  delta?: string;
}

const ENDS = ['response.completed', 'response.failed', 'response.cancelled'];

const anApi = () => {
  const apis = cluster.servers.slice(0, 2);
  return apis[random() < 0.5 ? 0 : 1]!;
};

/** @param model `acme/chat` goes on with what was delivered, `acme/plain` does not */
async function start(key: string, { name, model }: { name: string; model: string }): Promise<string> {
  const document = `mutation ($key: String) { startResponse(input: { model: "${model}", input: "Count" }, idempotencyKey: $key) { id } }`;
  for (;;) {
    const answer = await anApi()
      .graphql<{ startResponse: { id: string } }>(document, { key, variables: { key: name } })
      .catch(() => null);
    if (answer?.data) return answer.data.startResponse.id;
    await sleep(100);
  }
}

/** Reads at most so many events, or until its process is killed. */
async function read(path: string, key: string, most: number): Promise<Event[]> {
  const events: Event[] = [];
  const hangUp = new AbortController();
  try {
    const answer = await fetch(`${anApi().origin}${path}`, {
      headers: { authorization: `Bearer ${key}` },
      signal: hangUp.signal,
    });
    if (answer.status !== 200) return events;
    let text = '';
    for await (const part of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += part;
      for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, at))?.[1];
        text = text.slice(at + 2);
        if (data !== undefined && events.push(JSON.parse(data) as Event) >= most) return events;
      }
    }
  } catch {
    // Another process is asked for the rest.
  } finally {
    hangUp.abort();
  }
  return events;
}

async function follow(key: string, id: string): Promise<Event[]> {
  const events: Event[] = [];
  while (!ENDS.includes(events.at(-1)?.type ?? '')) {
    const last = events.at(-1);
    const after = last === undefined ? '' : `&starting_after=${last.sequence_number}`;
    const more = await read(`/v1/responses/${id}?stream=true${after}`, key, 3 + Math.floor(random() * 40));
    events.push(...more);
    if (more.length === 0) await sleep(100);
  }
  return events;
}

/** Kills a process every so often, and starts another in its place. */
async function kill(until: () => boolean): Promise<number> {
  let killed = 0;
  while (!until()) {
    await sleep(1500 + random() * 1500);
    const at = Math.floor(random() * 4);
    const doomed = cluster.servers[at]!;
    await doomed.signal('SIGKILL');
    await doomed.close();
    await cluster.add({ role: at < 2 ? 'api' : 'worker' });
    cluster.servers[at] = cluster.servers.pop()!;
    killed++;
  }
  return killed;
}

test(`${ANSWERS} answers whose readers, processes and upstreams are killed have no gap, no repeat and one charge each`, async () => {
  const { key } = await cluster.installation.createOrg({ plan: 'business_monthly' });
  const faults: unknown[] = [];
  const ends: Record<string, number> = {};
  let done = false;
  const killing = kill(() => done);
  await inParallel(Array.from({ length: ANSWERS }), 24, async (_, nth) => {
    const model = nth % 2 === 0 ? 'acme/chat' : 'acme/plain';
    const id = await start(key, { name: `answer ${nth}`, model });
    if (random() < 0.05)
      void anApi()
        .graphql('mutation ($id: ID!) { cancelResponse(id: $id) { id } }', { key, variables: { id } })
        .catch(() => undefined);
    const events = await follow(key, id);
    const end = events.at(-1)!.type;
    ends[`${model} ${end}`] = (ends[`${model} ${end}`] ?? 0) + 1;
    const said = events
      .map(({ type, delta }) => (type === 'response.output_text.delta' ? delta : ''))
      .join('');
    const inOrder = events.every(({ sequence_number: n }, at) => n === at);
    const whole = end === 'response.completed' ? said === TEXT : TEXT.startsWith(said);
    const sql = `SELECT r.status, r.response, l.state, l.charged FROM responses r
      JOIN usage_ledger l ON l.operation_id = 'op_' || substr(r.id, 6) WHERE r.id = $1`;
    const rows = await cluster.installation.sql<{ status: string; response: string; state: string }>(sql, [
      id,
    ]);
    const { output } = JSON.parse(rows[0]!.response) as { output: { content?: { text: string }[] }[] };
    const kept = output.flatMap(({ content = [] }) => content.map(({ text }) => text)).join('');
    const state = said === '' ? /^(?:released|settled)$/ : /^settled$/;
    const isRight = inOrder && whole && kept === said && rows.length === 1 && state.test(rows[0]!.state);
    if (!isRight || `response.${rows[0]!.status}` !== end)
      faults.push({ id, end, said, kept, rows, inOrder });
  });
  done = true;
  const killed = await killing;
  const [open] = await cluster.installation.sql<{ n: string }>(
    `SELECT count(*) AS n FROM usage_ledger WHERE state = 'reserved' AND holder IS NULL`,
  );
  const made = await cluster.installation.sql<{ n: string }>('SELECT count(*) AS n FROM responses');
  record({ answers: ANSWERS, killed, ...ends, faults: faults.length });
  expect(faults).toEqual([]);
  expect(Number(made[0]?.n)).toBe(ANSWERS);
  expect(Number(open?.n)).toBe(0);
});
