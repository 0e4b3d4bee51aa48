import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPenstock, type TestServer } from '../support/server.js';

let penstock: TestServer;
let key: string;
beforeAll(async () => {
  penstock = await startPenstock();
  ({ key } = await penstock.createOrg());
});
afterAll(() => penstock.close());

const COST = `query ($id: ID!) { model(id: $id) { cost {
  from input cachedInput output image longContext { above input cachedInput output } } } }`;

test('a model has its upstream costs as exact texts, those of long prompts too, and null where there is no price', async () => {
  const { data, errors } = await penstock.graphql(COST, { key, variables: { id: 'google/gemini-2.5-pro' } });
  expect(errors).toEqual([]);
  expect(data).toEqual({
    model: {
      cost: [
        {
          from: expect.stringMatching(/^\d{4}-\d\d-\d\d$/) as string,
          input: '1.25',
          cachedInput: expect.stringMatching(/^0\.\d+$/) as string,
          output: '10',
          image: null,
          longContext: {
            above: 200_000,
            input: '2.5',
            cachedInput: expect.stringMatching(/^0\.\d+$/) as string,
            output: '15',
          },
        },
      ],
    },
  });
});

test('a model of unknown cost has none, and the contract shows no cost', async () => {
  const { data } = await penstock.graphql(COST, { key, variables: { id: 'openai/whisper-1' } });
  expect(data).toEqual({ model: { cost: [] } });
  const { body } = await penstock.rest('GET', '/models/google/gemini-2.5-pro', { key });
  expect(body).not.toHaveProperty('cost');
});
