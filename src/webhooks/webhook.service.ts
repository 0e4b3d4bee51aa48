import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../access/access.types.js';
import type { Database, SqlValue } from '../database/database.types.js';
import type { Egress } from '../egress/index.js';
import { ApiError, invalid, notFound } from '../contract/errors.js';
import type { FileService } from '../files/files.types.js';
import { bindToKey, takeBound } from '../idempotency/index.js';
import type { KeyedCall } from '../idempotency/index.js';
import { newId } from '../contract/ids.js';
import { attemptDelivery } from './attempt.js';
import type { AttemptDependencies } from './attempt.js';
import { DatabaseClock } from './database-clock.js';
import { recordAttempts, toClaimed } from './delivery.queries.js';
import type { ClaimedRow } from './delivery.queries.js';
import type { SecretBox } from './secret-box.js';
import { parseCreate, parseOverlap, parseSpan, parseUpdate } from './webhook.input.js';
import * as sql from './webhook.queries.js';
import type { DeliveryRow, WebhookRow } from './webhook.queries.js';
import type { Delivery, Webhook, WebhookService } from './webhook.types.js';

export interface WebhookServiceOptions {
  database: Database;
  egress: Egress;
  files: Pick<FileService, 'sign'>;
  secrets: SecretBox;
  config: { webhooks: { retryDelaysMs: number[] } };
}

/** A receiver has the request long before it has answered it: slower ones than that need not be waited for. */
const OUTLAST_MS = 2000;

/** @throws ApiError plan_required */
function planOf(principal: Principal): { max: number; customHeaders: boolean } {
  const { webhooks } = principal.plan;
  if (webhooks === null) throw new ApiError('plan_required', 'Webhooks are not available');
  return webhooks;
}

