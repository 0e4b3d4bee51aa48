import { isTag, MAX_END_USER } from '../../access/index.js';
import { BUDGET_PERIODS, BUDGET_SCOPES, BUDGET_UNITS, EACH_SUBJECT } from '../../contract/budgets.js';
import type { BudgetAmount, BudgetUnit } from '../../contract/budgets.js';
import { invalid } from '../../contract/errors.js';
import { isLonger } from '../../text/characters.js';
import { storedAmount } from './budget-amount.js';
import type { BudgetRow } from './budget.entity.js';
import type { BudgetChange, NewBudget } from './budget.types.js';

const MAX_NAME = 200;
const MAX_THRESHOLDS = 10;
const DEFAULT_THRESHOLDS = [0.5, 0.8, 1];
/** The maximum: 10^9 dollars, or 10^12 units. */
const MAX_STORED = { usd: 10n ** 18n, bucket: 10n ** 14n };

type Columns = Pick<
  BudgetRow,
  'name' | 'scope' | 'subject' | 'unit' | 'cap' | 'period' | 'hard' | 'thresholds'
>;

function oneOf<Word extends string>(words: readonly Word[], given: string, param: string): Word {
  const word = words.find((candidate) => candidate === given);
  if (word === undefined) throw invalid(`${param} must be one of ${words.join(', ')}`, param);
  return word;
}

function nameOf(given: string): string {
  const name = given.trim();
  if (name === '') throw invalid('name is required', 'name');
  if (isLonger(name, MAX_NAME)) throw invalid(`name must have at most ${MAX_NAME} characters`, 'name');
  return name;
}

function capOf(unit: BudgetUnit, limit: BudgetAmount): bigint {
  const stored = storedAmount(unit, limit);
  if (stored === null || stored > (unit === 'usd' ? MAX_STORED.usd : MAX_STORED.bucket))
    throw invalid(
      unit === 'usd'
        ? 'limit must be 0 to 1000000000 USD with at most nine decimals'
        : `limit must be 0 to 1000000000000 ${unit} with at most two decimals`,
      'limit',
    );
  return stored;
}

/** Parts of the limit in ten-thousandths, without duplicates, in ascending order. */
function thresholdsOf(given: readonly number[]): number[] {
  const parts = given.map((part) => scaled(part));
  if (parts.length > MAX_THRESHOLDS || parts.some((part) => part === null))
    throw invalid(
      `thresholds must be at most ${MAX_THRESHOLDS} parts of the limit, above 0 and at most 1, with at most four decimals`,
      'thresholds',
    );
  return [...new Set(parts as number[])].toSorted((a, b) => a - b);
}

function scaled(part: number): number | null {
  const whole = Math.round(part * 10_000);
  return part > 0 && part <= 1 && whole / 10_000 === part ? whole : null;
}

/** The subject's form; whether a key exists is looked up by the service. */
function subjectOf(scope: Columns['scope'], subject: string | null): string | null {
  if (scope === 'organization') {
    if (subject !== null) throw invalid("subject is none of an organization's budget", 'subject');
    return null;
  }
  if (subject === null || subject.trim() === '')
    throw invalid(`subject must name ${NAMED[scope]}`, 'subject');
  if (subject === EACH_SUBJECT) return subject;
  const fits = scope === 'tag' ? isTag(subject) : !isLonger(subject, MAX_END_USER);
  if (!fits) throw invalid(`subject must name ${NAMED[scope]}`, 'subject');
  return subject;
}

const NAMED = {
  key: 'a key by its id, or * for each',
  endUser: `an end user with 1 to ${MAX_END_USER} characters, or * for each`,
  tag: 'a tag of 1 to 64 of the characters A-Z a-z 0-9 _ . : / -, or * for each',
} as const;

/** The columns of a new budget. @throws ApiError invalid_request */
export function columnsOf(input: NewBudget): Columns {
  const { subject = null, hard, thresholds } = input;
  const scope = oneOf(BUDGET_SCOPES, input.scope, 'scope');
  const unit = oneOf(BUDGET_UNITS, input.unit, 'unit');
  return {
    name: nameOf(input.name),
    scope,
    subject: subjectOf(scope, subject),
    unit,
    cap: capOf(unit, input.limit),
    period: oneOf(BUDGET_PERIODS, input.period, 'period'),
    hard: hard ?? true,
    thresholds: thresholdsOf(thresholds ?? DEFAULT_THRESHOLDS),
  };
}

/** The columns that a change writes. @throws ApiError invalid_request */
export function changedColumns(unit: BudgetUnit, change: BudgetChange): Partial<Columns> {
  const { name, limit, hard, thresholds } = change;
  return {
    ...(name == null ? {} : { name: nameOf(name) }),
    ...(limit == null ? {} : { cap: capOf(unit, limit) }),
    ...(hard == null ? {} : { hard }),
    ...(thresholds === undefined ? {} : { thresholds: thresholdsOf(thresholds ?? DEFAULT_THRESHOLDS) }),
  };
}
