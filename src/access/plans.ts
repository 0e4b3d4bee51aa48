import { z } from 'zod';
import { BUCKET_ROWS } from '../contract/buckets.js';
import {
  BUCKETS,
  CHARGED_BUCKETS,
  LIMITED_ENDPOINTS,
  LIMITED_KINDS,
  PLAN_CODES,
  TIERS,
} from '../contract/words.js';
import type { Bucket, ChargedBucket, PlanCode } from '../contract/words.js';

const count = z.int().min(1).max(1_000_000_000);
const limit = z.int().min(-1).max(1_000_000_000);
const most = limit.min(0);
const tiers = z.array(z.enum(TIERS));

const shapeOf = <Key extends string, Value extends z.ZodType>(keys: readonly Key[], value: Value) =>
  z.strictObject(Object.fromEntries(keys.map((key) => [key, value])) as Record<Key, Value>);

/** What `PLANS_FILE` says of a plan (decisions 2, contract 8). Amounts in whole units. */
const PlanSchema = z.strictObject({
  /** `Free`, `Pro Monthly` … */
  name: z.string().min(1),
  /** Monthly allowance by bucket; -1 is unlimited, 0 no allowance. */
  limits: shapeOf(CHARGED_BUCKETS, limit),
  /** One sliding window for each key: at most `burst` requests in any `burst / rpm` minutes. */
  rate: z.strictObject({ rpm: count, burst: count }),
  tiers: z.strictObject({ general: tiers, media: tiers }),
  /** Null: agents are not available. */
  agents: z
    .strictObject({
      maxAgents: most,
      maxTools: most,
      maxIterations: count,
      maxKnowledgeFiles: most,
      maxKnowledgeFileMb: count,
    })
    .nullable(),
  /** Null: webhooks are not available. */
  webhooks: z.strictObject({ max: most, customHeaders: z.boolean() }).nullable(),
  maxPendingJobs: count,
  /**
   * Of subscriptions, event streams and long polls, counted by each process: `perMinute` are opened by one key, `held` open at once (a WebSocket
   * is one), and `heldByOrganization` by all keys of an organisation.
   */
  streams: z.strictObject({ perMinute: count, held: count, heldByOrganization: count }),
  /**
   * How many megabytes of requests a process reads and holds at once for one key. Long bodies of an organisation that has just sent twice
   * `mbPerSecond` are read at that speed.
   */
  bodies: z.strictObject({ heldMb: count, mbPerSecond: count }),
  /** Of all that is stored for the organisation: files and kept answers. MB are 2^20 bytes; -1 is unlimited. */
  storage: z.strictObject({ maxMb: limit }),
});

/** Plans as `PLANS_FILE` spells them. */
export const PlansSchema = z.strictObject({
  plans: shapeOf(PLAN_CODES, PlanSchema),
  endpointLimits: shapeOf(
    LIMITED_ENDPOINTS,
    z.strictObject({ limit: count, windowSeconds: count.max(86_400 * 31) }),
  ),
});

/** A plan without what follows from its other values. */
type PlanData = z.infer<typeof PlanSchema>;
type PlansData = z.infer<typeof PlansSchema>;

/** What a plan allows: the contract's, as `PLANS_FILE` overrides it. */
export interface Plan extends Omit<PlanData, 'limits'> {
  code: PlanCode;
  kind: 'free' | 'recurring';
  /** Monthly allowance by bucket; -1 is unlimited, 0 no allowance. `chat_tokens` is always credits × 1000. */
  limits: Record<Bucket, number>;
}

export interface PlanCatalogue extends Omit<PlansData, 'plans'> {
  plans: Record<PlanCode, Plan>;
}

/** What the buckets' rows give to a plan. */
const limitsOf = (plan: PlanCode): Record<ChargedBucket, number> =>
  Object.fromEntries(
    BUCKET_ROWS.flatMap(({ name, allowance }) => (allowance === null ? [] : [[name, allowance[plan]]])),
  ) as Record<ChargedBucket, number>;

/** What all plans have in common. */
const ALL = {
  // Two hundred watchers of a few things each survive three restarts in a minute (beyond 14.6).
  streams: { perMinute: 1200, held: 2000, heldByOrganization: 6000 },
} satisfies Partial<PlanData>;

