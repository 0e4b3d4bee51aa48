import { BUCKETS } from '../contract/words.js';
import type { Bucket, PlanCode, Tier } from '../contract/words.js';
import type { Plan, PlanCatalogue } from './access.types.js';

/** A plan without what follows from its other values. */
export interface PlanData extends Omit<Plan, 'code' | 'kind' | 'limits'> {
  limits: Omit<Record<Bucket, number>, 'chat_tokens'>;
}

/** Plans as `PLANS_FILE` spells them (decisions 2). */
export interface PlansData {
  plans: Record<PlanCode, PlanData>;
  endpointLimits: PlanCatalogue['endpointLimits'];
}

const ALL_GENERAL: Tier[] = ['basic', 'standard', 'powerful'];
const ALL_MEDIA: Tier[] = ['fast', 'standard', 'premium'];

const NOTHING: PlanData['limits'] = {
  credits: 0,
  image_generations: 0,
  image_edits: 0,
  video_seconds: 0,
  stt_seconds: 0,
  tts_chars: 0,
  music_tracks: 0,
  agent_runs: 0,
};

/** Two hundred watchers of a few things each survive three restarts in a minute (beyond 14.6). */
const STREAMS: PlanData['streams'] = { perMinute: 1200, held: 2000, heldByOrganization: 6000 };

/** Contract 8.1 to 8.3 and 8.5, decisions 3, 4 and 6. */
export const DEFAULT_PLANS: PlansData = {
  plans: {
    free: {
      name: 'Free',
      limits: { ...NOTHING, credits: 100 },
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
      limits: {
        credits: 200,
        image_generations: 150,
        image_edits: 75,
        video_seconds: 900,
        stt_seconds: 3600,
        tts_chars: 200_000,
        music_tracks: 20,
        agent_runs: 100,
      },
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
      limits: {
        credits: 800,
        image_generations: 600,
        image_edits: 300,
        video_seconds: 3600,
        stt_seconds: 18_000,
        tts_chars: 800_000,
        music_tracks: 80,
        agent_runs: 500,
      },
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
      limits: { ...NOTHING, credits: 2000, agent_runs: -1 },
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
      limits: { ...NOTHING, credits: 10_000, agent_runs: -1 },
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
  endpointLimits: {
    chat: { limit: 30, windowSeconds: 60 },
    image: { limit: 10, windowSeconds: 60 },
    image_edit: { limit: 10, windowSeconds: 60 },
    video: { limit: 5, windowSeconds: 3600 },
    tts: { limit: 20, windowSeconds: 60 },
    stt: { limit: 10, windowSeconds: 60 },
    music: { limit: 10, windowSeconds: 3600 },
  },
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

/** What an organisation may have stored in all, in bytes; -1 is unlimited. */
export function storageLimitOf({ storage: { maxMb } }: Plan): number {
  return maxMb === -1 ? -1 : maxMb * 1_048_576;
}
