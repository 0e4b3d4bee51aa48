import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeAgent, runAgent } from '../support/agents.js';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;
let key: string;
let agent: string;
let users = 0;

beforeAll(async () => {
  penstock = await startPenstock();
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
  agent = await makeAgent(penstock, key, { memory_enabled: true });
});
afterAll(() => penstock?.close());

/** What the agent keeps of one message, sorted. */
async function kept(input: string): Promise<string[]> {
  const user = `user-${++users}`;
  await runAgent(penstock, key, agent, { input, user });
  const query = `{ agentMemories(agentId: "${agent}", user: "${user}", first: 50) { edges { node { content } } } }`;
  const { data, errors } = await penstock.graphql<{
    agentMemories: { edges: { node: { content: string } }[] };
  }>(query, { key });
  expect(errors).toEqual([]);
  return data!.agentMemories.edges.map(({ node }) => node.content).sort();
}

test.each([
  ["I'm vegetarian."],
  ['I’m vegetarian.'],
  ['Ich heiße Anna und wohne in Köln.'],
  ['Je m’appelle Anne et j’habite à Lyon.'],
  ['Me llamo Ana y vivo en Madrid.'],
  ['Mi chiamo Anna e abito a Torino.'],
  ['我叫小明，我住在上海。'],
  ['私は京都に住んでいます。'],
  ['Please answer me in French from now on.'],
])('an agent remembers what people tell about themselves: %s', async (told) => {
  expect(await kept(told)).toEqual([told]);
});

test('a line of a list is a sentence of its own', async () => {
  const lines = Array.from(
    { length: 15 },
    (_, n) => `- my favourite food number ${n} is ${'very '.repeat(8)}good`,
  );
  expect(await kept(lines.join('\n'))).toEqual(lines.sort());
});

test('of a long sentence the first 500 characters are remembered', async () => {
  const long = `I like rivers ${'and weirs '.repeat(80)}`.trim();
  expect(await kept(long)).toEqual([long.slice(0, 500)]);
});

test.each([
  ['What do I like?'],
  ['Write a poem about a weir.'],
  ['Make me a photo of milk; then tell me who drinks it.'],
  ['我喜欢什么？'],
])('a question or a demand is not remembered: %s', async (said) => {
  expect(await kept(said)).toEqual([]);
});
