import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockMode, raw } from '@mikro-orm/postgresql';
import type { EntityManager } from '@mikro-orm/postgresql';
import type { Principal } from '../access/access.types.js';
import { recordChange } from '../audit/index.js';
import { sqlOf } from '../database/index.js';
import type { Database, SqlValue } from '../database/database.types.js';
import { badCursor, toPage, newestFirst } from '../collections/page.js';
import type { Page, PageQuery } from '../collections/page.js';
import type { Egress } from '../egress/index.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import type { FileService } from '../files/files.types.js';
import { bindToKey, takeBoundId } from '../idempotency/index.js';
import type { KeyedCall } from '../idempotency/index.js';
import { newId } from '../contract/ids.js';
import { attemptDelivery } from './attempt.js';
import type { AttemptDependencies } from './attempt.js';
import { DatabaseClock } from './database-clock.js';
import { recordAttempts, toClaimed } from './delivery.queries.js';
import type { ClaimedRow } from './delivery.queries.js';
import type { SecretBox } from './secret-box.js';
import { auditedOf, webhookChange } from './webhook.audit.js';
import { parseCreate, parseOverlap, parseSpan, parseUpdate } from './webhook.input.js';
import { DeliveryEntity, toDelivery, toWebhook, WebhookEntity } from './webhook.entity.js';
import * as sql from './webhook.queries.js';
import { sentRequest } from './sent-request.js';
import type { SentRow } from './sent-request.js';
import type { Delivery, DeliveryOutcomes, SentRequest, Webhook, WebhookService } from './webhook.types.js';

export interface WebhookServiceOptions {
  database: Database;
  egress: Egress;
  files: Pick<FileService, 'sign'>;
  secrets: SecretBox;
  config: { webhooks: { retryDelaysMs: number[] } };
}

/** How long a rotation waits for running attempts. A receiver has read the request long before this time is over. */
const OUTLAST_MS = 2000;

const webhookNotFound = (): ApiError => notFound('Webhook not found');

