import type { EntityManager } from '@mikro-orm/postgresql';
import { ApiKey } from '../../access/index.js';
import type { Principal } from '../../access/index.js';
import { recordChange } from '../../audit/index.js';
import type { AuditChange } from '../../audit/index.js';
import { EACH_SUBJECT } from '../../contract/budgets.js';
import { badCursor, toPage, oldestFirst } from '../../collections/page.js';
import type { Page, PageQuery } from '../../collections/page.js';
import { invalid, notFound } from '../../contract/errors.js';
import { newId } from '../../contract/ids.js';
import { sqlOf } from '../../database/index.js';
import type { Database } from '../../database/index.js';
import { budgetAmount } from './budget-amount.js';
import { BudgetEntity } from './budget.entity.js';
import type { BudgetRow } from './budget.entity.js';
import { countersOfCaller } from './matching-counters.js';
import { changedColumns, columnsOf } from './budget.input.js';
import {
  CALLERS_FIGURES,
  DELETE_COUNTERS,
  FIGURES,
  MARK_COUNTERS,
  NEW_VERSION,
  NOTIFY,
  COUNT_SUBJECTS,
  subjectsStatement,
} from './budget.queries.js';
import type { Budget, BudgetChange, BudgetService, BudgetSubject, NewBudget } from './budget.types.js';

const MAX_BUDGETS = 50;

interface FiguresRow {
  id: string;
  /** Unix milliseconds, as `resets_at`. */
  counts_from: string;
  resets_at: string | null;
  spent: string;
  reserved: string;
}

interface SubjectRow {
  subject: string;
  spent: string;
  reserved: string;
}

const noBudget = () => notFound('Budget not found');

function figuresOf({ unit, cap }: BudgetRow, row: Pick<SubjectRow, 'spent' | 'reserved'>) {
  const [spent, reserved] = [BigInt(row.spent), BigInt(row.reserved)];
  const left = cap - spent - reserved;
  return {
    spent: budgetAmount(unit, spent),
    reserved: budgetAmount(unit, reserved),
    remaining: budgetAmount(unit, left > 0n ? left : 0n),
  };
}

const definitionOf = ({ name, scope, subject, unit, cap, period, hard, thresholds }: BudgetRow) => ({
  name,
  scope,
  subject: subject ?? null,
  unit,
  limit: budgetAmount(unit, cap),
  period,
  hard,
  thresholds: thresholds.map((part) => part / 10_000),
});

const timeOf = (milliseconds: string): string => new Date(Number(milliseconds)).toISOString();

function toBudget(row: BudgetRow, figures: FiguresRow): Budget {
  const { remaining, ...spent } = figuresOf(row, figures);
  return {
    id: row.id,
    ...definitionOf(row),
    countsFrom: timeOf(figures.counts_from),
    resetsAt: figures.resets_at === null ? null : timeOf(figures.resets_at),
    ...spent,
    remaining: row.subject === EACH_SUBJECT ? null : remaining,
  };
}

async function read(em: EntityManager, row: BudgetRow): Promise<Budget> {
  const [found] = await readAll(em, row.orgId, [row]);
  if (found === undefined) throw noBudget();
  return found;
}

/** In the order of the rows; without one that was deleted meanwhile. */
async function readAll(em: EntityManager, orgId: string, rows: readonly BudgetRow[]): Promise<Budget[]> {
  const read = await sqlOf(em).query<FiguresRow>(FIGURES, [orgId, rows.map(({ id }) => id)]);
  const figures = new Map(read.map((one) => [one.id, one]));
  return rows.flatMap((row) => {
    const found = figures.get(row.id);
    return found === undefined ? [] : [toBudget(row, found)];
  });
}

/** @throws ApiError invalid_request unless it is one of the organisation's API keys */
async function checkKey(em: EntityManager, orgId: string, id: string): Promise<void> {
  if ((await em.count(ApiKey, { id, orgId, sessionId: null })) === 0)
    throw invalid("subject must name one of the organization's keys by its id, or * for each", 'subject');
}

/** Reads a budget whose organisation is locked. */
async function hold(em: EntityManager, id: string, orgId: string): Promise<BudgetRow> {
  await sqlOf(em).query(NEW_VERSION, [orgId]);
  const row = await em.findOne(BudgetEntity, { id, orgId });
  if (row === null) throw noBudget();
  return row;
}

/** @see BudgetService */
export const createBudgetService = ({ database }: { database: Database }): BudgetService =>
  new Budgets(database);

class Budgets implements BudgetService {
  constructor(private readonly database: Database) {}

  list(orgId: string): Promise<Budget[]> {
    return this.database.tenant(orgId, async (em) =>
      readAll(em, orgId, await em.find(BudgetEntity, { orgId }, { orderBy: { id: 'asc' } })),
    );
  }

  async page(orgId: string, query: PageQuery): Promise<Page<Budget>> {
    const bad = badCursor(query, (cursor) => /^bud_[0-9a-z]{26}$/.test(cursor));
    if (bad !== undefined) throw invalid('Invalid cursor', bad);
    const { parts, options } = oldestFirst(query);
    return await this.database.tenant(orgId, async (em) => {
      const rows = await em.find(BudgetEntity, { $and: [{ orgId }, ...parts] }, options);
      const page = toPage(rows, query, ({ id }) => id);
      return {
        ...page,
        nodes: await readAll(em, orgId, page.nodes),
        count: () => this.database.tenant(orgId, (own) => own.count(BudgetEntity, { orgId })),
      };
    });
  }

