import type { PlanCode, Amounts, Bucket, ClientInfo, LimitedEndpoint, ModelType } from '../contract/words.js';
import type { Principal } from '../access/access.types.js';

/** State of the window that the three X-RateLimit-* headers report (decisions 4). */
export interface RateState {
  limit: number;
  remaining: number;
  /** Unix seconds (rounded up) at which the window next gains a slot. */
  reset: number;
  /** Where slots were taken: when, by the database's clock, in microseconds. */
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
  /** An operator's `quota set`. */
  | 'adjustment'
  | 'top_up';

/** A chat call's price before it ran: reserved as prompt + max tokens, capped at what is left where prompt + 1 fits. */
export interface TokenPrice {
  promptTokens: number;
  maxTokens: number;
  /** The tier multiplier in hundredths: 150 is 1.5. */
  multiplier: number;
}

/** An operation to reserve. `id` is unique for ever: reserve, settle and release each happen once for it. */
export interface OperationRequest {
  id: string;
  kind: OperationKind;
  /** Fixed amounts (hundredths), or tokens (chat, embeddings, agent model calls). */
  price: Amounts | TokenPrice;
  model: string | null;
  /** The 402 message where the endpoint has one of its own (contract 7.4), e.g. `STT limit exceeded`. Default: `Quota exceeded for <bucket>`. */
  exhaustedMessage?: string;
  jobId?: string;
  runId?: string;
}

export interface AdmissionRequest {
  principal: Principal;
  requestId: string;
  client: ClientInfo;
  /** Take a slot of the key's own window (false for fields of a GraphQL operation whose slot was taken already). */
  keyWindow: boolean;
  /** Also take a slot of this endpoint's window. Both are taken or none. */
  endpoint?: LimitedEndpoint | undefined;
  operation?: OperationRequest | undefined;
}

export interface Reservation {
  operationId: string;
  /** What was reserved, in hundredths. */
  amounts: Amounts;
  /** Token prices only: prompt + completion tokens that the reservation covers. */
  coveredTokens?: number;
}

export interface Admission {
  /** The tighter of the windows looked at; null where the request counts against none. */
  rate: RateState | null;
  reservation: Reservation | null;
}

/** A bucket as GET /quota shows it; whole units with up to two decimals; -1 is unlimited. */
export interface BucketState {
  bucket: Bucket;
  remaining: number;
  limit: number;
  used: number;
  usagePercent: number;
}

export interface QuotaReport {
  orgId: string;
  plan: { code: PlanCode; name: string; kind: string; entitled: boolean; periodEnd: string };
  quotas: BucketState[];
}

/** What a settlement answers: what was charged really, and the buckets after it. */
export interface Settlement {
  /** False where the operation was settled or released before: nothing changed, `charged` is that of the first time. */
  applied: boolean;
  charged: Amounts;
  balances: Record<Bucket, BucketState>;
}

/** A webhook event (contract 6.1) that is written in the transaction of a settlement, once, where that is applied. */
export interface SettlementEvent {
  orgId: string;
  type: string;
  data: Record<string, unknown>;
  /** Where its call stands in a trace; null where nothing is traced. */
  traceparent: string | null;
}

export interface UsageRecord {
  id: string;
  operation: OperationKind;
  state: 'reserved' | 'settled' | 'released';
  requestId: string | null;
  jobId: string | null;
  runId: string | null;
  keyId: string | null;
  model: string | null;
  client: ClientInfo;
  /** Hundredths. Reserved amounts while open, charged amounts once settled, {} once released. */
  amounts: Amounts;
  /** Hundredths that an operator's top-up added to buckets; {} for all else. */
  granted: Amounts;
  createdAt: string;
  settledAt: string | null;
}

/** Records, newest first, each with the cursor after which the next ones are read. */
export interface UsagePage {
  nodes: UsageRecord[];
  cursors: string[];
  nextCursor: string | null;
}

export interface UsageQuery {
  orgId: string;
  since?: Date;
  first: number;
  after?: string;
}

/** Rate windows, reservations and their ledger (decisions 2 and 4). Concurrent calls of one turn share one statement. */
export interface Metering {
  /**
   * One round trip: is the key still valid, are the windows free (takes their slots), does the price fit (reserves it).
   * @throws ApiError unauthorized, rate_limited (with retryAfter), quota_exceeded (with remaining). Every error thrown
   * after the windows were looked at carries the rate state: see `rateOf(error)`.
   */
  admit(request: AdmissionRequest): Promise<Admission>;
  /** Gives slots back that a call took before it was known to be refused at step 4 of decisions 1. */
  returnSlots(slots: TakenSlots): Promise<void>;
  /** The price of tokens in credits and chat_tokens, hundredths: credits are whole, at least 1. */
  tokenAmounts(totalTokens: number, multiplier: number): Amounts;
  /** Charges real amounts, once, durably (the promise resolves after the commit), and tells of it. Coalesced. */
  settle(operationId: string, amounts: Amounts, event?: SettlementEvent): Promise<Settlement>;
  /**
   * The same for an answer that its caller does not see before: where PostgreSQL is away so long that the caller is refused, it is given back
   * instead, and taken back where PostgreSQL had taken it all the same, so that nobody pays for a 503, or twice for its retry.
   */
  settleUnseen(operationId: string, amounts: Amounts, event?: SettlementEvent): Promise<Settlement>;
  /** How an operation was settled, by whatever process, for whoever is given its answer: the charge stays. Null where it was not (yet). */
  settledBefore(operationId: string): Promise<Settlement | null>;
  /** Gives a reservation back, once. Coalesced. */
  release(operationId: string): Promise<void>;
  /**
   * For work that could not be stored: gives its reservation back, unless it was stored and only the answer was lost. While PostgreSQL does
   * not tell, it is asked again in the background.
   * @returns true where it was given back; false where the work is stored, or where that is not known yet
   */
  releaseUnless(operationId: string, isStored: () => Promise<boolean>): Promise<boolean>;
  /** Any operation's prices checked against nothing but arithmetic and the balance; changes nothing. */
  balances(orgId: string): Promise<Record<Bucket, BucketState>>;
  quota(orgId: string): Promise<QuotaReport>;
  /** Operator: adds units (hundredths) to a bucket. @throws ApiError invalid_request for chat_tokens and unlimited buckets. */
  topUp(orgId: string, bucket: Bucket, amount: number): Promise<BucketState>;
  /** Operator: sets `used` (hundredths) by an adjustment row. @throws ApiError invalid_request for chat_tokens. */
  setUsed(orgId: string, bucket: Bucket, used: number): Promise<BucketState>;
  /** Newest first. `after` takes the cursor of any record. */
  usageRecords(query: UsageQuery): Promise<UsagePage>;
  /** Opens the connections that calls are admitted and charged over, unless they stand. @throws ApiError unavailable while it cannot */
  connect(): Promise<void>;
  /** Starts the process's heartbeat and the sweep of dead processes' reservations. */
  start(): void;
  /** The process is about to end: settlements that the database does not take keep their callers waiting no longer than a second. */
  hurry(): void;
  close(): Promise<void>;
}
