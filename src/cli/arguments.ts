import { InvalidArgumentError } from 'commander';
import { readIsoTime } from '../text/iso-time.js';
import { BUCKETS, PLAN_CODES, SCOPES } from '../contract/words.js';
import type { Bucket, PlanCode, Scope } from '../contract/words.js';

/** An amount with at most two decimals, as whole hundredths: `1.5` is 150. How large one may be is metering's to say. @throws InvalidArgumentError */
export function parseAmount(text: string): number {
  const [, whole, decimals = ''] = /^(\d+)(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  if (whole === undefined) throw new InvalidArgumentError('must be a number with at most two decimals');
  return Number(whole) * 100 + Number(decimals.padEnd(2, '0'));
}

export function parsePositiveAmount(text: string): number {
  const amount = parseAmount(text);
  if (amount === 0) throw new InvalidArgumentError('must be more than 0');
  return amount;
}

function parseWord<Word extends string>(words: readonly Word[], text: string): Word {
  const word = words.find((candidate) => candidate === text);
  if (word === undefined) throw new InvalidArgumentError(`must be one of ${words.join(', ')}`);
  return word;
}

export const parseBucket = (text: string): Bucket => parseWord(BUCKETS, text);
export const parsePlan = (text: string): PlanCode => parseWord(PLAN_CODES, text);

/** `all`, or names separated by commas. */
export function parseScopes(text: string): Scope[] {
  if (text === 'all') return [...SCOPES];
  const names = text.split(',').map((name) => name.trim());
  return [...new Set(names.map((name) => parseWord(SCOPES, name)))];
}

/** Words separated by commas. */
export const parseList = (text: string): string[] => text.split(',').map((word) => word.trim());

/** Numbers separated by commas. @throws InvalidArgumentError */
export function parseNumbers(text: string): number[] {
  const numbers = text.split(',').map((one) => (one.trim() === '' ? Number.NaN : Number(one)));
  if (numbers.some((one) => !Number.isFinite(one)))
    throw new InvalidArgumentError('must be numbers separated by commas');
  return numbers;
}

/** @throws InvalidArgumentError */
export function parseSeconds(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('must be a whole number');
  return Number(text);
}

/** @throws InvalidArgumentError */
export function parseCount(text: string): number {
  const count = parseSeconds(text);
  if (count === 0) throw new InvalidArgumentError('must be at least 1');
  return count;
}

/** An ISO 8601 date or time; without an offset it is UTC. */
export function parseTime(text: string): Date {
  const time = readIsoTime(text);
  if (time === null) throw new InvalidArgumentError('must be an ISO 8601 time such as 2027-01-31T00:00:00Z');
  return time;
}

/** An id as `dead-letters list` shows it. */
export function parseDeadLetterId(text: string): string {
  if (!/^(?:table:\d{1,18}|topic:\d{1,9}:\d{1,18})$/.test(text))
    throw new InvalidArgumentError('must be an id that `dead-letters list` shows');
  return text;
}
