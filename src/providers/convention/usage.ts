import type { TokenClasses } from '../../pricing/pricing.types.js';
import { isFields } from './said.js';

type Fields = Record<string, unknown>;

/** More than any model takes: an upstream that tells more cannot count. */
const MAX_COUNT = 2 ** 31 - 1;

/** An upstream's count of tokens, or null where it cannot be used. */
export function tokenCount(value: unknown): number | null {
  const count = typeof value === 'string' && /^\d{1,10}(?:\.0{1,10})?$/.test(value) ? Number(value) : value;
  return Number.isInteger(count) && (count as number) >= 0 && (count as number) <= MAX_COUNT
    ? (count as number)
    : null;
}

/** What makers call the counts, without case and punctuation; the first that is told counts. */
const NAMES = {
  prompt_tokens: ['prompttokens', 'inputtokens', 'prompttokencount', 'inputtokencount', 'promptevalcount'],
  completion_tokens: [
    'completiontokens',
    'outputtokens',
    'completiontokencount',
    'candidatestokencount',
    'outputtokencount',
    'generatedtokens',
    'evalcount',
  ],
  total_tokens: ['totaltokens', 'totaltokencount'],
} as const;

type Counts = Partial<Record<keyof typeof NAMES, number>>;

/** Counts beside `input_tokens`, `promptTokenCount` and `candidatesTokenCount`, which those makers leave out of them. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  inputtokens: ['cachecreationinputtokens', 'cachereadinputtokens', 'cachewriteinputtokens'],
  prompttokencount: ['tooluseprompttokencount'],
  candidatestokencount: ['thoughtstokencount'],
};

const plainName = (name: string): string => name.toLowerCase().replace(/[^a-z]/g, '');

function countsIn(usage: Fields): Counts {
  const told = new Map<string, number>();
  for (const name in usage) {
    const count = tokenCount(usage[name]);
    if (count !== null) told.set(plainName(name), count);
  }
  const counts: Counts = {};
  for (const [name, spellings] of Object.entries(NAMES)) {
    const found = spellings.find((spelling) => told.has(spelling));
    if (found === undefined) continue;
    const beside = (BESIDE[found] ?? []).reduce((sum, other) => sum + (told.get(other) ?? 0), 0);
    counts[name as keyof Counts] = (told.get(found) ?? 0) + beside;
  }
  return counts;
}

/** Where an answer, chunk or choice may tell its usage, the convention's place first. No generator: chunks of a stream come here. */
function placesOf(said: Fields, places: Fields[] = []): Fields[] {
  const add = (place: unknown): void => {
    if (isFields(place)) places.push(place);
  };
  const { usage, usageMetadata, meta, message, delta, choices } = said;
  add(usage);
  add(usageMetadata);
  // Makers' own fields beside the convention's are called x_<maker>.
  for (const name in said) if (name.startsWith('x_') && isFields(said[name])) add(said[name]['usage']);
  if (isFields(meta)) add(meta['tokens']);
  if (isFields(message)) add(message['usage']);
  if (isFields(delta)) add(delta['usage']);
  if (Array.isArray(choices)) for (const choice of choices) if (isFields(choice)) placesOf(choice, places);
  // Counts that stand beside the answer itself.
  if ('eval_count' in said || 'prompt_eval_count' in said) places.push(said);
  return places;
}

/** The convention's counts as they are told already. */
function isPlain({ prompt_tokens, completion_tokens }: Fields): boolean {
  return typeof prompt_tokens === 'number' && typeof completion_tokens === 'number';
}

/**
 * What an answer or a chunk tells of its usage, wherever and in whatever words, under the convention's names; null where it tells nothing.
 * What else stands there (token details) stays.
 */
export function usageIn(said: Fields): Fields | null {
  for (const place of placesOf(said)) {
    if (isPlain(place)) return place;
    const counts = countsIn(place);
    if (Object.keys(counts).length > 0) return place === said ? counts : { ...place, ...counts };
  }
  return isFields(said['usage']) ? said['usage'] : null;
}

/** Whether a chunk's text may tell a usage. */
export const mayTellUsage = (raw: string): boolean => /usage|eval_count/i.test(raw) && /\d/.test(raw);

