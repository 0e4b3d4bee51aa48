import { BUCKET_ROWS } from '../contract/buckets.js';
import { BUCKETS, LIMITED_KINDS } from '../contract/words.js';
import type { ChargedBucket, PlanCode, Tier } from '../contract/words.js';
import type { Plan, PlanCatalogue } from './access.types.js';

/** A plan without the values that are derived from others. */
export interface PlanData extends Omit<Plan, 'code' | 'kind' | 'limits'> {
  limits: Record<ChargedBucket, number>;
}

/** Plans as `PLANS_FILE` spells them (decisions 2). */
export interface PlansData {
  plans: Record<PlanCode, PlanData>;
  endpointLimits: PlanCatalogue['endpointLimits'];
}

const ALL_GENERAL: Tier[] = ['basic', 'standard', 'powerful'];
const ALL_MEDIA: Tier[] = ['fast', 'standard', 'premium'];

/** A plan's allowances, from the rows of the buckets. */
const limitsOf = (plan: PlanCode): PlanData['limits'] =>
  Object.fromEntries(
    BUCKET_ROWS.flatMap(({ name, allowance }) => (allowance === null ? [] : [[name, allowance[plan]]])),
  ) as PlanData['limits'];

/** Two hundred watchers of a few things each survive three restarts in a minute (beyond 14.6). */
const STREAMS: PlanData['streams'] = { perMinute: 1200, held: 2000, heldByOrganization: 6000 };

/** Contract 8.1 to 8.3 and 8.5, decisions 3, 4 and 6. */
export const DEFAULT_PLANS: PlansData = {
  plans: {
    free: {
      name: 'Free',
      limits: limitsOf('free'),
      rate: { rpm: 30, burst: 30 },
      tiers: { general: ['basic'], media: ['fast'] },
      agents: null,
      webhooks: null,
      maxPendingJobs: 10,
      streams: STREAMS,
      bodies: { heldMb: 128 },
      storage: { maxMb: 1024 },
    },
    pro_monthly: {
      name: 'Pro Monthly',
      limits: limitsOf('pro_monthly'),
      rate: { rpm: 60, burst: 120 },
      tiers: { general: ['basic', 'standard'], media: ['fast', 'standard'] },
      agents: { maxAgents: 5, maxTools: 4, maxIterations: 10, maxKnowledgeFiles: 5, maxKnowledgeFileMb: 10 },
      webhooks: { max: 5, customHeaders: true },
      maxPendingJobs: 100,
      streams: STREAMS,
      bodies: { heldMb: 256 },
      storage: { maxMb: 10_240 },
    },
    business_monthly: {
      name: 'Business Monthly',
      limits: limitsOf('business_monthly'),
      rate: { rpm: 120, burst: 300 },
      tiers: { general: ALL_GENERAL, media: ALL_MEDIA },
      agents: {
        maxAgents: 20,
        maxTools: 7,
        maxIterations: 20,
        maxKnowledgeFiles: 20,
        maxKnowledgeFileMb: 25,
      },
      webhooks: { max: 20, customHeaders: true },
      maxPendingJobs: 500,
      streams: STREAMS,
      bodies: { heldMb: 256 },
      storage: { maxMb: 10_240 },
    },
    cli_pro: {
      name: 'CLI Pro',
      limits: limitsOf('cli_pro'),
      rate: { rpm: 120, burst: 300 },
      tiers: { general: ALL_GENERAL, media: ALL_MEDIA },
      agents: {
        maxAgents: 10,
        maxTools: 7,
        maxIterations: 20,
        maxKnowledgeFiles: 10,
        maxKnowledgeFileMb: 25,
      },
      webhooks: { max: 5, customHeaders: true },
      maxPendingJobs: 500,
      streams: STREAMS,
      bodies: { heldMb: 256 },
      storage: { maxMb: 10_240 },
    },
    cli_team: {
      name: 'CLI Team',
      limits: limitsOf('cli_team'),
      rate: { rpm: 300, burst: 600 },
      tiers: { general: ALL_GENERAL, media: ALL_MEDIA },
      agents: {
        maxAgents: 50,
        maxTools: 7,
        maxIterations: 20,
        maxKnowledgeFiles: 50,
        maxKnowledgeFileMb: 50,
      },
      webhooks: { max: 20, customHeaders: true },
      maxPendingJobs: 1000,
      streams: STREAMS,
      bodies: { heldMb: 256 },
      storage: { maxMb: 10_240 },
    },
  },
  endpointLimits: Object.fromEntries(
    LIMITED_KINDS.map(({ name, window }) => [name, window]),
  ) as PlanCatalogue['endpointLimits'],
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
