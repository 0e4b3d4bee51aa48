import type { BudgetRule } from '../contract/budgets.js';
import type { BoundKind, MemberRole, Scope } from '../contract/words.js';
import type { Plan } from './plans.js';

export type { Plan, PlanCatalogue } from './plans.js';

/** Who calls: one valid key, its organisation and the plan whose limits hold now. */
export interface Principal {
  keyId: string;
  keyName: string;
  orgId: string;
  userId: string;
  scopes: ReadonlySet<Scope>;
  /** The subscribed plan's code and name (what GET /quota shows). */
  subscribedPlan: Plan;
  /** The plan whose limits hold: `subscribedPlan`, or Free where the subscription ended. */
  plan: Plan;
  entitled: boolean;
  /** The key's window: the plan's, or a smaller one of its own. */
  rate: Plan['rate'];
  /** Ids of models, and `provider/*`, that the key may call. Null: all. */
  models: readonly string[] | null;
  /** Increases with each change of the organisation's plan. Admission refuses an old version; the key is then read again and the call repeated. */
  orgVersion: number;
  /** ISO 8601 or null. */
  expiresAt: string | null;
  /** What the key stamps on all of its calls (beyond 13.4). */
  stamps?: { endUser: string | null; tags: readonly string[] };
  /** The organisation's budgets, in the order of their ids. Absent: it has none. */
  budgets?: readonly BudgetRule[];
  /** Who is signed in, where the key is that of a session. */
  person?: { sessionId: string; role: MemberRole };
  /** Whether the key is a router's, which passes on what its own callers ask: it may send documents that are not trusted. */
  isRouter?: boolean;
  /** Set where the caller has shown a client token. All else is of the key that made it, narrowed by what the token has of its own. */
  token?: ClientTokenGrant;
  /** Set where a worker makes the calls of a run: the id of the client token that started it. The token's cap counts them, also after the token's end. */
  cappedBy?: string;
}

/** What a client token has of its own (beyond 14.1). */
export interface ClientTokenGrant {
  id: string;
  /** Its window inside that of its maker; null: none of its own. */
  rate: Plan['rate'] | null;
  /** The one object that it reaches; null: all that its scopes reach. */
  bound: { kind: BoundKind; id: string } | null;
}

/** Whose end ends an open connection: the key, and the client token that it was shown by. */
export type Revocable = Pick<Principal, 'keyId' | 'token'>;

/** The credentials of a signed-in browser: its cookie, and the organisation that it has selected (null: the person's first one). */
export interface SessionCredential {
  token: string;
  orgId: string | null;
}

/** Checks `Authorization` headers. Malformed keys are refused without a query. */
export interface Authenticator {
  /**
   * @param authorization the header's value; several values are refused.
   * @param session used if there is no such header
   * @throws ApiError unauthorized `Invalid or missing API key`, `API key has expired` or `Session has ended`; not_found for a session's
   * organisation that is not the person's
   */
  authenticate(authorization: string | string[] | undefined, session?: SessionCredential): Promise<Principal>;
  /** As `authenticate`, but synchronous where the key is cached: then it also throws synchronously. */
  recognize(
    authorization: string | string[] | undefined,
    session?: SessionCredential,
  ): Principal | Promise<Principal>;
  /** Reads the key again from the database, past the cache. */
  refresh(principal: Principal): Promise<Principal>;
  /** Calls `listener` when a caller's key or client token stops being valid (revoked, expired), on whichever process that happened; at most 1 s later. */
  onInvalidated(caller: Revocable, listener: () => void): () => void;
  close(): Promise<void>;
}
