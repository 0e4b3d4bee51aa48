import type { EntityManager } from '@mikro-orm/postgresql';
import { recordChange } from '../audit/index.js';
import type { AuditAction } from '../audit/index.js';
import { sqlOf } from '../database/index.js';
import type { Database } from '../database/index.js';
import { ApiError, invalid } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { PLAN_CODES } from '../contract/words.js';
import type { PlanCode } from '../contract/words.js';
import { Organization } from './access.entity.js';
import type { OrganizationRow } from './access.entity.js';
import type { PlanCatalogue } from './access.types.js';
import { effectivePlan } from './effective-plan.js';
import { EMIT, LOCK, NOTIFY_CHANGED, PLAN_CHANGED } from './organization.queries.js';
import { User } from './people/people.entity.js';
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

/** Organisations and their subscriptions. Every change increments the row's version and emits its event in one transaction. */
export interface OrganizationService {
  /** Also makes the organisation's service user, as which keys of the command line act. @throws ApiError invalid_request */
  create(input: { name: string; planCode: PlanCode }): Promise<OrganizationView>;
  /** @throws ApiError not_found, invalid_request for an unknown plan */
  changePlan(orgId: string, planCode: PlanCode): Promise<OrganizationView>;
  /** Cancels the subscription at the period's end; a repeated call changes nothing. @throws ApiError invalid_request without a paid subscription */
  cancel(orgId: string): Promise<OrganizationView>;
  /** @throws ApiError not_found */
  get(orgId: string): Promise<OrganizationView>;
  list(): Promise<OrganizationView[]>;
  /**
   * The id of the organisation with this id, or with this name if the name is unique. @throws ApiError not_found, invalid_request for an
   * ambiguous name
   */
  resolveId(idOrName: string): Promise<string>;
}

const orgNotFound = (): ApiError => new ApiError('not_found', 'Organization not found');

function toSubscription(row: OrganizationRow): Subscription {
  return {
    planCode: row.planCode,
    subscriptionId: row.subscriptionId ?? null,
    status: row.subscriptionStatus,
    anchorAt: row.anchorAt,
    endsAt: row.subscriptionEndsAt ?? null,
  };
}

/** What the audit log shows of a plan. */
const auditedOf = ({ planCode, status, endsAt }: Subscription) => ({
  plan: planCode,
  status,
  endsAt: endsAt?.toISOString() ?? null,
});

function checkPlan(planCode: string): void {
  if (!(PLAN_CODES as readonly string[]).includes(planCode)) {
    throw invalid(`Unknown plan: ${planCode} (one of ${PLAN_CODES.join(', ')})`, 'plan');
  }
}

/** @throws ApiError not_found */
async function find(em: EntityManager, id: string): Promise<OrganizationRow> {
  const row = await em.findOne(Organization, { id }, { refresh: true });
  if (row === null) throw orgNotFound();
  return row;
}

/** Reads and locks the organisation's row. @throws ApiError not_found */
async function hold(em: EntityManager, id: string): Promise<OrganizationRow> {
  await sqlOf(em).query(LOCK, [id]);
  return await find(em, id);
}

interface Change {
  plans: PlanCatalogue;
  row: OrganizationRow;
  move: SubscriptionMove;
}

/** The webhook event of a subscription's change. The event of an ended subscription has its id too. */
function eventOf({ plans, row, move }: Change, subscriptionId: string | null) {
  const { planCode, status } = move.next;
  return {
    id: newId('evt'),
    type: move.event,
    orgId: row.id,
    timestamp: row.readAt.toISOString(),
    data: { subscriptionId, planCode, planName: plans.plans[planCode].name, status },
  };
}

/** Writes a subscription's change with its allowance and its event, and notifies all processes at the commit. */
async function applyMove(em: EntityManager, change: Change): Promise<void> {
  const { plans, row, move } = change;
  const { planCode, subscriptionId, status, anchorAt, endsAt } = move.next;
  const event = move.event === null ? null : eventOf(change, subscriptionId ?? row.subscriptionId ?? null);
  em.assign(row, {
    planCode,
    subscriptionId,
    subscriptionStatus: status,
    anchorAt,
    subscriptionEndsAt: endsAt,
  });
  await em.flush();
  const { plan } = effectivePlan(plans, { planCode, subscriptionEndsAt: endsAt }, row.readAt);
  const sql = sqlOf(em);
  await sql.query(PLAN_CHANGED, [row.id, allowanceOf(plan)]);
  if (event !== null) await sql.query(EMIT, [row.id, JSON.stringify(event)]);
  await sql.query(NOTIFY_CHANGED, [row.id]);
}

