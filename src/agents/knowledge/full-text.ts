import { LRUCache } from 'lru-cache';
import type { Sql } from '../../database/database.types.js';
import type { PassageKey, PassageScope } from './nearest.js';
import { COUNTS, RANKED } from './retrieval.queries.js';

const MAX_WORDS = 32;
/** The maximum of passages that are ranked for one question. Ranking costs some 30 µs a passage, and common words hardly distinguish passages. */
const MAX_RANKED = 200;
/** How many common words a passage must contain if the question has no rare word. More words add little, and each costs a scan of its passages. */
const MAX_TOGETHER = 2;
/** Agents whose common words are remembered. */
const MAX_SHELVES = 1000;

/** Stop words are in most passages: ranking by them costs much and distinguishes nothing. */
const STOP_WORDS = new Set(
  (
    'a about all also an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it its ' +
    'just like may me more most my no not of on or other our out over she should so some such than that the their them then there these they ' +
    'this to up us was we were what when where which while who why will with would you your'
  ).split(' '),
);

/** The question's words, each a term of a `tsquery`: longer ones also count as the beginning of another. */
function termsOf(question: string): string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}]{2,40}/gu) ?? [];
  const telling = words.filter((word) => !STOP_WORDS.has(word));
  const unique = [...new Set(telling.length > 0 ? telling : words)]
    .sort((a, b) => b.length - a.length)
    .slice(0, MAX_WORDS);
  return unique.map((word) => (word.length >= 4 ? `${word}:*` : word));
}

/**
 * Which passages are worth ranking: those with a rare word, and those with all the common ones. A question of common words alone is
 * answered from the passages of the rarest, so that it costs no more than another. Null where no passage has any of them.
 */
function candidatesOf(terms: readonly string[], counts: readonly number[]): string | null {
  const held = terms
    .map((term, at) => ({ term, passages: counts[at] ?? 0 }))
    .filter(({ passages }) => passages > 0)
    .sort((a, b) => a.passages - b.passages);
  let budget = MAX_RANKED;
  const rare = held.filter(({ passages }) => (budget -= passages) >= 0).map(({ term }) => term);
  const common = held.slice(rare.length, rare.length + MAX_TOGETHER).map(({ term }) => term);
  if (held.length === 0) return null;
  if (common.length === 0) return rare.join(' | ');
  const together = `(${common.join(' & ')})`;
  return rare.length > 0 ? `${rare.join(' | ')} | ${together}` : together;
}

export interface FullText {
  /** Passages that hold the question's words, best first (cover density, longer passages weighing less). */
  search(scope: PassageScope, question: string, limit: number): Promise<PassageKey[]>;
}

export function createFullText(sql: Sql): FullText {
  const commonWords = createMemory();

  /** How many passages hold each term, {@link MAX_RANKED} + 1 at most. */
  const count = async (scope: PassageScope, terms: readonly string[]): Promise<number[]> => {
    const common = commonWords(scope);
    const requested = terms.filter((term) => !common.has(term));
    const values = [scope.orgId, scope.agentId, requested, MAX_RANKED + 1];
    const rows =
      requested.length === 0 ? [] : await sql.query<{ nth: number; passages: number }>(COUNTS, values);
    const counted = new Map(rows.map(({ nth, passages }) => [requested[nth], passages]));
    for (const [term, passages] of counted) if (term !== undefined && passages > MAX_RANKED) common.add(term);
    return terms.map((term) => (common.has(term) ? MAX_RANKED + 1 : (counted.get(term) ?? 0)));
  };

  return {
    async search(scope, question, limit) {
      const terms = termsOf(question);
      if (terms.length === 0) return [];
      const counts = await count(scope, terms);
      const candidates = candidatesOf(terms, counts);
      if (candidates === null) return [];
      const ranked = (among: string) => {
        const values = [scope.orgId, scope.agentId, among, terms.join(' | '), MAX_RANKED, limit];
        return sql.query<PassageKey>(RANKED, values);
      };
      const found = await ranked(candidates);
      if (found.length > 0) return found;
      // No passage has all the common words: any passage with the rarest is as good as another.
      const least = Math.min(...counts.filter((passages) => passages > 0));
      return await ranked(terms[counts.indexOf(least)] ?? candidates);
    },
  };
}

/** For each agent, the words that are in too many passages for ranking. Counting them is the most expensive part, and questions repeat them. */
function createMemory(): (scope: PassageScope) => Set<string> {
  const shelves = new LRUCache<string, { version: string; words: Set<string> }>({ max: MAX_SHELVES });
  return ({ agentId, version }) => {
    const known = shelves.get(agentId);
    if (known?.version === version) return known.words;
    const words = new Set<string>();
    shelves.set(agentId, { version, words });
    return words;
  };
}