/** Two reports of one answer: counts grow, so that a later one holds, and one of nothing tells nothing. */
export function laterUsage(before: Fields | null, next: Fields | null): Fields | null {
  if (before === null || next === null) return next ?? before;
  const merged: Fields = { ...before, ...next };
  for (const name of Object.keys(NAMES)) merged[name] = tokenCount(next[name]) || before[name];
  return merged;
}

/** Parts of a call's tokens; null where the upstream does not tell them. */
export interface TokenParts {
  /** Of the input: read from the upstream's cache. */
  cachedInput: number | null;
  /** Of the input: written to it. */
  cacheWrite: number | null;
  /** Of the output. */
  reasoning: number | null;
}

const INPUT_DETAILS = ['prompttokensdetails', 'inputtokensdetails', 'prompttokendetails'];
const OUTPUT_DETAILS = ['completiontokensdetails', 'outputtokensdetails'];
/** Where makers tell a part: in details of its whole, and beside the counts; names without case and punctuation. */
const PARTS = {
  cachedInput: {
    details: INPUT_DETAILS,
    names: ['cachedtokens', 'cachereadtokens'],
    beside: [
      'cachereadinputtokens',
      'promptcachehittokens',
      'cachedcontenttokencount',
      'cachedtokens',
      'numcachedtokens',
    ],
  },
  cacheWrite: {
    details: INPUT_DETAILS,
    names: ['cachewritetokens', 'cachecreationtokens'],
    beside: ['cachecreationinputtokens', 'cachewriteinputtokens'],
  },
  reasoning: {
    details: OUTPUT_DETAILS,
    names: ['reasoningtokens', 'thinkingtokens'],
    beside: ['thoughtstokencount', 'reasoningtokens'],
  },
};

/** Its fields by their names without case and punctuation. */
function plainFields(fields: Fields): Map<string, unknown> {
  return new Map(Object.entries(fields).map(([name, value]) => [plainName(name), value]));
}

const firstCount = (told: ReadonlyMap<string, unknown>, names: readonly string[]): number | null => {
  for (const name of names) {
    const count = tokenCount(told.get(name));
    if (count !== null) return count;
  }
  return null;
};

function partIn(
  told: ReadonlyMap<string, unknown>,
  { details, names, beside }: (typeof PARTS)[keyof typeof PARTS],
): number | null {
  for (const place of details) {
    const within = told.get(place);
    const count = isFields(within) ? firstCount(plainFields(within), names) : null;
    if (count !== null) return count;
  }
  return firstCount(told, beside);
}

/** The parts of its tokens that a usage tells, in the words of chat, Responses, Messages or a maker. */
export function tokenPartsIn(usage: Fields): TokenParts {
  const told = plainFields(usage);
  return {
    cachedInput: partIn(told, PARTS.cachedInput),
    cacheWrite: partIn(told, PARTS.cacheWrite),
    reasoning: partIn(told, PARTS.reasoning),
  };
}

/**
 * A call's tokens by class: what was counted, with the parts that its upstream told. Reasoning that is told in the total only is output.
 * @param usage as the upstream told it; null: it told nothing
 */
export function tokenClasses(
  { prompt, completion, total }: { prompt: number; completion: number; total: number },
  usage: unknown,
): TokenClasses {
  const parts = isFields(usage) ? tokenPartsIn(usage) : null;
  const [cachedInput, cacheWrite] = [parts?.cachedInput ?? 0, parts?.cacheWrite ?? 0];
  const reasoning = parts?.reasoning ?? 0;
  return {
    input: Math.max(prompt, cachedInput + cacheWrite),
    cachedInput,
    cacheWrite,
    output: Math.max(completion, total - prompt, reasoning),
    reasoning,
  };
}

/** The same of nothing but what an upstream told, in the words of chat. */
export function classesTold(usage: Fields): TokenClasses {
  const prompt = tokenCount(usage['prompt_tokens']) ?? 0;
  const completion = tokenCount(usage['completion_tokens']) ?? 0;
  return tokenClasses({ prompt, completion, total: prompt + completion }, usage);
}

/** The same of an answer that tells its usage somewhere; null where it tells none. */
export function classesIn(said: unknown): TokenClasses | null {
  const usage = isFields(said) ? usageIn(said) : null;
  const told = usage === null ? null : classesTold(usage);
  return told === null || told.input + told.output === 0 ? null : told;
}

/** The same as a field that is there where it is told. */
export function toldTokens(said: unknown): { tokens?: TokenClasses } {
  const tokens = classesIn(said);
  return tokens === null ? {} : { tokens };
}
