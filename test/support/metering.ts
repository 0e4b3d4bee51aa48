import { pino } from 'pino';
import {
  createKeyService,
  createOrganizationService,
  effectivePlan,
  loadPlans,
} from '../../src/access/index.js';
import type { KeyService, OrganizationService, PlanCatalogue, Principal } from '../../src/access/index.js';
import type { Database } from '../../src/database/index.js';
import type { BudgetRule } from '../../src/contract/budgets.js';
import { newId } from '../../src/contract/ids.js';
import { zeroCostOutcome, createMetering } from '../../src/metering/index.js';
import type {
  AdmissionRequest,
  Metering,
  OperationEnd,
  OperationRequest,
  SettlementEvent,
} from '../../src/metering/index.js';
import type { Amounts, PlanCode } from '../../src/contract/words.js';

/** Windows that are so wide that no test of quotas reaches their limits. */
const WIDE = { limit: 1_000_000, windowSeconds: 60 };

/** The end of an operation, for tests that only check its charge. */
export const charging = (amounts: Amounts, event?: SettlementEvent): OperationEnd => ({
  amounts,
  outcome: zeroCostOutcome('succeeded'),
  event,
});

export interface MeteringBench {
  plans: PlanCatalogue;
  organizations: OrganizationService;
  keys: KeyService;
  /** Each instance acts like one process, with its own connections and name. `close` closes all of them. */
  metering(options?: {
    processId?: string;
    hasEventConsumers?: boolean;
    dedicated?: Database['dedicated'];
  }): Metering;
  createOrg(plan?: PlanCode): Promise<Principal>;
  /** Reads the key again, like the authenticator. */
  principalOf(keyId: string): Promise<Principal>;
  /** Sets buckets of the current period's allowance (hundredths), so that a test can name small numbers. */
  sql<Row>(text: string, values?: (string | number)[]): Promise<Row[]>;
  /** Per state, the sum of a bucket over the organisation's ledger: 1 is credits. */
  ledgerSum(orgId: string, bucket: number, state: 'settled' | 'reserved'): Promise<number>;
  close(): Promise<void>;
}

/** Metering with real organisations and keys on one database. `narrow` keeps the contract's rate limits. */
export async function createMeteringBench(
  database: Database,
  { narrow = false }: { narrow?: boolean } = {},
): Promise<MeteringBench> {
  const plans = await loadPlans(null);
  if (!narrow) {
    for (const plan of Object.values(plans.plans)) plan.rate = { rpm: 1_000_000, burst: 1_000_000 };
    for (const endpoint of Object.keys(plans.endpointLimits))
      Object.assign(plans.endpointLimits, { [endpoint]: WIDE });
  }
  const organizations = createOrganizationService({ database, plans });
  const keys = createKeyService({ database });
  const started: Metering[] = [];
  const sql: MeteringBench['sql'] = (text, values) => database.system.query(text, values);
  const bench: MeteringBench = {
    plans,
    organizations,
    keys,
    sql,
    metering({ processId = newId('proc'), hasEventConsumers = true, dedicated = database.dedicated } = {}) {
      const metering = createMetering({
        database: { ...database, dedicated },
        plans,
        logger: pino({ level: 'silent' }),
        processId,
        role: 'api',
        hasEventConsumers,
        refresh: ({ keyId }) => bench.principalOf(keyId),
      });
      started.push(metering);
      return metering;
    },
    async createOrg(plan = 'business_monthly') {
      const { id: orgId } = await organizations.create({ name: newId('name'), planCode: plan });
      const { id } = await keys.create({ orgId, name: 'test', scopes: ['chat'] });
      return bench.principalOf(id);
    },
    async principalOf(keyId) {
      const [row] = await sql<{
        org_id: string;
        user_id: string;
        plan_code: PlanCode;
        version: number;
        ends: Date | null;
        now: Date;
        budgets: (Omit<BudgetRule, 'cap'> & { cap: string })[] | null;
      }>(
        `SELECT k.org_id, k.user_id, o.plan_code, o.version, o.subscription_ends_at AS ends, now() AS now,
           (SELECT json_agg(to_jsonb(b) || jsonb_build_object('cap', b.cap::text) ORDER BY b.id) FROM budgets b WHERE b.org_id = o.id) AS budgets
         FROM api_keys k JOIN organizations o ON o.id = k.org_id WHERE k.id = $1`,
        [keyId],
      );
      if (row === undefined) throw new Error('no such key');
      const plan = { planCode: row.plan_code, subscriptionEndsAt: row.ends };
      const state = effectivePlan(plans, plan, row.now);
      return {
        keyId,
        keyName: 'test',
        orgId: row.org_id,
        userId: row.user_id,
        scopes: new Set(['chat']),
        ...state,
        rate: state.plan.rate,
        models: null,
        orgVersion: row.version,
        expiresAt: null,
        ...(row.budgets && { budgets: row.budgets.map((rule) => ({ ...rule, cap: BigInt(rule.cap) })) }),
      };
    },
    async ledgerSum(orgId, bucket, state) {
      const [row] = await sql<{ sum: number }>(
        `SELECT COALESCE(sum((CASE state WHEN 'settled' THEN charged ELSE reserved END)[$2]), 0)::bigint AS sum
         FROM usage_ledger WHERE org_id = $1 AND state = $3`,
        [orgId, bucket, state],
      );
      return row?.sum ?? 0;
    },
    async close() {
      await Promise.all(started.map((metering) => metering.close()));
    },
  };
  return bench;
}

/** A request for admission with defaults for everything that a test does not set. */
export function request(principal: Principal, options: Partial<AdmissionRequest> = {}): AdmissionRequest {
  return {
    principal,
    requestId: 'req_test',
    client: { serviceClient: 'tests', clientName: 'a "name", with {marks} and \\', userAgent: 'NULL' },
    keyWindow: true,
    ...options,
  };
}

/** An operation of a fixed price, hundredths. */
export function priced(price: Amounts, options: Partial<OperationRequest> = {}): OperationRequest {
  return { id: newId('op'), kind: 'image', price, model: 'sandbox/image-standard', ...options };
}

/** A chat call with a number of prompt tokens and a maximum of answer tokens. */
export function chat(promptTokens: number, maxTokens: number, multiplier = 100): OperationRequest {
  const price = { promptTokens, maxTokens, multiplier };
  return { id: newId('op'), kind: 'chat', price, model: 'sandbox/chat-basic' };
}
