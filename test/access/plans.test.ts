import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { allowanceOf, createPlanCatalogue, loadPlans } from '../../src/access/index.js';
import { ConfigError } from '../../src/config/index.js';

let folder: string;
let file: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'penstock-plans-'));
  file = join(folder, 'plans.json');
});
afterAll(() => rm(folder, { recursive: true }));

const write = (content: unknown) =>
  writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));

async function faultsOf(content: unknown): Promise<string[]> {
  await write(content);
  const error: unknown = await loadPlans(file).catch((thrown: unknown) => thrown);
  if (!(error instanceof ConfigError)) throw new Error('the file was accepted');
  return error.faults;
}

test("the contract's numbers hold without a file", async () => {
  const { plans, endpointLimits } = await loadPlans(null);
  expect(plans.free.limits).toMatchObject({
    credits: 100,
    chat_tokens: 100_000,
    image_generations: 0,
    agent_runs: 0,
  });
  expect(plans.free).toMatchObject({ kind: 'free', agents: null, webhooks: null });
  expect(plans.business_monthly.limits).toMatchObject({
    video_seconds: 3600,
    stt_seconds: 18_000,
    music_tracks: 80,
  });
  expect(plans.cli_team).toMatchObject({ kind: 'recurring', limits: { credits: 10_000, agent_runs: -1 } });
  expect(plans.cli_pro.webhooks?.max).toBe(5);
  expect(endpointLimits.video).toEqual({ limit: 5, windowSeconds: 3600 });
  expect(allowanceOf(plans.cli_pro)).toEqual([200_000, 200_000_000, 0, 0, 0, 0, 0, 0, -1]);
});

test('a file is merged deeply over them', async () => {
  await write({
    plans: { business_monthly: { limits: { credits: 900 }, rate: { rpm: 10_000 } } },
    endpointLimits: { chat: { limit: 5 } },
  });
  const { plans, endpointLimits } = await loadPlans(file);
  expect(plans.business_monthly.limits).toMatchObject({
    credits: 900,
    chat_tokens: 900_000,
    image_edits: 300,
  });
  expect(plans.business_monthly.rate).toEqual({ rpm: 10_000, burst: 300 });
  expect(endpointLimits.chat).toEqual({ limit: 5, windowSeconds: 60 });
});

test('every fault of a file is named at once', async () => {
  const faults = await faultsOf({
    plans: { free: { limits: { credits: 1.5 }, colour: 'red' }, gold: {} },
    endpointLimits: { chat: { limit: 0 } },
  });
  expect(faults.join('\n')).toMatch(/plans\.free\.limits\.credits/);
  expect(faults.join('\n')).toMatch(/colour/);
  expect(faults.join('\n')).toMatch(/gold/);
  expect(faults.join('\n')).toMatch(/endpointLimits\.chat\.limit/);
});

test.each([
  ['not JSON', '{'],
  ['a list', []],
  ['chat_tokens, which follow the credits', { plans: { free: { limits: { chat_tokens: 5 } } } }],
  ['half an agents section where the plan has none', { plans: { free: { agents: { maxAgents: 1 } } } }],
  ['a prototype', '{"plans": {"__proto__": {"free": 1}}}'],
])('%s is refused', async (_what, content) => {
  expect(await faultsOf(content)).not.toEqual([]);
});

test('a file may begin with the mark that editors on Windows put there', async () => {
  await write('\uFEFF{"plans": {"free": {"limits": {"credits": 9}}}}');
  expect((await loadPlans(file)).plans.free.limits.credits).toBe(9);
});

test('a missing file ends the start', async () => {
  await expect(loadPlans(join(folder, 'nowhere.json'))).rejects.toThrow('PLANS_FILE');
});

test('a running process keeps the old plans where the new file has a fault', async () => {
  await write({ plans: { free: { limits: { credits: 7 } } } });
  const live = await createPlanCatalogue(file);
  await write({ plans: { free: { limits: { credits: 'many' } } } });
  await expect(live.reload()).rejects.toThrow(ConfigError);
  expect(live.plans.free.limits.credits).toBe(7);
  await write({ plans: { free: { limits: { credits: 8 } } } });
  await live.reload();
  expect(live.plans.free.limits.credits).toBe(8);
});
