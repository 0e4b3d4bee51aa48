import { PAGED_FIELDS, VALUE_TYPES } from './operations.generated.js';

/** As much of Graphcache's cache as pages need. */
interface Cache {
  inspectFields(
    entity: unknown,
  ): readonly { fieldName: string; arguments: Record<string, unknown> | null; fieldKey: string }[];
  resolve(entity: unknown, field: string): unknown;
}

interface Info {
  parentKey: string;
  fieldName: string;
}

const OF_PAGE = new Set(['first', 'after', 'last', 'before']);

/** Which list it is, whatever page of it. */
const listOf = (given: Record<string, unknown> | null): string =>
  JSON.stringify(
    Object.entries(given ?? {})
      .filter(([name, value]) => !OF_PAGE.has(name) && value != null)
      .toSorted(),
  );

/** What Graphcache gives a resolver. */
type ResolverArguments = [parent: unknown, given: Record<string, unknown>, cache: Cache, info: Info];

/** All pages of a list that were read, as one. */
function pages(...[, given, cache, { parentKey, fieldName }]: ResolverArguments): unknown {
  const wanted = listOf(given);
  const read = cache
    .inspectFields(parentKey)
    .filter((field) => field.fieldName === fieldName && listOf(field.arguments) === wanted);
  const byStart = new Map<unknown, (typeof read)[number]>(
    read.map((field) => [field.arguments?.['after'] ?? null, field]),
  );
  const found: unknown[] = [];
  for (let after: unknown = null; byStart.has(after);) {
    const page = cache.resolve(parentKey, byStart.get(after)?.fieldKey ?? '');
    byStart.delete(after);
    found.push(page);
    after = cache.resolve(page, 'nextCursor') ?? undefined;
  }
  const last = found.at(-1);
  if (last == null) return last;
  const all = (name: string) => found.flatMap((page) => (cache.resolve(page, name) ?? []) as unknown[]);
  const of = (name: string) => cache.resolve(last, name);
  return {
    __typename: of('__typename'),
    nodes: all('nodes'),
    edges: all('edges'),
    pageInfo: of('pageInfo'),
    nextCursor: of('nextCursor'),
  };
}

/**
 * For urql's normalised cache: `cacheExchange(cacheConfig)` of `@urql/exchange-graphcache`. Objects with an id are kept once, so that a live job
 * changes wherever it is shown; the pages of a list that were read are answered as one.
 */
export const cacheConfig = {
  keys: Object.fromEntries(VALUE_TYPES.map((name) => [name, () => null])),
  resolvers: { Query: Object.fromEntries(Object.keys(PAGED_FIELDS).map((name) => [name, pages])) },
};
