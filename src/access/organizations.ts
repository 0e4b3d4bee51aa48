import type { Sql, SystemDatabase } from '../database/index.js';
import { ApiError, invalid } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { PLAN_CODES } from '../contract/words.js';
import type { PlanCode } from '../contract/words.js';
import type { PlanCatalogue } from './access.types.js';
import { effectivePlan } from './effective-plan.js';
import { allowanceOf } from './plans.js';
import { movePlan, moveToCancelled } from './subscription.js';
import type { Subscription, SubscriptionMove } from './subscription.js';

/** An organisation as the command line and the dashboard show it (decisions 10). */
export interface OrganizationView {
  id: string;
  name: string;
  /** The subscribed plan's code. */
  plan: PlanCode;
  /** False: the subscription was cancelled and its period is over. */
  entitled: boolean;
  /** ISO 8601. */
  periodEnd: string;
}

/** Organisations and their subscriptions. Every change grows the row's version and emits its event in one transaction. */
export interface OrganizationService {
  /** Also makes the service user that the organisation's command-line keys act as. @throws ApiError invalid_request */
  create(input: { name: string; planCode: PlanCode }): Promise<OrganizationView>;
  /** @throws ApiError not_found, invalid_request for an unknown plan */
  changePlan(orgId: string, planCode: PlanCode): Promise<OrganizationView>;
  /** At the period's end; again answers the same. @throws ApiError invalid_request without a paid subscription */
  cancel(orgId: string): Promise<OrganizationView>;
  /** @throws ApiError not_found */
  get(orgId: string): Promise<OrganizationView>;
  list(): Promise<OrganizationView[]>;
  /** By id, or by a name that only one organisation has. @throws ApiError not_found, invalid_request for an ambiguous name */
  resolveId(idOrName: string): Promise<string>;
}

interface Row {
  id: string;
  name: string;
  plan_code: PlanCode;
  subscription_id: string | null;
  subscription_status: Subscription['status'];
  anchor_at: Date;
  subscription_ends_at: Date | null;
  period_end: Date;
  now: Date;
}

const SELECT = `
SELECT o.*, p.period_end, date_trunc('milliseconds', now()) AS now
FROM organizations o, penstock_period(o.anchor_at, now()) p`;

const orgNotFound = (): ApiError => new ApiError('not_found', 'Organization not found');

function toSubscription(row: Row): Subscription {
  return {
    planCode: row.plan_code,
    subscriptionId: row.subscription_id,
    status: row.subscription_status,
    anchorAt: row.anchor_at,
    endsAt: row.subscription_ends_at,
  };
}

function checkPlan(planCode: string): void {
  if (!(PLAN_CODES as readonly string[]).includes(planCode)) {
    throw invalid(`Unknown plan: ${planCode} (one of ${PLAN_CODES.join(', ')})`, 'plan');
  }
}

async function emit(
  sql: Sql,
  plans: PlanCatalogue,
  event: { orgId: string; at: Date; move: SubscriptionMove; subscriptionId: string | null },
) {
  const { orgId, at, move, subscriptionId } = event;
  const { planCode, status } = move.next;
  const envelope = {
    id: newId('evt'),
    type: move.event,
    orgId,
    timestamp: at.toISOString(),
    data: { subscriptionId, planCode, planName: plans.plans[planCode].name, status },
  };
  await sql.query(`SELECT penstock_emit('events', $1, $2::jsonb)`, [orgId, JSON.stringify(envelope)]);
}

interface Change {
  plans: PlanCatalogue;
  row: Row;
  move: SubscriptionMove;
}

/** Writes a move with its allowance and its event; whoever cached the organisation hears of it at the commit. */
async function applyMove(sql: Sql, { plans, row, move }: Change): Promise<void> {
  const { next } = move;
  await sql.query(
    `UPDATE organizations SET plan_code = $2, subscription_id = $3, subscription_status = $4, anchor_at = $5,
       subscription_ends_at = $6, version = version + 1 WHERE id = $1`,
    [row.id, next.planCode, next.subscriptionId, next.status, next.anchorAt, next.endsAt],
  );
  const { plan } = effectivePlan(
    plans,
    { planCode: next.planCode, subscriptionEndsAt: next.endsAt },
    row.now,
  );
  await sql.query('SELECT penstock_plan_changed($1, $2::bigint[])', [row.id, allowanceOf(plan)]);
  const subscriptionId = next.subscriptionId ?? row.subscription_id;
  if (move.event !== null) await emit(sql, plans, { orgId: row.id, at: row.now, move, subscriptionId });
  await sql.query(`SELECT pg_notify('penstock_org_changed', $1)`, [row.id]);
}

