import type { PlanCode, Amounts, Bucket, ClientInfo, LimitedEndpoint, ModelType } from '../contract/words.js';
import type { Principal } from '../access/access.types.js';
import type { TokenClasses } from '../pricing/pricing.types.js';

export type { TokenClasses } from '../pricing/pricing.types.js';

/** State of the window that the three X-RateLimit-* headers report (decisions 4). */
export interface RateState {
  limit: number;
  remaining: number;
  /** Unix seconds (rounded up) at which the window next gains a slot. */
  reset: number;
  /** Set if slots were taken: the time, by the database's clock, in microseconds. */
  takenAt?: number;
}

/** Slots that an admission took. */
export interface TakenSlots {
  principal: Principal;
  keyWindow: boolean;
  endpoint?: LimitedEndpoint;
  takenAt: number;
}

/** What kind of operation a ledger row records. */
export type OperationKind =
  | ModelType
  | 'agent_run'
  | 'agent_model'
  | 'agent_tool'
  /** More tokens for a further round of a running operation. It is always released, and is not a separate operation. */
  | 'hold'
  /** An operator's `quota set`. */
  | 'adjustment'
  | 'top_up';

/** A chat call's price before it runs: reserves prompt + max tokens, or what is left if at least prompt + 1 fits. */
export interface TokenPrice {
  promptTokens: number;
  maxTokens: number;
  /** The tier multiplier in hundredths: 150 is 1.5. */
  multiplier: number;
}

/** The maximum cost of an operation at its upstreams, in nano-dollars. */
export interface CostBound {
  whole: bigint;
  /** The cost of its prompt alone. */
  prompt: bigint;
}

/** An operation to reserve. `id` is unique for ever: reserve, settle and release each happen once for it. */
export interface OperationRequest {
  id: string;
  kind: OperationKind;
  /** Fixed amounts (hundredths), or tokens (chat, embeddings, agent model calls). */
  price: Amounts | TokenPrice;
  model: string | null;
  /** The endpoint's own 402 message, if it has one (contract 7.4), e.g. `STT limit exceeded`. Default: `Quota exceeded for <bucket>`. */
  exhaustedMessage?: string;
  jobId?: string;
  runId?: string;
  /** The run whose agent makes the call. */
  parent?: string;
  /** Called only if a budget in USD counts the operation. Null: its model has no price. Default: the operation itself costs nothing. */
  costBound?: () => CostBound | null;
}

/** The outcome of an operation: all of its record except the charge (beyond 13.1, 13.2). */
export interface OperationOutcome {
  status: 'succeeded' | 'failed' | 'cancelled';
  /** The code of the caller's error; null if it succeeded. */
  errorCode: string | null;
  /** The provider of the model that answered; null if none did. */
  provider: string | null;
  answeredModel: string | null;
  /** The upstream's own id of the answer, by which its invoice names it. */
  upstreamId: string | null;
  /** From admission to the first token or byte, in ms; null if there was none. */
  firstTokenMs: number | null;
  /** Null for operations that are not counted in tokens. */
  tokens: TokenClasses | null;
  /** The cost of all its attempts at their upstreams, in nano-dollars. Null: unknown, because a model has no price. */
  costNano: bigint | null;
  /** The price version that was valid at admission: `<model id>@<from>`; null if there is no price. */
  costVersion: string | null;
}

/** The attribution of an operation (beyond 13.1), as the API read it from the call. */
export interface Attribution {
  endUser: string | null;
  tags: readonly string[];
}

export interface AdmissionRequest {
  principal: Principal;
  requestId: string;
  client: ClientInfo;
  /** Whether to take a slot of the key's own window (false for fields of a GraphQL operation whose slot is already taken). */
  keyWindow: boolean;
  /** Whether to take a slot of this endpoint's window too. Both slots are taken, or none. */
  endpoint?: LimitedEndpoint | undefined;
  operation?: OperationRequest | undefined;
  /** The attribution of the operation. Default: none. */
  attribution?: Attribution | undefined;
}

export interface Reservation {
  operationId: string;
  /** The reserved amounts, in hundredths. */
  amounts: Amounts;
  /** Token prices only: prompt + completion tokens that the reservation covers. */
  coveredTokens?: number;
}

export interface Admission {
  /** Of the checked windows the one with the smaller share left; null if the request counts against none. */
  rate: RateState | null;
  reservation: Reservation | null;
}