/** @throws ApiError plan_required */
function planOf(principal: Principal): { max: number; customHeaders: boolean } {
  const { webhooks } = principal.plan;
  if (webhooks === null) throw new ApiError('plan_required', 'Webhooks are not available');
  return webhooks;
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('hex')}`;
}

const OUTCOMES_MS = 7 * 86_400_000;
/** `dlv_` and the ten characters of the time. */
const ID_WITH_TIME = 14;

/** Registrations, their secrets and their deliveries (contract 2.15, 4.13, 6.1; decisions 6 "Webhooks"). */
export function createWebhookService(options: WebhookServiceOptions): WebhookService {
  return new Webhooks(options);
}

class Webhooks implements WebhookService {
  private readonly attempts: AttemptDependencies;
  private readonly clock = new DatabaseClock();

  constructor(private readonly options: WebhookServiceOptions) {
    const { egress, files, secrets } = options;
    this.attempts = { egress, files, secrets };
  }

  async create(call: KeyedCall, body: Record<string, unknown>): Promise<Webhook> {
    const { principal } = call;
    const plan = planOf(principal);
    const made = takeBoundId(call, 'whk');
    if (made !== null) return await this.madeBefore(principal, made);
    const input = parseCreate(body, this.options.egress);
    if (!plan.customHeaders && Object.keys(input.customHeaders).length > 0)
      throw new ApiError('plan_required', 'Custom headers are not available', { param: 'custom_headers' });
    const secret = newSecret();
    return await this.options.database.allTenants(async (em) => {
      const { orgId } = principal;
      const transaction = sqlOf(em);
      await transaction.query(sql.LOCK_CREATIONS, [orgId]);
      if ((await em.count(WebhookEntity, { orgId })) >= plan.max)
        throw new ApiError('quota_exceeded', 'Webhook limit reached');
      const sealed = this.options.secrets.seal(secret);
      const webhook = em.create(WebhookEntity, { ...input, id: newId('whk'), orgId, secret: sealed });
      await em.flush();
      await recordChange(em, webhookChange(webhook, 'webhook_created', { after: auditedOf(webhook) }));
      await bindToKey(transaction, call, webhook.id);
      return toWebhook(webhook, secret);
    });
  }

  /** The webhook that an earlier request created, with its current secret. */
  private async madeBefore(principal: Principal, id: string): Promise<Webhook> {
    const { database, secrets } = this.options;
    return await database.tenant(principal.orgId, async (em) => {
      const populate = ['secret', 'nextSecret'] as const;
      const webhook = await em.findOne(WebhookEntity, { id }, { populate });
      if (webhook === null) throw webhookNotFound();
      return toWebhook(webhook, secrets.open(Buffer.from(webhook.nextSecret ?? webhook.secret)));
    });
  }

  async page(principal: Principal, page: PageQuery): Promise<Page<Webhook>> {
    const { orgId } = principal;
    planOf(principal);
    const bad = badCursor(page, (cursor) => /^whk_[0-9a-z]{26}$/.test(cursor));
    if (bad !== undefined) throw invalid('Invalid cursor', bad);
    const { parts, options } = newestFirst(page);
    const { database } = this.options;
    const rows = await database.tenant(orgId, (em) => em.find(WebhookEntity, { $and: parts }, options));
    return {
      ...toPage(
        rows.map((row) => toWebhook(row)),
        page,
        ({ id }) => id,
      ),
      count: () => database.tenant(orgId, (em) => em.count(WebhookEntity)),
    };
  }

  async get(principal: Principal, id: string): Promise<Webhook> {
    planOf(principal);
    return await this.options.database.tenant(principal.orgId, async (em) => toWebhook(await find(em, id)));
  }

  async getMany(principal: Principal, ids: readonly string[]): Promise<Webhook[]> {
    planOf(principal);
    return await this.options.database.tenant(principal.orgId, async (em) =>
      (await em.find(WebhookEntity, { id: { $in: [...ids] } })).map((row) => toWebhook(row)),
    );
  }

  async update(principal: Principal, id: string, body: Record<string, unknown>): Promise<Webhook> {
    const plan = planOf(principal);
    const changes = parseUpdate(body, this.options.egress);
    if (!plan.customHeaders && Object.keys(changes.customHeaders ?? {}).length > 0)
      throw new ApiError('plan_required', 'Custom headers are not available', { param: 'custom_headers' });
    const updated = await this.options.database.tenant(principal.orgId, async (em) => {
      // Locks the row: attempts that end meanwhile wait, so that enabling clears every earlier failure.
      const webhook = await find(em, id, { lockMode: LockMode.PESSIMISTIC_WRITE });
      if (Object.keys(changes).length === 0) return toWebhook(webhook);
      const before = auditedOf(webhook);
      const now = raw<Date>('clock_timestamp()');
      em.assign(webhook, { ...changes, updatedAt: now });
      // Attempts that ended before do not count (decisions 6).
      if (changes.enabled === true)
        em.assign(webhook, {
          consecutiveFailures: 0,
          failureTimes: [],
          failuresAfter: now,
          disabledReason: null,
        });
      await em.flush();
      await recordChange(
        em,
        webhookChange(webhook, 'webhook_updated', { before, after: auditedOf(webhook) }),
      );
      return toWebhook(webhook);
    });
    if (changes.enabled === true) await this.options.database.hints.send('webhook', id);
    return updated;
  }

  async delete(principal: Principal, id: string): Promise<Webhook> {
    planOf(principal);
    return await this.options.database.tenant(principal.orgId, async (em) => {
      const webhook = await find(em, id);
      const deleted = await em.nativeDelete(WebhookEntity, { id });
      if (deleted === 0) throw webhookNotFound();
      await recordChange(em, webhookChange(webhook, 'webhook_deleted', { before: auditedOf(webhook) }));
      return toWebhook(webhook);
    });
  }

  async test(principal: Principal, id: string): Promise<Delivery> {
    await this.get(principal, id);
    const event = {
      id: newId('evt'),
      type: 'webhook.test',
      timestamp: new Date().toISOString(),
      data: { webhookId: id },
      orgId: principal.orgId,
    };
    const deliveryId = newId('dlv');
    const values = [principal.orgId, id, event.id, JSON.stringify(event), deliveryId];
    const [made] = await this.options.database.system.query(sql.INSERT_TEST, values);
    if (made === undefined) throw webhookNotFound();
    return await this.attemptNow(principal, { webhookId: id, deliveryId, kind: 'test' });
  }

  async rotateSecret(call: KeyedCall, id: string, body: Record<string, unknown>): Promise<Webhook> {
    const { principal } = call;
    planOf(principal);
    const overlap = parseOverlap(body);
    const rotated =
      takeBoundId(call, 'rot') === null
        ? await this.rotate(call, id, overlap)
        : await this.madeBefore(principal, id);
    if (overlap > 0) await this.awaitEarlierAttempts(id);
    return rotated;
  }

  private async rotate(call: KeyedCall, id: string, overlap: number): Promise<Webhook> {
    const { principal } = call;
    const secret = newSecret();
    const values: SqlValue[] = [principal.orgId, id, this.options.secrets.seal(secret), overlap];
    const rotated = await this.options.database.allTenants(async (em) => {
      const transaction = sqlOf(em);
      const [row] = await transaction.query<{ id: string }>(sql.ROTATE, values);
      if (row === undefined) return null;
      // Only this answer contains the new secret, so a retry must get it again.
      await bindToKey(transaction, call, newId('rot'));
      const webhook = await find(em, id);
      const after = { overlapSeconds: overlap };
      await recordChange(em, webhookChange(webhook, 'webhook_secret_rotated', { after }));
      return toWebhook(webhook, secret);
    });
    if (rotated !== null) return rotated;
    await this.get(principal, id);
    throw new ApiError('conflict', 'A secret rotation is already under way');
  }

  /**
   * Attempts that were claimed before the rotation are signed with the old secret only. The rotation's answer waits until they have ended, so
   * that a receiver which switches to the new secret at once can verify every later delivery.
   */
  private async awaitEarlierAttempts(webhookId: string): Promise<void> {
    const { system } = this.options.database;
    const [begun] = await system.query<{ at: Date }>(sql.NOW);
    const deadline = performance.now() + OUTLAST_MS;
    while (performance.now() < deadline) {
      const rows = await system.query(sql.IN_FLIGHT, [webhookId, begun?.at ?? null]);
      if (rows.length === 0) return;
      await sleep(20);
    }
  }

  async deliveries(
    principal: Principal,
    id: string,
    { status, ...page }: PageQuery & { status?: string },
  ): Promise<Page<Delivery>> {
    planOf(principal);
    const { database } = this.options;
    const listed = { webhookId: id, ...(status && { status: status as Delivery['status'] }) };
    return await database.tenant(principal.orgId, async (em) => {
      await find(em, id);
      const bad = badCursor(page, (cursor) => /^dlv_[0-9a-z]{26}$/.test(cursor));
      if (bad !== undefined) throw invalid('Invalid cursor', bad);
      const { parts, options } = newestFirst(page);
      const rows = await em.find(DeliveryEntity, { $and: [listed, ...parts] }, options);
      return {
        ...toPage(rows.map(toDelivery), page, (delivery) => delivery.id),
        count: () => database.tenant(principal.orgId, (own) => own.count(DeliveryEntity, listed)),
      };
    });
  }

  async deliveriesById(principal: Principal, ids: readonly string[]): Promise<Delivery[]> {
    planOf(principal);
    return await this.options.database.tenant(principal.orgId, async (em) =>
      (await em.find(DeliveryEntity, { id: { $in: [...ids] } })).map(toDelivery),
    );
  }

  async sent(orgId: string, deliveryIds: string[]): Promise<Map<string, SentRequest>> {
    const { database, files } = this.options;
    const rows = await database.tenantQuery<SentRow>(orgId, sql.SENT, [orgId, deliveryIds]);
    return new Map(
      rows.map((row) => [row.id, sentRequest(row, (event, at) => files.sign(orgId, event, at))]),
    );
  }

  async outcomes(orgId: string, webhookIds: string[]): Promise<Map<string, DeliveryOutcomes>> {
    const since = newId('dlv', Date.now() - OUTCOMES_MS).slice(0, ID_WITH_TIME);
    const values = [orgId, webhookIds, since];
    const rows = await this.options.database.tenantQuery<DeliveryOutcomes & { id: string }>(
      orgId,
      sql.OUTCOMES,
      values,
    );
    return new Map(rows.map(({ id, ...outcomes }) => [id, outcomes]));
  }

  async retry(principal: Principal, id: string, deliveryId: string): Promise<Delivery> {
    await this.get(principal, id);
    return await this.attemptNow(principal, { webhookId: id, deliveryId, kind: 'manual' });
  }

  async recover(principal: Principal, id: string, body: Record<string, unknown>): Promise<number> {
    planOf(principal);
    const { since, until } = parseSpan(body);
    await this.get(principal, id);
    const values = [principal.orgId, id, since, until];
    return await this.options.database.allTenants(async (em) => {
      const [row] = await sqlOf(em).query<{ count: number }>(sql.RECOVER, values);
      const deliveries = row?.count ?? 0;
      const webhook = await find(em, id);
      const after = { since: since.toISOString(), until: until?.toISOString() ?? null, deliveries };
      await recordChange(em, webhookChange(webhook, 'webhook_recovered', { after }));
      return deliveries;
    });
  }

  private async attemptNow(
    principal: Principal,
    { webhookId, deliveryId, kind }: { webhookId: string; deliveryId: string; kind: 'manual' | 'test' },
  ): Promise<Delivery> {
    const { system } = this.options.database;
    const claim = newId('clm');
    await this.clock.synchronise(system);
    const [row] = await system.query<ClaimedRow>(sql.CLAIM_ONE, [
      principal.orgId,
      webhookId,
      deliveryId,
      claim,
    ]);
    if (row === undefined) {
      await this.delivery(principal, webhookId, deliveryId);
      throw new ApiError('conflict', 'An attempt is under way', { retryAfter: 1 });
    }
    const result = await attemptDelivery(toClaimed(row), this.attempts).catch((cause: unknown) => {
      throw new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1, cause });
    });
    const { retryDelaysMs: delaysMs } = this.options.config.webhooks;
    await recordAttempts(system, [{ id: deliveryId, claim, kind, ...result }], {
      delaysMs,
      clock: this.clock,
    });
    return await this.delivery(principal, webhookId, deliveryId);
  }

  private async delivery(principal: Principal, webhookId: string, deliveryId: string): Promise<Delivery> {
    return await this.options.database.tenant(principal.orgId, async (em) => {
      const delivery = await em.findOne(DeliveryEntity, { id: deliveryId, webhookId });
      if (delivery === null) throw notFound('Delivery not found');
      return toDelivery(delivery);
    });
  }
}

async function find(em: EntityManager, id: string, options: { lockMode?: LockMode } = {}) {
  const webhook = await em.findOne(WebhookEntity, { id }, options);
  if (webhook === null) throw webhookNotFound();
  return webhook;
}