/** What `create` does, for use inside a transaction. */
export async function insertOrganization(
  em: EntityManager,
  plans: PlanCatalogue,
  { name: given, planCode }: { name: string; planCode: PlanCode },
): Promise<OrganizationView> {
  checkPlan(planCode);
  const name = given.trim();
  if (name === '') throw invalid('name is required', 'name');
  if (name.length > 200) throw invalid('name must have at most 200 characters', 'name');
  const [id, serviceUserId] = [newId('org'), newId('usr')];
  em.create(Organization, { id, name, planCode: 'free', serviceUserId });
  // The user's row refers to the organisation's.
  await em.flush();
  em.create(User, { id: serviceUserId, orgId: id, kind: 'service' });
  await em.flush();
  const row = await hold(em, id);
  const move = movePlan(toSubscription(row), { planCode, now: row.readAt, newId: newId('sub') });
  await recordChange(em, {
    orgId: id,
    action: 'organization_created',
    subject: { id, name },
    after: { name, plan: planCode },
  });
  if (move !== null) await applyMove(em, { plans, row, move });
  return toView(await find(em, id), plans);
}

function toView(row: OrganizationRow, plans: PlanCatalogue): OrganizationView {
  const state = { planCode: row.planCode, subscriptionEndsAt: row.subscriptionEndsAt ?? null };
  return {
    id: row.id,
    name: row.name,
    plan: row.planCode,
    entitled: effectivePlan(plans, state, row.readAt).entitled,
    periodEnd: row.periodEnd.toISOString(),
  };
}

export function createOrganizationService({
  database,
  plans,
}: {
  database: Database;
  plans: PlanCatalogue;
}): OrganizationService {
  const move = (
    orgId: string,
    action: AuditAction,
    decide: (row: OrganizationRow) => SubscriptionMove | null,
  ): Promise<OrganizationView> =>
    database.allTenants(async (em) => {
      const row = await hold(em, orgId);
      const decided = decide(row);
      if (decided !== null) {
        const [before, after] = [auditedOf(toSubscription(row)), auditedOf(decided.next)];
        await recordChange(em, { orgId, action, subject: { id: orgId, name: row.name }, before, after });
        await applyMove(em, { plans, row, move: decided });
      }
      return toView(decided === null ? row : await find(em, orgId), plans);
    });
  return {
    create: (input) => database.allTenants((em) => insertOrganization(em, plans, input)),
    async changePlan(orgId, planCode) {
      checkPlan(planCode);
      return await move(orgId, 'plan_changed', (row) =>
        movePlan(toSubscription(row), { planCode, now: row.readAt, newId: newId('sub') }),
      );
    },
    cancel: (orgId) =>
      move(orgId, 'subscription_cancelled', (row) => {
        if (row.subscriptionStatus === 'none') throw invalid('There is no subscription to cancel');
        return moveToCancelled(toSubscription(row), row.readAt, row.periodEnd);
      }),
    get: (orgId) => database.tenant(orgId, async (em) => toView(await find(em, orgId), plans)),
    list: () =>
      database.allTenants(async (em) => {
        const rows = await em.findAll(Organization, { orderBy: { id: 'asc' } });
        return rows.map((row) => toView(row, plans));
      }),
    resolveId: (idOrName) =>
      database.allTenants(async (em) => {
        if ((await em.count(Organization, { id: idOrName })) > 0) return idOrName;
        const [named, another] = await em.find(Organization, { name: idOrName }, { limit: 2 });
        if (named === undefined) throw orgNotFound();
        if (another !== undefined)
          throw invalid(`Several organizations are named ${idOrName}: use the id`, 'org');
        return named.id;
      }),
  };
}