/** A bucket as GET /quota shows it; whole units with up to two decimals; -1 is unlimited. */
export interface BucketState {
  bucket: Bucket;
  remaining: number;
  limit: number;
  used: number;
  reserved: number;
  usagePercent: number;
}

export interface QuotaReport {
  orgId: string;
  plan: { code: PlanCode; name: string; kind: string; entitled: boolean; periodEnd: string };
  quotas: BucketState[];
}

/** The result of a settlement: the real charge, and the buckets after it. */
export interface Settlement {
  /** False if the operation was settled or released before: nothing changed, and `charged` is the first charge. */
  applied: boolean;
  charged: Amounts;
  balances: Record<Bucket, BucketState>;
}

/** A webhook event (contract 6.1) that is written once, in the transaction of the settlement, if the settlement is applied. */
export interface SettlementEvent {
  orgId: string;
  type: string;
  data: Record<string, unknown>;
  /** The trace context of its call; null without tracing. */
  traceparent: string | null;
}

/** The end of an operation that is charged. */
export interface OperationEnd {
  /** The real charge, in hundredths. */
  amounts: Amounts;
  outcome: OperationOutcome;
  event?: SettlementEvent | undefined;
}

/** Rate windows, reservations and their ledger (decisions 2 and 4). Concurrent calls of one turn share one statement. */
export interface Metering {
  /**
   * One round trip: is the key still valid, are the windows free (takes their slots), does the price fit (reserves it).
   * @throws ApiError unauthorized, rate_limited (with retryAfter), quota_exceeded and budget_exceeded (with remaining), invalid_request (a model without a price). Every error thrown
   * after the windows were looked at carries the rate state: see `rateOf(error)`.
   */
  admit(request: AdmissionRequest): Promise<Admission>;
  /** Returns slots that a call took before it was refused at step 4 of decisions 1. */
  returnSlots(slots: TakenSlots): Promise<void>;
  /** The price of tokens in credits and chat_tokens, hundredths: credits are whole, at least 1. */
  tokenAmounts(totalTokens: number, multiplier: number): Amounts;
  /** Charges real amounts once and durably (resolves after the commit), and writes the event. Simultaneous calls share one statement. */
  settle(operationId: string, end: OperationEnd): Promise<Settlement>;
  /**
   * Like `settle`, for an answer that the caller has not seen yet. If PostgreSQL is away so long that the caller gets a 503, the reservation is
   * released instead, and a charge that was committed nevertheless is reversed: nobody pays for a 503, or twice because of its retry.
   */
  settleUnseen(operationId: string, end: OperationEnd): Promise<Settlement>;
  /** How an operation was settled, by any process. Its answer is now given to a caller, so the charge becomes final. Null if it is not settled. */
  settledBefore(operationId: string): Promise<Settlement | null>;
  /**
   * Releases a reservation once. Simultaneous calls share one statement.
   * @param outcome default: cancelled, nothing answered, and no cost
   */
  release(operationId: string, outcome?: OperationOutcome): Promise<void>;
  /**
   * For work that could not be stored: releases its reservation, unless the work was stored and only PostgreSQL's answer was lost. While that is
   * unknown, it is checked again in the background.
   * @returns true if it was released; false if the work is stored or that is not known yet
   */
  releaseUnless(operationId: string, isStored: () => Promise<boolean>): Promise<boolean>;
  /** The state of all buckets; changes nothing. */
  balances(orgId: string): Promise<Record<Bucket, BucketState>>;
  quota(orgId: string): Promise<QuotaReport>;
  /** Operator: adds units (hundredths) to a bucket. @throws ApiError invalid_request for chat_tokens and unlimited buckets. */
  topUp(orgId: string, bucket: Bucket, amount: number): Promise<BucketState>;
  /** Operator: sets `used` (hundredths) by an adjustment row. @throws ApiError invalid_request for chat_tokens. */
  setUsed(orgId: string, bucket: Bucket, used: number): Promise<BucketState>;
  /** Opens the connections for admission and settlement if they are not open. @throws ApiError unavailable if it cannot */
  connect(): Promise<void>;
  /** Starts the process's heartbeat and the sweep of dead processes' reservations. */
  start(): void;
  /** Shortens the time-out of settlements to a second, because the process is stopping. */
  hurry(): void;
  close(): Promise<void>;
}
