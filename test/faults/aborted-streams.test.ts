import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, inParallel, seededRandom } from '../support/wait.js';
import { charged, readLedger, startCluster, type Cluster } from './cluster.js';

const STREAMS = 1000;
const TOKENS = 400;
const LONGEST = 60;

let cluster: Cluster;
beforeAll(async () => {
  cluster = await startCluster([{ role: 'api' }, { role: 'all' }]);
});
afterAll(() => cluster?.close());

interface Chunk {
  choices: { delta: { content?: string } }[];
}

const body = (stream: boolean, tokens: number) => ({
  messages: [{ role: 'user', content: `@sandbox{"tokens":${tokens},"chunk_ms":10} tell me of rivers` }],
  max_tokens: TOKENS,
  stream,
});

/** Reads `length` tokens of a stream, then hangs up. */
async function abortAfter(length: number, key: string): Promise<{ requestId: string; received: number }> {
  const response = await cluster.next().raw('/api/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body(true, TOKENS)),
  });
  expect(response.statusCode).toBe(200);
  let received = 0;
  let rest = '';
  for await (const part of response.body as AsyncIterable<Buffer>) {
    rest += part.toString();
    const lines = rest.split('\n\n');
    rest = lines.pop() ?? '';
    for (const line of lines.filter((one) => one.startsWith('data: {'))) {
      const chunk = JSON.parse(line.slice(6)) as Chunk;
      if (chunk.choices[0]?.delta.content) received += 1;
    }
    if (received >= length) break; // Leaving the loop destroys the connection.
  }
  return { requestId: String(response.headers['x-request-id']), received };
}

test('1,000 streams that are hung up on are charged their prompt and what was delivered, and hold nothing back', async () => {
  const { key } = await cluster.installation.createOrg();
  const whole = await cluster
    .next()
    .rest<{ usage: { prompt_tokens: number } }>('POST', '/chat/completions', { key, body: body(false, 5) });
  const prompt = whole.body.usage.prompt_tokens;
  const random = seededRandom(4);
  const lengths = Array.from({ length: STREAMS }, () => 1 + Math.floor(random() * LONGEST));

  const aborted = await inParallel(lengths, 40, (length) => abortAfter(length, key));

  const rows = await eventually(
    async () => {
      const ledger = await readLedger(cluster.next(), key);
      return ledger.length === STREAMS + 1 && ledger.every(({ state }) => state !== 'reserved')
        ? ledger
        : null;
    },
    { timeoutMs: 60_000, everyMs: 500, what: 'the settlement of every stream' },
  );
  const byRequest = new Map(rows.map((row) => [row.requestId, row]));
  const wrong = aborted.filter(({ requestId, received }) => {
    const row = byRequest.get(requestId);
    const tokens = row === undefined ? 0 : charged(row, 'chat_tokens');
    return row?.state !== 'settled' || tokens < prompt + received || tokens >= prompt + TOKENS;
  });
  expect(wrong).toEqual([]);
  const quota = await cluster
    .next()
    .rest<{ quotas: Record<string, { used: number }> }>('GET', '/quota', { key });
  for (const bucket of ['credits', 'chat_tokens']) {
    expect(quota.body.quotas[bucket]?.used).toBe(rows.reduce((sum, row) => sum + charged(row, bucket), 0));
  }
});
