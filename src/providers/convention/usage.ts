import { LRUCache } from 'lru-cache';
import type { TokenClasses } from '../../pricing/pricing.types.js';
import { isFields } from './answer-text.js';

type Fields = Record<string, unknown>;

/** The maximum of a plausible count: a larger one is an upstream's mistake. */
const MAX_COUNT = 2 ** 31 - 1;

/** An upstream's count of tokens, or null where it cannot be used. */
export function tokenCount(value: unknown): number | null {
  const count = typeof value === 'string' && /^\d{1,10}(?:\.0{1,10})?$/.test(value) ? Number(value) : value;
  return Number.isInteger(count) && (count as number) >= 0 && (count as number) <= MAX_COUNT
    ? (count as number)
    : null;
}

/** The names that providers give to the counts, without case and punctuation. The first that is present counts. */
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

const SPELLINGS = Object.entries(NAMES);

type Counts = Partial<Record<keyof typeof NAMES, number>>;

/** Counts beside `input_tokens`, `promptTokenCount` and `candidatesTokenCount`, which those makers leave out of them. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  inputtokens: ['cachecreationinputtokens', 'cachereadinputtokens', 'cachewriteinputtokens'],
  prompttokencount: ['tooluseprompttokencount'],
  candidatestokencount: ['thoughtstokencount'],
};

/** The usages of all answers have the same few names. */
const plainNames = new LRUCache<string, string>({
  max: 1000,
  memoMethod: (name) => name.toLowerCase().replace(/[^a-z]/g, ''),
});

/** A name without case and punctuation. */
const plainName = (name: string): string => plainNames.memo(name);

function countsIn(usage: Fields): Counts {
  const reported = new Map<string, number>();
  for (const name in usage) {
    const count = tokenCount(usage[name]);
    if (count !== null) reported.set(plainName(name), count);
  }
  const counts: Counts = {};
  for (const [name, spellings] of SPELLINGS) {
    const found = spellings.find((spelling) => reported.has(spelling));
    if (found === undefined) continue;
    const beside = (BESIDE[found] ?? []).reduce((sum, other) => sum + (reported.get(other) ?? 0), 0);
    counts[name as keyof Counts] = (reported.get(found) ?? 0) + beside;
  }
  return counts;
}

/** Other names of the place where makers tell it. */
const MAKERS_PLACES = ['usage_metadata', 'token_usage', 'amazon-bedrock-invocationMetrics'];

/** Where an answer, chunk or choice may tell its usage, the convention's place first. No generator: chunks of a stream come here. */
function placesOf(said: Fields, places: Fields[] = []): Fields[] {
  const add = (place: unknown): void => {
    if (isFields(place)) places.push(place);
  };
  const { usage, usageMetadata, meta, message, delta, choices } = said;
  // Some put it into a list, some put the tokens one level deeper, beside what they bill.
  const [told] = Array.isArray(usage) ? (usage as unknown[]) : [usage];
  add(told);
  if (isFields(told)) add(told['tokens']);
  add(usageMetadata);
  for (const name of MAKERS_PLACES) add(said[name]);
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

/** The counts that an answer has under the convention's names. */
function isPlain({ prompt_tokens, completion_tokens }: Fields): boolean {
  return typeof prompt_tokens === 'number' && typeof completion_tokens === 'number';
}

/**
 * Finds the usage in an answer or chunk, under any of the known names, and returns it under the convention's names; null if there is none.
 * What else stands there (token details) stays.
 */
export function findUsage(said: Fields): Fields | null {
  for (const place of placesOf(said)) {
    if (isPlain(place)) return place;
    const counts = countsIn(place);
    if (Object.keys(counts).length > 0) return place === said ? counts : { ...place, ...counts };
  }
  return isFields(said['usage']) ? said['usage'] : null;
}

/** Whether a chunk's text may tell a usage. */
export const mayContainUsage = (raw: string): boolean => /usage|eval_count/i.test(raw) && /\d/.test(raw);

/** Two reports of one answer: counts grow, so that a later one holds, and one of nothing tells nothing. */
export function latestUsage(before: Fields | null, next: Fields | null): Fields | null {
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
    names: ['cachewritetokens', 'cachecreationtokens'],
    beside: ['cachecreationinputtokens', 'cachewriteinputtokens'],
  },
  reasoning: {
    names: ['reasoningtokens', 'thinkingtokens'],
    beside: ['thoughtstokencount', 'reasoningtokens'],
  },
};

/** Its fields by their names without case and punctuation. */
function plainFields(fields: Fields): Map<string, unknown> {
  const plain = new Map<string, unknown>();
  for (const name in fields) plain.set(plainName(name), fields[name]);
  return plain;
}

const firstCount = (reported: ReadonlyMap<string, unknown>, names: readonly string[]): number | null => {
  for (const name of names) {
    const count = tokenCount(reported.get(name));
    if (count !== null) return count;
  }
  return null;
};

type ByPlainName = ReadonlyMap<string, unknown>;

/** The details of a usage that stand at one of these places. */
function detailsIn(reported: ByPlainName, places: readonly string[]): ByPlainName[] {
  const found: ByPlainName[] = [];
  for (const place of places) {
    const within = reported.get(place);
    if (isFields(within)) found.push(plainFields(within));
  }
  return found;
}

function partIn(
  reported: ByPlainName,
  details: readonly ByPlainName[],
  { names, beside }: (typeof PARTS)[keyof typeof PARTS],
): number | null {
  for (const within of details) {
    const count = firstCount(within, names);
    if (count !== null) return count;
  }
  return firstCount(reported, beside);
}

/** The parts of its tokens that a usage tells, in the words of chat, Responses, Messages or a maker. */
export function findTokenParts(usage: Fields): TokenParts {
  const reported = plainFields(usage);
  const input = detailsIn(reported, INPUT_DETAILS);
  return {
    cachedInput: partIn(reported, input, PARTS.cachedInput),
    cacheWrite: partIn(reported, input, PARTS.cacheWrite),
    reasoning: partIn(reported, detailsIn(reported, OUTPUT_DETAILS), PARTS.reasoning),
  };
}

/**
 * A call's tokens by class: what was counted, with the parts that its upstream reported. Reasoning that is part of the total only counts as output.
 * @param usage as the upstream reported it; null if it did not
 */
export function tokenClasses(
  { prompt, completion, total }: { prompt: number; completion: number; total: number },
  usage: unknown,
): TokenClasses {
  const parts = isFields(usage) ? findTokenParts(usage) : null;
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

/** The same from the upstream's report alone, in the form of chat. */
export function reportedClasses(usage: Fields): TokenClasses {
  const prompt = tokenCount(usage['prompt_tokens']) ?? 0;
  const completion = tokenCount(usage['completion_tokens']) ?? 0;
  return tokenClasses({ prompt, completion, total: prompt + completion }, usage);
}

/** The same of an answer that tells its usage somewhere; null where it tells none. */
export function findTokenClasses(said: unknown): TokenClasses | null {
  const usage = isFields(said) ? findUsage(said) : null;
  const reported = usage === null ? null : reportedClasses(usage);
  return reported === null || reported.input + reported.output === 0 ? null : reported;
}

/** The same as a field, which is absent if nothing was reported. */
export function reportedTokens(said: unknown): { tokens?: TokenClasses } {
  const tokens = findTokenClasses(said);
  return tokens === null ? {} : { tokens };
}