  get(orgId: string, id: string): Promise<Budget> {
    return this.database.tenant(orgId, async (em) => {
      const row = await em.findOne(BudgetEntity, { id, orgId });
      if (row === null) throw noBudget();
      return await read(em, row);
    });
  }

  ofCaller(principal: Principal): Promise<Budget[]> {
    const { orgId } = principal;
    const counters = countersOfCaller(principal);
    if (counters.length === 0) return Promise.resolve([]);
    return this.database.tenant(orgId, async (em) => {
      const found = await em.find(BudgetEntity, { orgId }, { filters: { administered: false } });
      const rows = new Map(found.map((row) => [row.id, row]));
      const [ids, subjects] = [counters.map(({ rule }) => rule.id), counters.map(({ subject }) => subject)];
      const figures = await sqlOf(em).query<FiguresRow & SubjectRow>(CALLERS_FIGURES, [orgId, ids, subjects]);
      return figures.flatMap((one) => {
        const row = rows.get(one.id);
        if (row === undefined) return [];
        const { remaining } = figuresOf(row, one);
        return [{ ...toBudget(row, one), subject: one.subject || null, remaining }];
      });
    });
  }

  create(orgId: string, input: NewBudget): Promise<Budget> {
    return this.database.allTenants(async (em) => {
      const columns = columnsOf(input);
      const held = await sqlOf(em).query(NEW_VERSION, [orgId]);
      if (held.length === 0) throw notFound('Organization not found');
      const { scope, subject } = columns;
      if (scope === 'key' && subject != null && subject !== EACH_SUBJECT) await checkKey(em, orgId, subject);
      if ((await em.count(BudgetEntity, { orgId })) >= MAX_BUDGETS)
        throw invalid(`An organization has at most ${MAX_BUDGETS} budgets`, 'input');
      const row = em.create(BudgetEntity, { id: newId('bud'), orgId, ...columns });
      await em.flush();
      return await changed(em, row, { action: 'budget_created', after: definitionOf(row) });
    });
  }

  update(orgId: string, id: string, change: BudgetChange): Promise<Budget> {
    return this.database.allTenants(async (em) => {
      const row = await hold(em, id, orgId);
      const before = definitionOf(row);
      em.assign(row, changedColumns(row.unit, change));
      await em.flush();
      await sqlOf(em).query(MARK_COUNTERS, [id]);
      return await changed(em, row, { action: 'budget_updated', before, after: definitionOf(row) });
    });
  }

  delete(id: string, orgId?: string): Promise<Budget> {
    return this.database.allTenants(async (em) => {
      const found = await em.findOne(BudgetEntity, orgId === undefined ? { id } : { id, orgId });
      if (found === null) throw noBudget();
      const row = await hold(em, id, found.orgId);
      const deleted = await read(em, row);
      await sqlOf(em).query(DELETE_COUNTERS, [id]);
      await em.nativeDelete(BudgetEntity, { id });
      await recordAndNotify(em, row, { action: 'budget_deleted', before: definitionOf(row) });
      return deleted;
    });
  }

  private async countSubjects(orgId: string, id: string): Promise<number> {
    const [row] = await this.database.tenant(orgId, (em) =>
      sqlOf(em).query<{ subjects: number }>(COUNT_SUBJECTS, [orgId, id]),
    );
    return row?.subjects ?? 0;
  }

  subjects(orgId: string, id: string, query: PageQuery) {
    const { first, after, before, backwards = false } = query;
    return this.database.tenant(orgId, async (em) => {
      const row = await em.findOne(BudgetEntity, { id, orgId });
      if (row === null) throw noBudget();
      const [last, next] = [after, before].map((cursor) => (cursor === undefined ? null : subjectAt(cursor)));
      const values = [orgId, id, last ?? null, next ?? null, first + 1];
      const rows = await sqlOf(em).query<SubjectRow>(subjectsStatement(backwards), values);
      const { nodes, ...page } = toPage(rows, query, cursorOf);
      return {
        ...page,
        nodes: nodes.map((one): BudgetSubject => ({ subject: one.subject || null, ...figuresOf(row, one) })),
        cursors: nodes.map(cursorOf),
        count: () => this.countSubjects(orgId, id),
      };
    });
  }
}

type Change = Pick<AuditChange, 'action' | 'before' | 'after'>;

/** Writes the audit log's row of a change and notifies all processes at the commit. */
async function recordAndNotify(
  em: EntityManager,
  { orgId, id, name }: BudgetRow,
  change: Change,
): Promise<void> {
  await recordChange(em, { orgId, subject: { id, name }, ...change });
  await sqlOf(em).query(NOTIFY, [orgId]);
}

async function changed(em: EntityManager, row: BudgetRow, change: Change): Promise<Budget> {
  await recordAndNotify(em, row, change);
  return await read(em, row);
}

const MAX_CURSOR = 2000;

/** @throws ApiError invalid_request */
const cursorOf = ({ subject }: SubjectRow): string => Buffer.from(subject).toString('base64url');

function subjectAt(cursor: string): string {
  const subject = cursor.length > MAX_CURSOR ? '' : Buffer.from(cursor, 'base64url').toString();
  if (Buffer.from(subject).toString('base64url') !== cursor || subject.includes('\0'))
    throw invalid('Invalid cursor', 'cursor');
  return subject;
}
