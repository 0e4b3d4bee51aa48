import type { Model } from '../models/models.types.js';
import { exactCost, nanoOf, versionAt } from '../pricing/index.js';
import type { PricedUnit, PriceVersion, TokenClasses, Used } from '../pricing/pricing.types.js';
import { reportedClasses, UpstreamError } from '../providers/index.js';
import { storedText } from '../text/stored-json.js';
import type { OperationOutcome } from './metering.types.js';

/** An attempt at an upstream that reported its usage, or streamed and was counted here. */
export interface Attempted extends Used {
  model: Model;
  /** The upstream's own id of its answer, unchanged. */
  upstreamId?: unknown;
}

/** The end of an operation, as its caller sees it. */
export type OperationEnding = Pick<OperationOutcome, 'status' | 'errorCode'>;

export const SUCCEEDED: OperationEnding = { status: 'succeeded', errorCode: null };
/** Whether its caller left or cancelled it. */
export const CANCELLED: OperationEnding = { status: 'cancelled', errorCode: null };

/** The maximum of characters of a stored id; upstreams' ids have at most 100. */
const MAX_ID = 200;

/** Whether an id can be stored and shown in a list. PostgreSQL stores no NUL and no lone surrogate. */
function isId(id: unknown): id is string {
  return typeof id === 'string' && /^\S+$/.test(id) && id.length <= MAX_ID && storedText(id) === id;
}

function sum(one: TokenClasses | null, other: TokenClasses): TokenClasses {
  if (one === null) return other;
  return {
    input: one.input + other.input,
    cachedInput: one.cachedInput + other.cachedInput,
    cacheWrite: one.cacheWrite + other.cacheWrite,
    output: one.output + other.output,
    reasoning: one.reasoning + other.reasoning,
  };
}

/** Of equivalent units (a track and its seconds), the ones that the price version has a rate for; all units if it has none. */
function priced(version: PriceVersion | null, units: NonNullable<Used['units']>) {
  const rated = Object.entries(units).filter(([name]) => version?.rates[name as PricedUnit] !== undefined);
  return rated.length === 0 ? units : Object.fromEntries(rated);
}

/**
 * Collects the outcome of an operation for its record, attempt by attempt. Retries, fallbacks and the rounds of an answer are parts of one
 * operation. Costs are summed exactly and rounded once (beyond 13.2).
 */
export class OperationTally {
  /** The cost in atto-dollars. Null if an attempt has no known price. */
  private cost: bigint | null = 0n;
  private tokens: TokenClasses | null = null;
  private upstreamIds = '';
  private answered: Model | null = null;
  private last: Model | null = null;
  private firstTokenMs: number | null = null;
  private legsOf: ((whole: TokenClasses) => readonly Attempted[]) | null = null;
  /** Whether a hard budget in USD counts the operation: fallbacks without a price are then skipped. */
  pricedOnly: () => boolean | Promise<boolean> = () => false;
  /** Whether the caller may use a fallback. */
  mayUseFallback: (model: Model) => boolean | Promise<boolean> = () => true;

  /** @param admittedMs when the operation was admitted, in Unix milliseconds; the prices of that time apply */
  constructor(private readonly admittedMs = Date.now()) {}

  /** Whether no upstream has reported any work yet. */
  get isEmpty(): boolean {
    return this.last === null;
  }

  /** Call it when the first token or byte of the answer arrives. */
  began(): void {
    this.firstTokenMs ??= Math.max(0, Date.now() - this.admittedMs);
  }

  /** Sets the model whose answer the caller gets, even if the answer broke off. */
  answers(attempt: Attempted): void {
    this.answered = attempt.model;
    const legs = attempt.tokens == null ? undefined : this.legsOf?.(attempt.tokens);
    this.legsOf = null;
    for (const leg of legs ?? [attempt]) this.add(leg);
  }

  /** Call it if several upstreams continue the answer, one after the other. @param legsOf divides the whole answer's tokens between them */
  joins(legsOf: (whole: TokenClasses) => readonly Attempted[]): void {
    this.legsOf = legsOf;
  }

  /** Adds an attempt from which the caller got nothing. Its cost counts if the upstream reported usage. */
  failed(model: Model, error: unknown): void {
    if (!(error instanceof UpstreamError) || error.reportedUsage === null) return;
    const { usage, id } = error.reportedUsage;
    this.add({ model, tokens: reportedClasses(usage), upstreamId: id });
  }

  add({ model, tokens, units, upstreamId }: Attempted): void {
    const version = this.versionOf(model);
    const cost = exactCost(version, {
      tokens: tokens ?? null,
      ...(units && { units: priced(version, units) }),
    });
    this.cost = this.cost === null || cost === null ? null : this.cost + cost;
    this.last = model;
    if (tokens != null) this.tokens = sum(this.tokens, tokens);
    if (isId(upstreamId)) this.upstreamIds += this.upstreamIds === '' ? upstreamId : ` ${upstreamId}`;
  }

  outcome({ status, errorCode }: OperationEnding): OperationOutcome {
    const { answered } = this;
    const paid = answered ?? this.last;
    const version = paid && this.versionOf(paid);
    return {
      status,
      errorCode,
      provider: answered && (answered.upstream?.providerId ?? answered.provider),
      answeredModel: answered?.id ?? null,
      upstreamId: this.upstreamIds || null,
      firstTokenMs: this.firstTokenMs,
      tokens: this.tokens,
      costNano: this.cost === null ? null : nanoOf(this.cost),
      costVersion: version && `${paid.id}@${version.from}`,
    };
  }

  private versionOf({ cost }: Model) {
    return versionAt(cost, this.admittedMs);
  }
}
