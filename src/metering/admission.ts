import type { Plan, PlanCatalogue, Principal } from '../access/access.types.js';
import { ApiError } from '../errors.js';
import { BUCKETS } from '../vocabulary.js';
import type { AdmissionAnswer, AdmissionBatch, AdmissionItem } from './admission-batch.js';
import { encode, gather, isTokenPrice, windowState } from './admission-batch.js';
import { allowanceOf } from './allowance.js';
import { toAmounts } from './amounts.js';
import { createCoalescer } from './coalescer.js';
import type {
  Admission,
  AdmissionRequest,
  OperationRequest,
  RateState,
  Reservation,
} from './metering.types.js';
import { endpointRule, keyRule, tighter, withRate } from './rates.js';
import type { Connection } from './connection.js';

const ADMIT = { name: 'penstock_admit', text: 'SELECT penstock_admit($1::jsonb) AS answer' };

/** Outcomes of `penstock_admit` by request. */
const CODE = { admitted: 0, invalid: 1, expired: 2, stale: 3, limited: 4, exhausted: 5, known: 6 } as const;

const STALE = Symbol('the copy of the key is out of date');

type Outcome = Admission | ApiError | typeof STALE;

function reservationOf(operation: OperationRequest, answer: AdmissionAnswer, i: number): Reservation {
  const { id: operationId, price } = operation;
  const known = answer.d[i];
  if (!isTokenPrice(price)) return { operationId, amounts: known === undefined ? price : toAmounts(known) };
  const credits = known?.[0] ?? answer.g[i] ?? 0;
  const coveredTokens =
    known === undefined ? (answer.e[i] ?? 0) : Math.floor((known[1] ?? 0) / price.multiplier);
  return { operationId, amounts: { credits, chat_tokens: coveredTokens * price.multiplier }, coveredTokens };
}

function exhausted(operation: OperationRequest | undefined, answer: AdmissionAnswer, i: number): ApiError {
  const bucket = BUCKETS[(answer.b[i] ?? 1) - 1] ?? 'credits';
  // An endpoint's own message speaks of its own bucket; of credits only the general one does.
  const own = bucket === 'credits' || bucket === 'chat_tokens' ? undefined : operation?.exhaustedMessage;
  return new ApiError('quota_exceeded', own ?? `Quota exceeded for ${bucket}`, {
    remaining: (answer.m[i] ?? 0) / 100,
  });
}

function decode(batch: AdmissionBatch, answer: AdmissionAnswer): Outcome[] {
  return batch.rows.map((row, i): Outcome => {
    const code = answer.c[i];
    if (code === CODE.invalid) return new ApiError('unauthorized', 'Invalid or missing API key');
    if (code === CODE.expired) return new ApiError('unauthorized', 'API key has expired');
    if (code === CODE.stale) return STALE;
    const key = windowState(row.key, answer.x[i], answer);
    const endpoint = windowState(row.endpoint, answer.y[i], answer);
    const tightest = tighter(key, endpoint);
    const rate: RateState | null = tightest && {
      limit: tightest.limit,
      remaining: tightest.remaining,
      reset: tightest.reset,
    };
    if (code === CODE.limited) {
      const full = [key, endpoint].filter((state) => state?.remaining === 0);
      const retryAfter = Math.max(...full.map((state) => state?.waitSeconds ?? 1));
      return withRate(new ApiError('rate_limited', 'Rate limit exceeded', { retryAfter }), rate);
    }
    const { operation } = row.item.request;
    if (code === CODE.exhausted) return withRate(exhausted(operation, answer, i), rate);
    return { rate, reservation: operation === undefined ? null : reservationOf(operation, answer, i) };
  });
}

export interface AdmissionOptions {
  plans: PlanCatalogue;
  connection: Connection;
  processId: string;
  refresh(principal: Principal): Promise<Principal>;
  /** The caller of this operation was refused, though it may be reserved. */
  giveBack(operationId: string): void;
}

/** Admission, coalesced: see `penstock_admit`. A caller whose copy of the key was out of date reads it again, then tries again. */
export function createAdmission({ plans, connection, processId, refresh, giveBack }: AdmissionOptions) {
  const coalescer = createCoalescer<AdmissionItem, Outcome>({
    async run(items) {
      const batch = gather(items);
      const [row] = await connection.query<{ answer: AdmissionAnswer }>(ADMIT, [encode(batch, processId)]);
      if (row === undefined) throw new Error('penstock_admit answered nothing');
      return decode(batch, row.answer);
    },
    abandoned({ request }) {
      if (request.operation !== undefined) giveBack(request.operation.id);
    },
  });
  const keyRules = new WeakMap<Plan, ReturnType<typeof keyRule>>();
  const ruleOf = (plan: Plan): ReturnType<typeof keyRule> => {
    let rule = keyRules.get(plan);
    if (rule === undefined) keyRules.set(plan, (rule = keyRule(plan)));
    return rule;
  };
  const itemOf = (request: AdmissionRequest): AdmissionItem => ({
    request,
    key: request.keyWindow ? ruleOf(request.principal.plan) : null,
    endpoint: request.endpoint === undefined ? null : endpointRule(plans, request.endpoint),
    allowance: allowanceOf(request.principal.plan).literal,
  });
  return {
    async admit(request: AdmissionRequest): Promise<Admission> {
      let current = request;
      for (let attempt = 0; attempt < 3; attempt++) {
        const outcome = await coalescer.add(itemOf(current));
        if (outcome instanceof ApiError) throw outcome;
        if (outcome !== STALE) return outcome;
        current = { ...request, principal: await refresh(current.principal) };
      }
      throw new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 });
    },
    close: () => coalescer.close(),
  };
}