/** What all plans but Free have in common. */
const PAID = {
  ...ALL,
  bodies: { heldMb: 256, mbPerSecond: 50 },
  storage: { maxMb: 10_240 },
} satisfies Partial<PlanData>;

/** What the plans with all tiers have in common. */
const LARGE = {
  ...PAID,
  tiers: { general: ['basic', 'standard', 'powerful'], media: ['fast', 'standard', 'premium'] },
} satisfies Partial<PlanData>;

/** Contract 8.1 to 8.3 and 8.5, decisions 3, 4 and 6. */
export const DEFAULT_PLANS: PlansData = {
  plans: {
    free: {
      ...ALL,
      name: 'Free',
      limits: limitsOf('free'),
      rate: { rpm: 30, burst: 30 },
      tiers: { general: ['basic'], media: ['fast'] },
      agents: null,
      webhooks: null,
      maxPendingJobs: 10,
      bodies: { heldMb: 128, mbPerSecond: 10 },
      storage: { maxMb: 1024 },
    },
    pro_monthly: {
      ...PAID,
      name: 'Pro Monthly',
      limits: limitsOf('pro_monthly'),
      rate: { rpm: 60, burst: 120 },
      tiers: { general: ['basic', 'standard'], media: ['fast', 'standard'] },
      agents: { maxAgents: 5, maxTools: 4, maxIterations: 10, maxKnowledgeFiles: 5, maxKnowledgeFileMb: 10 },
      webhooks: { max: 5, customHeaders: true },
      maxPendingJobs: 100,
    },
    business_monthly: {
      ...LARGE,
      name: 'Business Monthly',
      limits: limitsOf('business_monthly'),
      rate: { rpm: 120, burst: 300 },
      agents: {
        maxAgents: 20,
        maxTools: 7,
        maxIterations: 20,
        maxKnowledgeFiles: 20,
        maxKnowledgeFileMb: 25,
      },
      webhooks: { max: 20, customHeaders: true },
      maxPendingJobs: 500,
    },
    cli_pro: {
      ...LARGE,
      name: 'CLI Pro',
      limits: limitsOf('cli_pro'),
      rate: { rpm: 120, burst: 300 },
      agents: {
        maxAgents: 10,
        maxTools: 7,
        maxIterations: 20,
        maxKnowledgeFiles: 10,
        maxKnowledgeFileMb: 25,
      },
      webhooks: { max: 5, customHeaders: true },
      maxPendingJobs: 500,
    },
    cli_team: {
      ...LARGE,
      name: 'CLI Team',
      limits: limitsOf('cli_team'),
      rate: { rpm: 300, burst: 600 },
      agents: {
        maxAgents: 50,
        maxTools: 7,
        maxIterations: 20,
        maxKnowledgeFiles: 50,
        maxKnowledgeFileMb: 50,
      },
      webhooks: { max: 20, customHeaders: true },
      maxPendingJobs: 1000,
    },
  },
  endpointLimits: Object.fromEntries(
    LIMITED_KINDS.map(({ name, window }) => [name, window]),
  ) as PlansData['endpointLimits'],
};

function toPlan(code: PlanCode, data: PlanData): Plan {
  const { credits } = data.limits;
  const limits = { ...data.limits, chat_tokens: credits === -1 ? -1 : credits * 1000 };
  return { ...data, code, kind: code === 'free' ? 'free' : 'recurring', limits };
}

/** `chat_tokens` is the token view of the credits (decisions 2). */
export function toCatalogue(data: PlansData): PlanCatalogue {
  const plans = Object.fromEntries(
    Object.entries(data.plans).map(([code, plan]) => [code, toPlan(code as PlanCode, plan)]),
  ) as PlanCatalogue['plans'];
  return { plans, endpointLimits: { ...data.endpointLimits } };
}

/** A plan's monthly allowance as the database stores amounts: hundredths in the order of BUCKETS, -1 for unlimited. */
export function allowanceOf(plan: Plan): number[] {
  return BUCKETS.map((bucket) => (plan.limits[bucket] === -1 ? -1 : plan.limits[bucket] * 100));
}

/** The storage limit of an organisation, in bytes; -1 is unlimited. */
export function storageLimitOf({ storage: { maxMb } }: Plan): number {
  return maxMb === -1 ? -1 : maxMb * 1_048_576;
}
