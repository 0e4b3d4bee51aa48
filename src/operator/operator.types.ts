import type { OperatorRegistry } from '../access/index.js';
import type { Page, PageQuery } from '../collections/page.js';
import type { Bucket, PlanCode } from '../contract/words.js';
import type { DeadLetterStore } from '../events/index.js';
import type { BucketState } from '../metering/metering.types.js';

/** An organisation as operators see it. */
export interface OperatedOrganization {
  id: string;
  name: string;
  planCode: PlanCode;
  /** False: the subscription was cancelled and its period is over. */
  entitled: boolean;
  createdAt: Date;
  /** When its period ends. */
  periodEnd: Date;
  members: number;
  /** Keys that are not revoked. */
  keys: number;
  quotas: BucketState[];
}

export interface OrganizationSearch extends PageQuery {
  /** Part of the name, the whole id, or a member's whole email address. */
  text?: string | null | undefined;
  planCode?: PlanCode | null | undefined;
}

/** One provider, whether it answers, and how its calls went. */
export interface ProviderHealth {
  id: string;
  /** `openai-compatible`, or the id of a native provider. */
  kind: string;
  /** Models of the catalogue that it serves. */
  models: number;
  ok: boolean;
  detail: string;
  checkedAt: Date;
  /** Calls that ended within the last hour. */
  lastHour: { requests: number; errors: number; p50Ms: number | null; p95Ms: number | null };
}

/** How much of something there is, and how old the oldest is. */
export interface QueueDepth {
  queue: string;
  /** The tool of jobs; null for all others. */
  part: string | null;
  status: string;
  /** At most 100,000. */
  count: number;
  /** Null: there is none. */
  oldestSeconds: number | null;
}

/**
 * What operators see and change, over all organisations. Who calls was checked before: no method asks again. Changes are the same services' as
 * the command line's, and so are their entries of the audit log.
 */
export interface OperatorService {
  /** Newest first. @throws ApiError invalid_request */
  organizations(search: OrganizationSearch): Promise<Page<OperatedOrganization>>;
  /** @throws ApiError not_found */
  organization(id: string): Promise<OperatedOrganization>;
  changePlan(orgId: string, planCode: PlanCode): Promise<OperatedOrganization>;
  /** @param amount hundredths */
  topUp(orgId: string, bucket: Bucket, amount: number): Promise<OperatedOrganization>;
  /** The result is up to 30 s old. */
  providers(): Promise<ProviderHealth[]>;
  queues(): Promise<QueueDepth[]>;
  deadLetters: DeadLetterStore;
  operatorRegistry: OperatorRegistry;
}
