/**
 * Calls on one hot bucket from 32 callers, each admitted and settled, by an organisation with budgets of all four scopes, compared with an
 * organisation without budgets. The rounds alternate. The ratio compares the medians of a call's CPU time in this process and PostgreSQL together,
 * so that other programs on the machine do not change it. The last line is JSON.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import {
  accessEntities,
  createAuthenticator,
  createKeyService,
  createOrganizationService,
  createPlanCatalogue,
} from '../src/access/index.js';
import type { Principal } from '../src/access/index.js';
import { auditEntities } from '../src/audit/index.js';
import { loadConfig } from '../src/config/index.js';
import { newId } from '../src/contract/ids.js';
import { createDatabase, useEmbeddedPostgres } from '../src/database/index.js';
import type { Database } from '../src/database/index.js';
import { BudgetEntity, createBudgetService, createMetering } from '../src/metering/index.js';
import type { Metering, OperationOutcome } from '../src/metering/index.js';
import { cpuMs, postmasterOf, treeCpuMs } from './processes.js';

const CALLERS = 32;
const ROUNDS = 9;
const ROUND_MS = 1500;
const logger = pino({ level: 'silent' });

const client = { serviceClient: null, clientName: 'bench', userAgent: 'bench/1' };
const PRICE = { promptTokens: 100, maxTokens: 900, multiplier: 100 };
const COST = { whole: 9_000_000n, prompt: 100_000n };
const OUTCOME: OperationOutcome = {
  ...{
    status: 'succeeded',
    errorCode: null,
    provider: 'bench',
    answeredModel: 'bench/chat',
    upstreamId: null,
  },
  ...{ firstTokenMs: 1, costNano: 1_234_567n, costVersion: 'bench/chat@2026-01-01' },
  tokens: { input: 100, cachedInput: 0, cacheWrite: 0, output: 200, reasoning: 0 },
};

/** Budgets of all four scopes, in USD and in credits. */
const LEVELS = [
  { scope: 'organization', unit: 'usd' },
  { scope: 'key', subject: '*', unit: 'credits' },
  { scope: 'endUser', subject: '*', unit: 'usd' },
  { scope: 'tag', subject: 'bench', unit: 'credits' },
].map((level) => ({ name: level.scope, limit: 1_000_000_000, period: 'month', ...level }));

async function call(metering: Metering, principal: Principal): Promise<void> {
  const operation = {
    ...{ id: newId('op'), kind: 'chat' as const, price: PRICE, model: 'bench/chat' },
    costBound: () => COST,
  };
  const attribution = { endUser: 'somebody', tags: ['bench'] };
  const requestId = newId('req');
  await metering.admit({ principal, requestId, client, keyWindow: false, operation, attribution });
  await metering.settle(operation.id, { amounts: { credits: 100, chat_tokens: 30_000 }, outcome: OUTCOME });
}

/** Microseconds for each call. */
interface Figure {
  cpu: number;
  elapsed: number;
}

async function round(one: () => Promise<unknown>, postmaster: number): Promise<Figure> {
  let done = 0;
  const before = cpuMs(process.pid) + treeCpuMs(postmaster);
  const start = performance.now();
  const caller = async (): Promise<void> => {
    while (performance.now() - start < ROUND_MS) {
      await one();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const elapsed = ((performance.now() - start) / done) * 1000;
  return { cpu: ((cpuMs(process.pid) + treeCpuMs(postmaster) - before) / done) * 1000, elapsed };
}

function median(figures: Figure[], of: keyof Figure): number {
  return figures.map((figure) => figure[of]).toSorted((a, b) => a - b)[figures.length >> 1] ?? 0;
}

async function compare(callers: Record<string, () => Promise<void>>, postmaster: number): Promise<number> {
  const figures = new Map(Object.keys(callers).map((name) => [name, [] as Figure[]]));
  for (const one of Object.values(callers)) await round(one, postmaster);
  for (let i = 0; i < ROUNDS; i++)
    for (const [name, one] of Object.entries(callers)) figures.get(name)?.push(await round(one, postmaster));
  for (const [name, list] of figures)
    console.log(
      `${name}: ${median(list, 'cpu').toFixed(1)} µs of CPU, ${median(list, 'elapsed').toFixed(1)} µs between calls`,
    );
  const [ours, plain] = [...figures.values()].map((list) => median(list, 'cpu'));
  return (ours ?? 0) / (plain ?? 1);
}

/** Checks that the spent amounts are exactly those of the ledger. */
async function check(database: Database): Promise<void> {
  const rows = await database.system.query<{ exact: boolean }>(
    `SELECT c.reserved = 0 AND c.spent = s.spent AS exact FROM budget_counters c
     CROSS JOIN LATERAL (SELECT sum(CASE c.amount WHEN 0 THEN l.cost_nano ELSE l.charged[c.amount] END) AS spent
       FROM usage_ledger l WHERE c.id = ANY (l.counters)) s`,
  );
  if (rows.length !== LEVELS.length || rows.some(({ exact }) => !exact))
    throw new Error('a budget and the ledger differ');
}

async function main(dataDir: string): Promise<void> {
  const embedded = await useEmbeddedPostgres({ dataDir, logger });
  const env = { DATABASE_URL: embedded.url, PUBLIC_URL: 'http://127.0.0.1:4000', DATA_DIR: dataDir };
  const entities = [...accessEntities, ...auditEntities, BudgetEntity];
  const database = await createDatabase({ config: loadConfig(env), logger, entities });
  const plans = await createPlanCatalogue(null);
  plans.plans.cli_team.limits = { ...plans.plans.cli_team.limits, credits: 1e9, chat_tokens: 1e12 };
  const authenticator = createAuthenticator({ database, plans, logger });
  const { refresh } = authenticator;
  const metering = createMetering({
    database,
    plans,
    logger,
    processId: newId('proc'),
    role: 'api',
    refresh,
  });
  const budgets = createBudgetService({ database });
  const organizations = createOrganizationService({ database, plans });
  const caller = async (levels: typeof LEVELS): Promise<() => Promise<void>> => {
    const { id: orgId } = await organizations.create({ name: newId('bench'), planCode: 'cli_team' });
    for (const level of levels) await budgets.create(orgId, level);
    const { key } = await createKeyService({ database }).create({ orgId, name: 'bench', scopes: ['chat'] });
    const principal = await authenticator.authenticate(`Bearer ${key}`);
    return () => call(metering, principal);
  };
  try {
    const callers = { 'with four budgets': await caller(LEVELS), 'without budgets': await caller([]) };
    const ratio = await compare(callers, await postmasterOf(dataDir));
    await check(database);
    console.log(JSON.stringify({ ratio }));
  } finally {
    await metering.close();
    await authenticator.close();
    await database.close();
    await embedded.release();
  }
}

const dataDir = await mkdtemp(join(tmpdir(), 'penstock-bench-budgets-'));
try {
  await main(dataDir);
} finally {
  await rm(dataDir, { recursive: true, force: true });
}
