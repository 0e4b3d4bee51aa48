import type { Bucket, MemberRole, PlanCode, Scope } from '../contract/words.js';
import type { PlanData, PlansData } from './plans.js';

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
  /** Grows with each change of the organisation's plan; admission refuses a stale one (the caller reloads and retries). */
  orgVersion: number;
  /** ISO 8601 or null. */
  expiresAt: string | null;
  /** Who is signed in, where the key is that of a session. */
  person?: { sessionId: string; role: MemberRole };
}

/** What a signed-in browser brings: its cookie, and which of the person's organisations it looks at (null: the first). */
export interface SessionCredential {
  token: string;
  orgId: string | null;
}

/** Checks `Authorization` headers. Malformed keys are refused without a query. */
export interface Authenticator {
  /**
   * @param authorization the header's value; several values are refused.
   * @param session looked at where there is no such header
   * @throws ApiError unauthorized `Invalid or missing API key`, `API key has expired` or `Session has ended`; not_found for a session's
   * organisation that is not the person's
   */
  authenticate(authorization: string | string[] | undefined, session?: SessionCredential): Promise<Principal>;
  /** The same, at once where the key is known: throws at once, too. */
  recognize(
    authorization: string | string[] | undefined,
    session?: SessionCredential,
  ): Principal | Promise<Principal>;
  /** Reads the key again from the database, past the cache. */
  refresh(principal: Principal): Promise<Principal>;
  /** Calls `listener` when a key stops being valid (revoked, expired), on whichever process that happened; at most 1 s later. */
  onInvalidated(keyId: string, listener: () => void): () => void;
  close(): Promise<void>;
}
