import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

const LIMIT = 5000;
const CHAT =
  'mutation ($input: ChatCompletionInput!) { createChatCompletion(input: $input) { choices { message { content } } } }';
const MANY = 'Variables hold more than 5000 input objects';

let penstock: TestServer;
let key: string;
beforeAll(async () => {
  penstock = await startPenstock();
  ({ key } = await penstock.createOrg({ plan: 'business_monthly' }));
});
afterAll(() => penstock.close());

const messages = (count: number) => Array.from({ length: count }, () => ({ role: 'user', content: 'a' }));

/** The input itself is an object too. */
test.each([
  ['as many as there may be', LIMIT - 1, undefined],
  ['one more', LIMIT, MANY],
  ['many more', 10 * LIMIT, MANY],
])('a document has at most 5,000 objects of input types in its variables: %s', async (_, count, message) => {
  const variables = { input: { messages: messages(count), maxTokens: 5 } };
  const { status, data, errors } = await penstock.graphql(CHAT, { key, variables });
  expect(errors[0]?.message).toBe(message);
  expect(status).toBe(message === undefined ? 200 : 400);
  expect(data == null).toBe(message !== undefined);
});

test('what is one value to GraphQL counts as one, whatever it holds', async () => {
  const content = Array.from({ length: 2 * LIMIT }, () => ({ type: 'text', text: 'a' }));
  const variables = { input: { messages: [{ role: 'user', content }], maxTokens: 5 } };
  const { errors } = await penstock.graphql(CHAT, { key, variables });
  expect(errors).toEqual([]);
});

test('REST takes as many messages as its body holds', async () => {
  const body = { messages: messages(LIMIT + 1), max_tokens: 5 };
  expect((await penstock.rest('POST', '/chat/completions', { key, body })).status).toBe(200);
});
