import { ApiError } from '../contract/errors.js';
import { BUCKETS } from '../contract/words.js';
import type { AdmissionBatch, WindowUse } from './admission-batch.js';
import { isTokenPrice } from './admission-batch.js';
import { toAmounts } from './amounts.js';
import { budgetAmount } from './budgets/budget-amount.js';
import type { Admission, OperationRequest, RateState, Reservation } from './metering.types.js';
import { stricterRate, withRate } from './rates.js';

/** `penstock_admit` found room for everything: for each window, the slots left after the batch, the time at which it gains one, and the current time (microseconds). */
interface AllAdmitted {
  w: [left: number, gainsAt: number, now: number][];
}

/** `penstock_admit_each`: columns by request; `t` and `n` by window. */
interface EachJudged {
  c: number[];
  x: (number | null)[];
  y: (number | null)[];
  /** The client token's own window. */
  z: (number | null)[];
  g: number[];
  e: number[];
  b: number[];
  m: number[];
  t: number[];
  n: number[];
  d: Record<string, number[]>;
  /** For each request: the number of the exhausted counter, and its remaining amount. */
  o: Record<string, [counter: number, left: string]>;
}

export type AdmissionAnswer = AllAdmitted | EachJudged;

const CODE = {
  admitted: 0,
  invalid: 1,
  expired: 2,
  stale: 3,
  limited: 4,
  exhausted: 5,
  known: 6,
  exceeded: 7,
} as const;

/** The caller's cached copy of the key is out of date. */
export const STALE = Symbol('stale');

export type Outcome = Admission | ApiError | typeof STALE;

interface WindowState extends RateState {
  waitSeconds: number;
  now: number;
}

function stateOf(rule: WindowUse['rule'], left: number, [gainsAt, now]: [number, number]): WindowState {
  return {
    limit: rule.limit,
    remaining: Math.max(0, left),
    reset: Math.ceil(gainsAt / 1_000_000),
    waitSeconds: Math.max(1, Math.ceil((gainsAt - now) / 1_000_000)),
    now,
  };
}

/** The states of the key's window, the endpoint's window and the client token's window. */
type WindowStates = [key: WindowState | null, endpoint: WindowState | null, own: WindowState | null];

function toRate([key, endpoint, own]: WindowStates): RateState | null {
  const tightest = stricterRate(stricterRate(key, endpoint), own);
  if (tightest === null) return null;
  const { limit, remaining, reset } = tightest;
  return { limit, remaining, reset, takenAt: Math.max(key?.now ?? 0, endpoint?.now ?? 0, own?.now ?? 0) };
}

/** All requests were admitted: the place of each in its windows follows from their order. */
function decodeAll({ rows, windows }: AdmissionBatch, { w }: AllAdmitted): Admission[] {
  const left = windows.map(({ wanted }, i) => (w[i]?.[0] ?? 0) + wanted);
  const take = (use: WindowUse | null): WindowState | null => {
    if (use === null) return null;
    const i = use.index - 1;
    const now = (left[i] = (left[i] ?? 1) - 1);
    return stateOf(use.rule, now, [w[i]?.[1] ?? 0, w[i]?.[2] ?? 0]);
  };
  return rows.map(({ item: { request }, profile, credits, tokens }) => {
    const rate = toRate([take(profile.key), take(profile.endpoint), take(profile.own)]);
    const { operation } = request;
    if (operation === undefined) return { rate, reservation: null };
    const { id: operationId, price } = operation;
    if (!isTokenPrice(price)) return { rate, reservation: { operationId, amounts: price } };
    const coveredTokens = price.promptTokens + price.maxTokens;
    return { rate, reservation: { operationId, amounts: { credits, chat_tokens: tokens }, coveredTokens } };
  });
}

function reservationOf(operation: OperationRequest, answer: EachJudged, i: number): Reservation {
  const { id: operationId, price } = operation;
  const known = answer.d[i];
  if (!isTokenPrice(price)) return { operationId, amounts: known === undefined ? price : toAmounts(known) };
  const credits = known?.[0] ?? answer.g[i] ?? 0;
  const coveredTokens =
    known === undefined ? (answer.e[i] ?? 0) : Math.floor((known[1] ?? 0) / price.multiplier);
  return { operationId, amounts: { credits, chat_tokens: coveredTokens * price.multiplier }, coveredTokens };
}

function exhausted(operation: OperationRequest | undefined, answer: EachJudged, i: number): ApiError {
  const bucket = BUCKETS[(answer.b[i] ?? 1) - 1] ?? 'credits';
  // An endpoint's own message is about its own bucket; a lack of credits always has the general message.
  const own = bucket === 'credits' || bucket === 'chat_tokens' ? undefined : operation?.exhaustedMessage;
  return new ApiError('quota_exceeded', own ?? `Quota exceeded for ${bucket}`, {
    remaining: (answer.m[i] ?? 0) / 100,
  });
}

function exceeded({ counters }: AdmissionBatch, answer: EachJudged, i: number): ApiError {
  const [number = 0, left = '0'] = answer.o[i] ?? [];
  const rule = counters[number - 1]?.rule;
  if (rule === undefined) throw new Error('penstock_admit named no budget');
  return new ApiError('budget_exceeded', `Budget exceeded: ${rule.name}`, {
    remaining: budgetAmount(rule.unit, BigInt(left)),
  });
}

function limited(states: WindowStates, rate: RateState | null): ApiError {
  const waits = states.map((state) => (state?.remaining === 0 ? state.waitSeconds : 1));
  const error = new ApiError('rate_limited', 'Rate limit exceeded', { retryAfter: Math.max(...waits) });
  if (rate === null) return error;
  const { takenAt: _, ...untaken } = rate;
  return withRate(error, untaken);
}

function decodeEach(batch: AdmissionBatch, answer: EachJudged): Outcome[] {
  const { rows } = batch;
  const state = (use: WindowUse | null, left: number | null | undefined): WindowState | null =>
    use && stateOf(use.rule, left ?? 0, [answer.t[use.index - 1] ?? 0, answer.n[use.index - 1] ?? 0]);
  return rows.map(({ item: { request }, profile }, i): Outcome => {
    const code = answer.c[i];
    if (code === CODE.invalid) return new ApiError('unauthorized', 'Invalid or missing API key');
    if (code === CODE.expired) return new ApiError('unauthorized', 'API key has expired');
    if (code === CODE.stale) return STALE;
    const key = state(profile.key, answer.x[i]);
    const endpoint = state(profile.endpoint, answer.y[i]);
    const own = state(profile.own, answer.z[i]);
    const rate = toRate([key, endpoint, own]);
    if (code === CODE.limited) return limited([key, endpoint, own], rate);
    const { operation } = request;
    if (code === CODE.exhausted) return withRate(exhausted(operation, answer, i), rate);
    if (code === CODE.exceeded) return withRate(exceeded(batch, answer, i), rate);
    return { rate, reservation: operation === undefined ? null : reservationOf(operation, answer, i) };
  });
}

/** The outcome of each request of the batch, in order. */
export function decode(batch: AdmissionBatch, answer: AdmissionAnswer): Outcome[] {
  return 'w' in answer ? decodeAll(batch, answer) : decodeEach(batch, answer);
}