function newSecret(): string {
  return `whsec_${randomBytes(32).toString('hex')}`;
}

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
    const made = takeBound(call, 'whk');
    if (made !== null) return await this.madeBefore(principal, made);
    const input = parseCreate(body, this.options.egress);
    if (!plan.customHeaders && Object.keys(input.customHeaders).length > 0)
      throw new ApiError('plan_required', 'Custom headers are not available', { param: 'custom_headers' });
    const secret = newSecret();
    const values: SqlValue[] = [
      newId('whk'),
      principal.orgId,
      input.name,
      input.url,
      input.events,
      input.enabled,
      JSON.stringify(input.customHeaders),
      this.options.secrets.seal(secret),
    ];
    return await this.options.database.transaction(async (transaction) => {
      // Creations of one organisation wait for each other, so that the plan's number holds.
      await transaction.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 7307))', [principal.orgId]);
      const [count] = await transaction.query<{ n: number }>(
        'SELECT count(*)::int AS n FROM webhooks WHERE org_id = $1',
        [principal.orgId],
      );
      if ((count?.n ?? 0) >= plan.max) throw new ApiError('quota_exceeded', 'Webhook limit reached');
      const [row] = await transaction.query<WebhookRow>(sql.INSERT, values);
      await bindToKey(transaction, call, row!.id);
      return sql.toWebhook(row!, secret);
    });
  }

  /** With the secret that it was made with, or that it has last been given. */
  private async madeBefore(principal: Principal, id: string): Promise<Webhook> {
    const text = `SELECT ${sql.WEBHOOK_COLUMNS}, COALESCE(next_secret, secret) AS secret FROM webhooks WHERE org_id = $1 AND id = $2`;
    const row = await this.one<WebhookRow & { secret: Buffer }>(principal, text, [id]);
    return sql.toWebhook(row, this.options.secrets.open(row.secret));
  }

  async list(principal: Principal): Promise<Webhook[]> {
    planOf(principal);
    const rows = await this.options.database.tenantQuery<WebhookRow>(
      principal.orgId,
      `SELECT ${sql.WEBHOOK_COLUMNS} FROM webhooks WHERE org_id = $1 ORDER BY id DESC`,
      [principal.orgId],
    );
    return rows.map((row) => sql.toWebhook(row));
  }

  async get(principal: Principal, id: string): Promise<Webhook> {
    planOf(principal);
    return sql.toWebhook(
      await this.one(principal, `SELECT ${sql.WEBHOOK_COLUMNS} FROM webhooks WHERE org_id = $1 AND id = $2`, [
        id,
      ]),
    );
  }

  async update(principal: Principal, id: string, body: Record<string, unknown>): Promise<Webhook> {
    const plan = planOf(principal);
    const changes = parseUpdate(body, this.options.egress);
    if (!plan.customHeaders && Object.keys(changes.customHeaders ?? {}).length > 0)
      throw new ApiError('plan_required', 'Custom headers are not available', { param: 'custom_headers' });
    const row = await this.one(principal, sql.UPDATE, [
      id,
      changes.name ?? null,
      changes.url ?? null,
      changes.events ?? null,
      changes.enabled ?? null,
      changes.customHeaders === undefined ? null : JSON.stringify(changes.customHeaders),
      Object.keys(changes).length > 0,
    ]);
    if (changes.enabled === true) await this.options.database.hints.send('webhook', id);
    return sql.toWebhook(row);
  }

  async delete(principal: Principal, id: string): Promise<void> {
    planOf(principal);
    await this.one(
      principal,
      `DELETE FROM webhooks WHERE org_id = $1 AND id = $2 RETURNING ${sql.WEBHOOK_COLUMNS}`,
      [id],
    );
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
    // Never pending for the workers: it is made without a time at which it is due.
    const [made] = await this.options.database.system.query(
      `WITH e AS (INSERT INTO webhook_events (id, org_id, type, event) VALUES ($3, $1, 'webhook.test', $4::jsonb) RETURNING id)
       INSERT INTO webhook_deliveries (id, org_id, webhook_id, event_id, event_type)
         SELECT $5, $1, w.id, $3, 'webhook.test' FROM webhooks w, e WHERE w.org_id = $1 AND w.id = $2
           FOR KEY SHARE OF w RETURNING id`,
      [principal.orgId, id, event.id, JSON.stringify(event), deliveryId],
    );
    if (made === undefined) throw notFound('Webhook not found');
    return await this.attemptNow(principal, { webhookId: id, deliveryId, kind: 'test' });
  }

  async rotateSecret(call: KeyedCall, id: string, body: Record<string, unknown>): Promise<Webhook> {
    const { principal } = call;
    planOf(principal);
    const overlap = parseOverlap(body);
    const rotated =
      takeBound(call, 'rot') === null
        ? await this.rotate(call, id, overlap)
        : await this.madeBefore(principal, id);
    if (overlap > 0) await this.outlast(id);
    return rotated;
  }

  private async rotate(call: KeyedCall, id: string, overlap: number): Promise<Webhook> {
    const { principal } = call;
    const secret = newSecret();
    const values: SqlValue[] = [principal.orgId, id, this.options.secrets.seal(secret), overlap];
    const row = await this.options.database.transaction(async (transaction) => {
      const [rotated] = await transaction.query<WebhookRow>(sql.ROTATE, values);
      // Its answer alone tells the new secret: a retry has it again.
      if (rotated !== undefined) await bindToKey(transaction, call, newId('rot'));
      return rotated;
    });
    if (row !== undefined) return sql.toWebhook(row, secret);
    await this.get(principal, id);
    throw new ApiError('conflict', 'A secret rotation is already under way');
  }

  /**
   * Attempts that were claimed before the rotation are signed with the old secret alone. Its answer waits until they are over, so that a
   * receiver which changes over as soon as it holds the new secret can verify whatever comes from then on.
   */
  private async outlast(webhookId: string): Promise<void> {
    const { system } = this.options.database;
    const [begun] = await system.query<{ at: Date }>('SELECT clock_timestamp() AS at');
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
    { first, after, status }: { first: number; after?: string; status?: string },
  ): Promise<{ nodes: Delivery[]; nextCursor: string | null }> {
    await this.get(principal, id);
    if (after !== undefined && !/^dlv_[0-9a-z]{26}$/.test(after)) throw invalid('Invalid cursor', 'cursor');
    const rows = await this.options.database.tenantQuery<DeliveryRow>(
      principal.orgId,
      `SELECT ${sql.DELIVERY_COLUMNS} FROM webhook_deliveries
       WHERE org_id = $1 AND webhook_id = $2 AND ($3::text IS NULL OR id < $3) AND ($4::text IS NULL OR status = $4)
       ORDER BY id DESC LIMIT $5`,
      [principal.orgId, id, after ?? null, status ?? null, first + 1],
    );
    const nodes = rows.slice(0, first).map(sql.toDelivery);
    return { nodes, nextCursor: rows.length > first ? (nodes.at(-1)?.id ?? null) : null };
  }

  async retry(principal: Principal, id: string, deliveryId: string): Promise<Delivery> {
    await this.get(principal, id);
    return await this.attemptNow(principal, { webhookId: id, deliveryId, kind: 'manual' });
  }

  async recover(principal: Principal, id: string, body: Record<string, unknown>): Promise<number> {
    planOf(principal);
    const { since, until } = parseSpan(body);
    await this.get(principal, id);
    const [row] = await this.options.database.system.query<{ count: number }>(
      `SELECT penstock_webhook_recover($1, $2, $3, COALESCE($4, clock_timestamp()))::int AS count`,
      [principal.orgId, id, since, until],
    );
    return row?.count ?? 0;
  }

  /** One row of the organisation's webhooks; `values` follow the organisation's id. */
  private async one<Row extends object = WebhookRow>(
    principal: Principal,
    text: string,
    values: SqlValue[],
  ): Promise<Row> {
    const { orgId } = principal;
    const [row] = await this.options.database.tenantQuery<Row>(orgId, text, [orgId, ...values]);
    if (row === undefined) throw notFound('Webhook not found');
    return row;
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
    const [row] = await this.options.database.tenantQuery<DeliveryRow>(
      principal.orgId,
      `SELECT ${sql.DELIVERY_COLUMNS} FROM webhook_deliveries WHERE org_id = $1 AND webhook_id = $2 AND id = $3`,
      [principal.orgId, webhookId, deliveryId],
    );
    if (row === undefined) throw notFound('Delivery not found');
    return sql.toDelivery(row);
  }
}