async function insertOrganization(
  sql: Sql,
  plans: PlanCatalogue,
  input: { name: string; planCode: PlanCode },
): Promise<Row> {
  const id = newId('org');
  const userId = newId('usr');
  await sql.query(
    'INSERT INTO organizations (id, name, plan_code, service_user_id) VALUES ($1, $2, $3, $4)',
    [id, input.name, 'free', userId],
  );
  await sql.query(`INSERT INTO users (id, org_id, kind) VALUES ($1, $2, 'service')`, [userId, id]);
  const row = await lockRow(sql, id);
  const move = movePlan(toSubscription(row), { planCode: input.planCode, now: row.now, newId: newId('sub') });
  if (move !== null) await applyMove(sql, { plans, row, move });
  return lockRow(sql, id);
}

/** No key is changed: who begins a period holds its balance, for which this one waits, and refers to the organisation. */
async function lockRow(sql: Sql, orgId: string): Promise<Row> {
  const rows = await sql.query<Row>(`${SELECT} WHERE o.id = $1 FOR NO KEY UPDATE OF o`, [orgId]);
  if (rows[0] === undefined) throw orgNotFound();
  return rows[0];
}

/** The statements behind `create`, for use inside a transaction. */
export async function createOrganizationRow(
  sql: Sql,
  plans: PlanCatalogue,
  input: { name: string; planCode: PlanCode },
): Promise<OrganizationView> {
  checkPlan(input.planCode);
  const name = input.name.trim();
  if (name === '') throw invalid('name is required', 'name');
  if (name.length > 200) throw invalid('name must have at most 200 characters', 'name');
  return toView(await insertOrganization(sql, plans, { name, planCode: input.planCode }), plans);
}

function toView(row: Row, plans: PlanCatalogue): OrganizationView {
  const state = { planCode: row.plan_code, subscriptionEndsAt: row.subscription_ends_at };
  return {
    id: row.id,
    name: row.name,
    plan: row.plan_code,
    entitled: effectivePlan(plans, state, row.now).entitled,
    periodEnd: row.period_end.toISOString(),
  };
}

export function createOrganizationService(options: {
  database: SystemDatabase;
  plans: PlanCatalogue;
}): OrganizationService {
  const { database, plans } = options;
  const { system } = database;
  const move = (orgId: string, decide: (row: Row) => SubscriptionMove | null): Promise<OrganizationView> =>
    database.transaction(async (sql) => {
      const row = await lockRow(sql, orgId);
      const decided = decide(row);
      if (decided === null) return toView(row, plans);
      await applyMove(sql, { plans, row, move: decided });
      return toView(await lockRow(sql, orgId), plans);
    });
  return {
    create: (input) => database.transaction((sql) => createOrganizationRow(sql, plans, input)),
    async changePlan(orgId, planCode) {
      checkPlan(planCode);
      return move(orgId, (row) =>
        movePlan(toSubscription(row), { planCode, now: row.now, newId: newId('sub') }),
      );
    },
    cancel: (orgId) =>
      move(orgId, (row) => {
        if (row.subscription_status === 'none') throw invalid('There is no subscription to cancel');
        return moveToCancelled(toSubscription(row), row.now, row.period_end);
      }),
    async get(orgId) {
      const rows = await system.query<Row>(`${SELECT} WHERE o.id = $1`, [orgId]);
      if (rows[0] === undefined) throw orgNotFound();
      return toView(rows[0], plans);
    },
    async list() {
      return (await system.query<Row>(`${SELECT} ORDER BY o.id`)).map((row) => toView(row, plans));
    },
    async resolveId(idOrName) {
      const rows = await system.query<{ id: string }>(
        'SELECT id FROM organizations WHERE id = $1 OR name = $1 ORDER BY (id = $1) DESC LIMIT 2',
        [idOrName],
      );
      if (rows[0] === undefined) throw orgNotFound();
      if (rows.length > 1 && rows[0].id !== idOrName) {
        throw invalid(`Several organizations are named ${idOrName}: use the id`, 'org');
      }
      return rows[0].id;
    },
  };
}
