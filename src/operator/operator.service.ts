import { allowanceOf, effectivePlan } from '../access/index.js';
import type { OperatorRegistry, OrganizationService, PlanCatalogue } from '../access/index.js';
import { badCursor, toPage } from '../collections/page.js';
import { invalid, notFound } from '../contract/errors.js';
import { BUCKETS } from '../contract/words.js';
import type { PlanCode } from '../contract/words.js';
import type { Database, SqlValue } from '../database/database.types.js';
import type { DeadLetterStore } from '../events/index.js';
import { bucketStates } from '../metering/index.js';
import type { Metering, RawBalance } from '../metering/index.js';
import { COUNT_ORGANIZATIONS, organizationsStatement, QUEUES } from './operator.queries.js';
import type {
  OperatedOrganization,
  OperatorService,
  OrganizationSearch,
  ProviderHealth,
  QueueDepth,
} from './operator.types.js';

const MAX_TEXT = 254;

export interface OperatorOptions {
  database: Database;
  plans: PlanCatalogue;
  organizations: OrganizationService;
  metering: Pick<Metering, 'topUp'>;
  deadLetters: DeadLetterStore;
  operatorRegistry: OperatorRegistry;
  providers(): Promise<ProviderHealth[]>;
}

interface Row extends Omit<OperatedOrganization, 'entitled' | 'quotas'> {
  endsAt: Date | null;
  readAt: Date;
  balance: RawBalance | null;
}

const zeros = (): number[] => BUCKETS.map(() => 0);

/** The allowance is the plan's that holds now, which the balance adopts at its next call. */
function toOrganization(plans: PlanCatalogue, row: Row): OperatedOrganization {
  const { endsAt, readAt, balance, ...shown } = row;
  const state = { planCode: row.planCode, subscriptionEndsAt: endsAt };
  const { plan, entitled } = effectivePlan(plans, state, readAt);
  const empty = { topupStart: zeros(), topupAdded: zeros(), used: zeros(), reserved: zeros() };
  const quotas = bucketStates({ ...empty, ...balance, allowance: allowanceOf(plan) });
  return { ...shown, entitled, quotas };
}

/** What `LIKE` takes as it stands. */
const literal = (text: string): string => text.replaceAll(/[\\%_]/g, String.raw`\$&`);

/** @throws ApiError invalid_request */
function checked({ text, ...page }: OrganizationSearch): string | null {
  const wanted = text?.trim() ?? '';
  if (wanted.length > MAX_TEXT) throw invalid(`search must have at most ${MAX_TEXT} characters`, 'search');
  if (wanted.includes('\0')) throw invalid('search must not have a NUL', 'search');
  const bad = badCursor(page, (cursor) => /^org_[0-9a-z]{26}$/.test(cursor));
  if (bad !== undefined) throw invalid('Invalid cursor', bad);
  return wanted === '' ? null : wanted;
}

/** @see OperatorService */
export function createOperatorService(options: OperatorOptions): OperatorService {
  const { database, plans, organizations, metering, deadLetters, operatorRegistry, providers } = options;
  const searched = (text: string | null, planCode: PlanCode | null): SqlValue[] => [
    text,
    text === null ? null : `%${literal(text)}%`,
    planCode,
  ];
  const read = async (text: string | null, search: OrganizationSearch): Promise<OperatedOrganization[]> => {
    const { planCode = null, first, after = null, before = null, backwards = false } = search;
    const values = [...searched(text, planCode), after, before, first + 1];
    const rows = await database.system.query<Row>(organizationsStatement(backwards), values);
    return rows.map((row) => toOrganization(plans, row));
  };
  const organization = async (id: string): Promise<OperatedOrganization> => {
    const found = await read(id, { first: 99 });
    const exact = found.find((one) => one.id === id);
    if (exact === undefined) throw notFound('Organization not found');
    return exact;
  };
  return {
    organization,
    async organizations(search) {
      const text = checked(search);
      return {
        ...toPage(await read(text, search), search, ({ id }) => id),
        async count() {
          const values = searched(text, search.planCode ?? null);
          const [row] = await database.system.query<{ organizations: number }>(COUNT_ORGANIZATIONS, values);
          return row?.organizations ?? 0;
        },
      };
    },
    async changePlan(orgId, planCode) {
      await organizations.changePlan(orgId, planCode);
      return organization(orgId);
    },
    async topUp(orgId, bucket, amount) {
      await metering.topUp(orgId, bucket, amount);
      return organization(orgId);
    },
    providers,
    queues: () => database.system.query<QueueDepth>(QUEUES),
    deadLetters,
    operatorRegistry,
  };
}
