/**
 * Reservations on one hot bucket from 32 callers: `Metering.admit`, whose callers share statements, compared with the work of single calls:
 * one guarded UPDATE of the bucket and one ledger row, in a transaction on one of 32 connections. Both write the same ledger table
 * with the same indexes, at the same synchronous_commit (off, which is enough for a reservation, decisions 2). The rounds alternate,
 * and the ratio compares the medians. The last line is JSON for the comparison that calls this.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { pino } from 'pino';
import {
  accessEntities,
  createKeyService,
  createOrganizationService,
  effectivePlan,
  loadPlans,
} from '../src/access/index.js';
import type { PlanCatalogue, Principal } from '../src/access/index.js';
import { loadConfig } from '../src/config/index.js';
import { createDatabase, useEmbeddedPostgres } from '../src/database/index.js';
import type { Database } from '../src/database/index.js';
import { newId } from '../src/contract/ids.js';
import { createMetering } from '../src/metering/index.js';
import type { Metering } from '../src/metering/index.js';

const CALLERS = 32;
const ROUNDS = 5;
const ROUND_MS = 1500;
const logger = pino({ level: 'silent' });

interface Contender {
  name: string;
  one(): Promise<unknown>;
}

interface Figure {
  perSecond: number;
  cpuUs: number;
}

async function round(one: () => Promise<unknown>): Promise<Figure> {
  let done = 0;
  const cpu = process.cpuUsage();
  const start = performance.now();
  const caller = async (): Promise<void> => {
    while (performance.now() - start < ROUND_MS) {
      await one();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: (done / (performance.now() - start)) * 1000, cpuUs: (user + system) / done };
}

async function createPrincipal(database: Database, plans: PlanCatalogue): Promise<Principal> {
  const org = await createOrganizationService({ database, plans }).create({
    name: 'bench',
    planCode: 'cli_team',
  });
  const key = await createKeyService({ database }).create({ orgId: org.id, name: 'bench', scopes: ['chat'] });
  const [row] = await database.system.query<{ user_id: string; version: number }>(
    'SELECT service_user_id AS user_id, version FROM organizations WHERE id = $1',
    [org.id],
  );
  const state = effectivePlan(plans, { planCode: 'cli_team', subscriptionEndsAt: null }, new Date());
  return {
    keyId: key.id,
    keyName: key.name,
    orgId: org.id,
    userId: row?.user_id ?? '',
    scopes: new Set(key.scopes),
    ...state,
    rate: state.plan.rate,
    models: null,
    orgVersion: row?.version ?? 1,
    expiresAt: null,
  };
}

const client = { serviceClient: null, clientName: 'bench', userAgent: 'bench/1' };
const PRICE = { promptTokens: 100, maxTokens: 900, multiplier: 100 };

function coalesced(metering: Metering, principal: Principal): Contender {
  return {
    name: 'Metering.admit',
    one: () =>
      metering.admit({
        principal,
        requestId: newId('req'),
        client,
        keyWindow: false,
        operation: { id: newId('op'), kind: 'chat', price: PRICE, model: 'sandbox/chat-basic' },
      }),
  };
}

const UPDATE = {
  name: 'bench_update',
  text: `UPDATE balances SET reserved[1] = reserved[1] + $2, reserved[2] = reserved[2] + $3
    WHERE org_id = $1 AND NOT superseded AND allowance[1] + topup_start[1] + topup_added[1] - used[1] - reserved[1] >= $2
    RETURNING period_start`,
};
const INSERT = {
  name: 'bench_insert',
  text: `INSERT INTO usage_ledger (operation_id, org_id, key_id, user_id, kind, state, period_start, reserved, model, request_id, holder,
      client_name, user_agent)
    VALUES ($1, $2, $3, $4, 'chat', 'reserved', $5, $6, 'sandbox/chat-basic', $7, 'proc_bench', 'bench', 'bench/1')`,
};

function oneByOne(pool: pg.Pool, principal: Principal): Contender {
  return {
    name: 'one UPDATE and one row each',
    async one() {
      const connection = await pool.connect();
      try {
        await connection.query('BEGIN');
        const values = [principal.orgId, 100, 100_000];
        const { rows } = await connection.query<{ period_start: Date }>({ ...UPDATE, values });
        const { orgId, keyId, userId } = principal;
        const row = [
          newId('op'),
          orgId,
          keyId,
          userId,
          rows[0]?.period_start,
          '{100,100000,0,0,0,0,0,0,0}',
          newId('req'),
        ];
        await connection.query({ ...INSERT, values: row });
        await connection.query('COMMIT');
      } finally {
        connection.release();
      }
    },
  };
}

/** Checks that the bucket has exactly the sum of its ledger rows. */
async function check(database: Database): Promise<void> {
  const [row] = await database.system.query<{ exact: boolean }>(
    `SELECT b.reserved[1] = sum(l.reserved[1]) AND b.reserved[2] = sum(l.reserved[2]) AS exact
     FROM balances b JOIN usage_ledger l USING (org_id) GROUP BY b.reserved`,
  );
  if (row?.exact !== true) throw new Error('the bucket and its ledger differ');
}

function median(figures: Figure[], of: keyof Figure): number {
  return figures.map((figure) => figure[of]).toSorted((a, b) => a - b)[Math.floor(figures.length / 2)] ?? 0;
}

async function compare(contenders: Contender[]): Promise<number> {
  const figures = new Map(contenders.map(({ name }) => [name, [] as Figure[]]));
  for (const { one } of contenders) await round(one);
  for (let i = 0; i < ROUNDS; i++)
    for (const { name, one } of contenders) figures.get(name)?.push(await round(one));
  for (const [name, list] of figures) {
    console.log(
      `${name}: ${median(list, 'perSecond').toFixed(0)}/s, ${median(list, 'cpuUs').toFixed(1)} µs of Node's CPU each`,
    );
  }
  const [ours, theirs] = [...figures.values()].map((list) => median(list, 'perSecond'));
  return (ours ?? 0) / (theirs ?? 1);
}

async function main(dataDir: string): Promise<void> {
  const embedded = await useEmbeddedPostgres({ dataDir, logger });
  const config = loadConfig({
    DATABASE_URL: embedded.url,
    PUBLIC_URL: 'http://127.0.0.1:4000',
    DATA_DIR: dataDir,
  });
  const database = await createDatabase({ config, logger, entities: accessEntities });
  const pool = new pg.Pool({
    connectionString: embedded.url,
    max: CALLERS,
    options: '-c synchronous_commit=off',
  });
  const plans = await loadPlans(null);
  plans.plans.cli_team.limits = { ...plans.plans.cli_team.limits, credits: 1e9, chat_tokens: 1e12 };
  const metering = createMetering({
    database,
    plans,
    logger,
    processId: newId('proc'),
    role: 'api',
    refresh: (principal) => Promise.resolve(principal),
  });
  try {
    const principal = await createPrincipal(database, plans);
    const ratio = await compare([coalesced(metering, principal), oneByOne(pool, principal)]);
    await check(database);
    console.log(JSON.stringify({ ratio }));
  } finally {
    await pool.end();
    await metering.close();
    await database.close();
    await embedded.release();
  }
}

const dataDir = await mkdtemp(join(tmpdir(), 'penstock-reservations-'));
try {
  await main(dataDir);
} finally {
  await rm(dataDir, { recursive: true, force: true });
}
