import type { Principal } from '../access/access.types.js';
import type { Page, PageQuery } from '../collections/page.js';
import type { KeyedCall } from '../idempotency/idempotency.types.js';

/** Event types that a webhook may list (contract 6.1). */
export const WEBHOOK_EVENT_TYPES = [
  'agent.run.started',
  'agent.run.completed',
  'agent.run.failed',
  'generation.started',
  'generation.completed',
  'generation.failed',
  'chat.message.created',
  'chat.conversation.created',
  'subscription.created',
  'subscription.updated',
  'subscription.cancelled',
  'credits.low',
  'credits.depleted',
  'budget.threshold',
  'team.member.added',
  'team.member.removed',
  'team.member.role_changed',
] as const;
export type WebhookEventType = (typeof WEBHOOK_EVENT_TYPES)[number];

/** The format of a webhook's requests (beyond 13.5): the event as JSON, or Slack's `{text}`. */
export const WEBHOOK_FORMATS = ['json', 'slack'] as const;
export type WebhookFormat = (typeof WEBHOOK_FORMATS)[number];

/** A registration (contract 2.15, decisions 6 "Webhooks"). */
export interface Webhook {
  id: string;
  name: string;
  url: string;
  events: string[];
  enabled: boolean;
  format: WebhookFormat;
  customHeaders: Record<string, string>;
  consecutiveFailures: number;
  disabledReason: string | null;
  lastDeliveryAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
  /** `whsec_` + 64 hex; only in the answer to create and rotate. */
  secret: string | null;
}

/** One attempt to deliver. */
export interface DeliveryAttempt {
  /** ISO 8601. */
  startedAt: string;
  durationMs: number;
  statusCode: number | null;
  error: string | null;
  /** At most 64 KB. */
  responseBody: string | null;
}

export interface Delivery {
  id: string;
  webhookId: string;
  eventId: string;
  eventType: string;
  status: 'pending' | 'succeeded' | 'failed';
  attempts: DeliveryAttempt[];
  nextAttemptAt: Date | null;
  createdAt: Date;
}

/** What a delivery sends. */
export interface SentRequest {
  /** Secrets are `***`: the signature, and the values of custom headers. */
  headers: Record<string, string>;
  /** As the receiver reads it. */
  body: unknown;
}

/** How a webhook's deliveries of the last seven days ended; of the newest 10,000. */
export interface DeliveryOutcomes {
  succeeded: number;
  failed: number;
  pending: number;
}

/** The data of one attempt, for the delivery worker. */
export interface ClaimedDelivery {
  id: string;
  orgId: string;
  webhookId: string;
  event: Record<string, unknown>;
  url: string;
  customHeaders: Record<string, string>;
  secret: Buffer;
  nextSecret: Buffer | null;
  /** A rotation is in its overlap: sign with both secrets. */
  rotating: boolean;
  /** How many deliveries of the webhook the claim could take; if it took as many, more may wait. */
  places: number;
  format: WebhookFormat;
}

export interface WebhookService {
  /** Once for each Idempotency-Key. @throws ApiError plan_required, invalid_request, quota_exceeded `Webhook limit reached` (402) */
  create(call: KeyedCall, body: Record<string, unknown>): Promise<Webhook>;
  /** Newest first. @throws ApiError plan_required, invalid_request for a cursor that is none */
  page(principal: Principal, page: PageQuery): Promise<Page<Webhook>>;
  /** @throws ApiError not_found `Webhook not found` (and so for all that take an id) */
  get(principal: Principal, id: string): Promise<Webhook>;
  /** Those of these ids that the organisation has. @throws ApiError plan_required */
  getMany(principal: Principal, ids: readonly string[]): Promise<Webhook[]>;
  /** Any field of create; `enabled: true` clears the failure count. */
  update(principal: Principal, id: string, body: Record<string, unknown>): Promise<Webhook>;
  /** Answers the webhook as it was. */
  delete(principal: Principal, id: string): Promise<Webhook>;
  /** Sends a signed `webhook.test` now; its one attempt never counts. */
  test(principal: Principal, id: string): Promise<Delivery>;
  /** @throws ApiError conflict during an overlap */
  rotateSecret(call: KeyedCall, id: string, body: Record<string, unknown>): Promise<Webhook>;
  deliveries(
    principal: Principal,
    id: string,
    page: PageQuery & { status?: string },
  ): Promise<Page<Delivery>>;
  /** Those of these ids that the organisation has, whatever their webhooks. @throws ApiError plan_required */
  deliveriesById(principal: Principal, ids: readonly string[]): Promise<Delivery[]>;
  /** What the deliveries with these ids send; what the organisation has not, or has no longer, is left out. */
  sent(orgId: string, deliveryIds: string[]): Promise<Map<string, SentRequest>>;
  /** Webhooks without deliveries are left out. */
  outcomes(orgId: string, webhookIds: string[]): Promise<Map<string, DeliveryOutcomes>>;
  /** One more attempt now, whatever the delivery's state. @throws ApiError not_found, conflict while an attempt is under way */
  retry(principal: Principal, id: string, deliveryId: string): Promise<Delivery>;
  /** Sends again what failed or was missed in a span of time (ISO 8601). @returns how many deliveries */
  recover(principal: Principal, id: string, body: Record<string, unknown>): Promise<number>;
}
