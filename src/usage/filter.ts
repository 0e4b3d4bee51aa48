import { invalid } from '../contract/errors.js';
import { MODEL_TYPES } from '../contract/words.js';
import type { SqlValue } from '../database/index.js';
import { OPERATION_STATUSES } from './usage.types.js';
import type { UsageDimension, UsageFilter, UsageRecordFilter } from './usage.types.js';

/** Of each list of a filter. */
const MAX_VALUES = 100;
/** Far longer than any model, tag or end user. */
const MAX_LENGTH = 300;

/** The lists of a filter, and the dimension that each is of. */
export const FILTERED = {
  models: 'model',
  providers: 'provider',
  keyIds: 'key',
  endUsers: 'endUser',
  operations: 'operation',
  statuses: 'status',
  tags: 'tag',
} as const satisfies Record<keyof UsageFilter, UsageDimension>;

export type FilterName = keyof typeof FILTERED;
export const FILTER_NAMES = Object.keys(FILTERED) as FilterName[];

const OPERATIONS: readonly string[] = [
  ...MODEL_TYPES,
  'agent_run',
  'agent_model',
  'agent_tool',
  'adjustment',
  'top_up',
];

const WORDS: Partial<Record<FilterName, readonly string[]>> = {
  operations: OPERATIONS,
  statuses: OPERATION_STATUSES,
};

/** Names of two words as the contract spells them: GraphQL spells them otherwise by itself. */
const PARAMS: Partial<Record<FilterName, string>> = { keyIds: 'key_ids', endUsers: 'end_users' };

/** The lists that are given, checked. @throws ApiError invalid_request with `param` */
export function checkFilter(filter: UsageFilter): Partial<Record<FilterName, string[]>> {
  const given: Partial<Record<FilterName, string[]>> = {};
  for (const field of FILTER_NAMES) {
    const values = filter[field];
    if (values == null) continue;
    const name = PARAMS[field] ?? field;
    if (values.length === 0) throw invalid(`${name} must name at least one`, name);
    if (values.length > MAX_VALUES) throw invalid(`${name} must name at most ${MAX_VALUES}`, name);
    if (values.some((value) => value.length > MAX_LENGTH || value.includes('\0')))
      throw invalid(`${name} must be texts of at most ${MAX_LENGTH} characters`, name);
    const words = WORDS[field];
    if (words !== undefined && !values.every((value) => words.includes(value)))
      throw invalid(`${name} must be of ${words.join(', ')}`, name);
    given[field] = [...new Set(values)];
  }
  return given;
}

/** @throws ApiError invalid_request with `param` */
export function checkRange(since: Date | null | undefined, until: Date | null | undefined): void {
  for (const [name, time] of [
    ['since', since],
    ['until', until],
  ] as const) {
    const year = time?.getUTCFullYear() ?? 2000;
    if (Number.isNaN(year) || year < 1970 || year > 9999)
      throw invalid(`${name} must be in the years 1970 to 9999`, name);
  }
  if (since != null && until != null && until <= since) throw invalid('until must be after since', 'until');
}

/** The columns of `usage_ledger` that the lists of a filter look at; `tags` holds several. */
const LEDGER_COLUMNS: Record<FilterName, string> = {
  models: 'model',
  providers: 'provider',
  keyIds: 'key_id',
  endUsers: 'end_user',
  operations: 'kind',
  statuses: 'status',
  tags: 'tags',
};

/** Conditions on rows of the ledger, and their parameters behind those that there are. @throws ApiError invalid_request with `param` */
export function ledgerConditions(
  { since, until, ...filter }: UsageRecordFilter,
  values: readonly SqlValue[],
): { text: string; values: SqlValue[] } {
  checkRange(since, until);
  const given = checkFilter(filter);
  const all = [...values];
  const place = (value: SqlValue): string => `$${all.push(value)}`;
  const conditions = [
    ...(since == null ? [] : [`created_at >= ${place(since)}`]),
    ...(until == null ? [] : [`created_at < ${place(until)}`]),
    ...FILTER_NAMES.flatMap((name) => {
      const list = given[name];
      if (list === undefined) return [];
      const [column, parameter] = [LEDGER_COLUMNS[name], `${place(list)}::text[]`];
      return [name === 'tags' ? `${column} && ${parameter}` : `${column} = ANY (${parameter})`];
    }),
  ];
  return { text: conditions.map((condition) => ` AND ${condition}`).join(''), values: all };
}
