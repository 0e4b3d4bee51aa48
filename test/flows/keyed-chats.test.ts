import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server?.close());

interface Chunk {
  sequence: number | null;
  choices: { delta: { content: string | null }; finishReason: string | null }[];
  usage: { creditsUsed: number; totalTokens: number } | null;
}

const DOCUMENT = `subscription ($input: ChatCompletionInput!, $key: String, $after: Int) {
  chatCompletion(input: $input, idempotencyKey: $key, after: $after) {
    sequence choices { delta { content } finishReason } usage { creditsUsed totalTokens } } }`;

const inputOf = (content: string) => ({ model: 'sandbox/chat-basic', messages: [{ role: 'user', content }] });

async function read(
  key: string,
  { most = Number.POSITIVE_INFINITY, ...variables }: Record<string, unknown> & { most?: number },
): Promise<{ chunks: Chunk[]; errors: unknown[] }> {
  const client = server.ws(key);
  const chunks: Chunk[] = [];
  const errors: unknown[] = [];
  try {
    const query = { query: DOCUMENT, variables };
    for await (const { data, errors: faults } of client.iterate<{ chatCompletion: Chunk }>(query)) {
      if (faults) errors.push(...faults);
      else if (data) chunks.push(data.chatCompletion);
      if (chunks.length >= most) break;
    }
  } catch (error) {
    errors.push(...((Array.isArray(error) ? error : [error]) as unknown[]));
  } finally {
    await client.dispose();
  }
  return { chunks, errors };
}

const textOf = (chunks: Chunk[]) => chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');

interface Row {
  operation: string;
  state: string;
  amounts: { bucket: string; amount: number }[];
}

async function ledger(key: string): Promise<Row[]> {
  const query = '{ usageRecords(first: 10) { nodes { operation state amounts { bucket amount } } } }';
  const { data } = await server.graphql<{ usageRecords: { nodes: Row[] } }>(query, { key });
  return data!.usageRecords.nodes;
}

test('a chat under a key goes on without its reader, and is joined from where that left, for one charge', async () => {
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  const asked = { input: inputOf('Of weirs @sandbox{"tokens":40,"chunk_ms":15}'), key: 'weirs' };
  const first = await read(key, { ...asked, most: 5 });
  expect(first.errors).toEqual([]);
  const rest = await read(key, { ...asked, after: first.chunks.at(-1)!.sequence });
  const chunks = [...first.chunks, ...rest.chunks];
  expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, at) => at + 1));
  expect(chunks.at(-1)!.choices[0]!.finishReason).toBe('stop');

  const again = await read(key, asked);
  expect(again.chunks).toEqual(chunks);
  expect(textOf(chunks)).not.toBe('');
  const rows = await ledger(key);
  expect(rows).toMatchObject([{ operation: 'chat', state: 'settled' }]);
  const credits = rows[0]!.amounts.find(({ bucket }) => bucket === 'credits')!.amount;
  expect(chunks.find(({ usage }) => usage !== null)!.usage!.creditsUsed).toBe(credits);
});

test('a key of a chat stands for one request, and a chat that fails says so to all its readers', async () => {
  const { key } = await server.createOrg({ plan: 'business_monthly' });
  const hello = await read(key, { input: inputOf('Hello'), key: 'one' });
  expect(hello.errors).toEqual([]);
  const other = await read(key, { input: inputOf('Bye'), key: 'one' });
  expect(other.errors).toMatchObject([{ extensions: { httpStatus: 422, param: 'idempotencyKey' } }]);
  const failing = { input: inputOf('x @sandbox{"fail":"no","fail_after_tokens":4,"tokens":20}'), key: 'two' };
  for (const asked of [failing, failing]) {
    const { chunks, errors } = await read(key, asked);
    expect(chunks.map(({ sequence }) => sequence)).toEqual(chunks.map((_, at) => at + 1));
    expect(textOf(chunks)).not.toBe('');
    expect(errors).toMatchObject([{ message: 'Generation failed' }]);
  }
  expect((await ledger(key)).map(({ state }) => state)).toEqual(['settled', 'settled']);
  const plain = await read(key, { input: inputOf('Hello'), after: 3 });
  expect(plain.errors).toMatchObject([{ extensions: { param: 'after' } }]);
  const without = await read(key, { input: inputOf('Hello') });
  expect(without.chunks.map(({ sequence }) => sequence)).toEqual(without.chunks.map(() => null));
});
