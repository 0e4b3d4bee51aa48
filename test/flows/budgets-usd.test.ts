import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createBudgetService } from '../../src/metering/index.js';
import type { Budget, BudgetService, NewBudget } from '../../src/metering/index.js';
import { completeChat, createChatEngine, refuseChat, UPSTREAM_KEY, user } from '../support/chat.js';
import type { ChatEngine, ChatOrg } from '../support/chat.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import type { FakeUpstream } from '../support/fake-upstream.js';

let upstream: FakeUpstream;
let engine: ChatEngine;
let budgets: BudgetService;
let org: ChatOrg;

/** USD for a million tokens: a dollar of input and ten of output, or twice as much. */
const CHEAP = [{ input: 1, output: 10 }];
const DEAR = [{ input: 2, cacheWrite: 4, output: 20 }];

beforeAll(async () => {
  upstream = await startFakeUpstream();
  const model = (name: string, cost?: object[]) => ({
    ...{ id: `acme/${name}`, upstreamId: name, type: 'chat', tier: 'basic', contextWindow: 4000 },
    ...(cost && { cost }),
  });
  engine = await createChatEngine({
    providers: {
      providers: [
        {
          ...{ id: 'acme', kind: 'openai-compatible', baseUrl: upstream.baseUrl, apiKey: UPSTREAM_KEY },
          retry: { retries: 0, backoffMs: 5 },
          models: [
            model('cheap', CHEAP),
            model('dear', DEAR),
            model('free'),
            model('first', CHEAP),
            model('alone', CHEAP),
          ],
        },
      ],
      fallbacks: { 'acme/first': ['acme/free', 'acme/dear'], 'acme/alone': ['acme/free'] },
    },
  });
  budgets = createBudgetService({ database: engine.test.database });
});
afterAll(async () => {
  await engine.close();
  await upstream.close();
});
beforeEach(async () => {
  upstream.requests.length = 0;
  org = await engine.createOrg();
});

const USD = { name: 'Money', scope: 'organization', unit: 'usd', period: 'month', limit: 1 } as const;
const make = (more: Partial<NewBudget> = {}) => budgets.create(org.orgId, { ...USD, ...more });
const now = async (): Promise<Budget> => (await budgets.list(org.orgId))[0]!;
const ask = (model: string, more: object = {}) => user('Hi', { model: `acme/${model}`, ...more });

/** The upstream tells 10 tokens of prompt and 5 of answer. */
const CHEAP_COST = '0.00006';

it('a call is settled to what its upstream cost', async () => {
  await make();
  await completeChat(engine, org, ask('cheap'));
  expect(await now()).toMatchObject({ spent: CHEAP_COST, reserved: '0' });
});

it('a call is refused where the dearest of its model and its priced fallbacks does not fit', async () => {
  // A thousand tokens of answer cost a cent, with the fallback two.
  await make({ limit: '0.015' });
  await completeChat(engine, org, ask('cheap', { max_tokens: 1000 }));
  expect(await refuseChat(engine, org, ask('first', { max_tokens: 1000 }))).toMatchObject({
    code: 'budget_exceeded',
    message: 'Budget exceeded: Money',
    details: { remaining: '0.01494' },
  });
  await completeChat(engine, org, ask('first', { max_tokens: 700 }));
});

it('a model without a price is refused, and as a fallback passed over, where the budget is hard', async () => {
  const { id } = await make();
  expect(await refuseChat(engine, org, ask('free'))).toMatchObject({
    code: 'invalid_request',
    message: 'Model has no price: acme/free',
    details: { param: 'model' },
  });
  upstream.queue({ status: 500 });
  expect(await completeChat(engine, org, ask('first'))).toMatchObject({ model: 'acme/dear' });
  upstream.queue({ status: 500 });
  expect(await refuseChat(engine, org, ask('alone'))).toMatchObject({ code: 'server_error' });
  await budgets.update(org.orgId, id, { hard: false });
  expect(await completeChat(engine, org, ask('free'))).toMatchObject({ model: 'acme/free' });
  upstream.queue({ status: 500 });
  expect(await completeChat(engine, org, ask('alone'))).toMatchObject({ model: 'acme/free' });
});
