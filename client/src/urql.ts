import { PAGED_FIELDS, VALUE_TYPES } from './operations.generated.js';

/** The part of Graphcache's cache that the resolvers use. */
interface Cache {
  inspectFields(
    entity: unknown,
  ): readonly { fieldName: string; arguments: Record<string, unknown> | null; fieldKey: string }[];
  resolve(entity: unknown, field: string): Data;
}

interface Info {
  parentKey: string;
  fieldName: string;
}

/** The arguments that select a page. Pages that are read backwards are separate lists. */
const OF_PAGE = new Set(['first', 'after']);

/** Sorts the fields of an object, so that the same fields always give the same text. Graphcache sorts the arguments that it stores, too. */
const inOrder = (_name: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(
        Object.entries(value)
          .filter(([, one]) => one != null)
          .toSorted(([one], [other]) => (one < other ? -1 : 1)),
      )
    : value;

/** A text that identifies the list, the same for all of its pages. */
const listOf = (given: Record<string, unknown> | null): string =>
  JSON.stringify(
    Object.fromEntries(Object.entries(given ?? {}).filter(([name]) => !OF_PAGE.has(name))),
    inOrder,
  );

/** The arguments that Graphcache passes to a resolver. */
type ResolverArguments = [parent: unknown, given: Record<string, unknown>, cache: Cache, info: Info];

/** A value of the cache that a resolver may return. */
type Data = string | number | boolean | null | undefined | Data[] | { [name: string]: Data };

/** Combines all pages of a list that were read. It returns undefined, so that urql asks the server, if the requested page is not one of them. */
function pages(...[, given, cache, { parentKey, fieldName }]: ResolverArguments): Data {
  const wanted = listOf(given);
  const read = cache
    .inspectFields(parentKey)
    .filter((field) => field.fieldName === fieldName && listOf(field.arguments) === wanted);
  const isRead = read.some((field) => (field.arguments?.['after'] ?? null) === (given['after'] ?? null));
  if (!isRead) return undefined;
  const byStart = new Map<unknown, (typeof read)[number]>(
    read.map((field) => [field.arguments?.['after'] ?? null, field]),
  );
  const found: Data[] = [];
  for (let after: unknown = null; byStart.has(after);) {
    const page = cache.resolve(parentKey, byStart.get(after)?.fieldKey ?? '');
    byStart.delete(after);
    found.push(page);
    after = cache.resolve(page, 'nextCursor') ?? undefined;
  }
  const last = found.at(-1);
  if (last == null) return last;
  const all = (name: string) => found.flatMap((page) => (cache.resolve(page, name) ?? []) as Data[]);
  const of = (name: string) => cache.resolve(last, name);
  return {
    __typename: of('__typename'),
    nodes: all('nodes'),
    edges: all('edges'),
    pageInfo: of('pageInfo'),
    nextCursor: of('nextCursor'),
    totalCount: of('totalCount'),
  };
}

/**
 * Configuration for urql's normalised cache: `cacheExchange(cacheConfig)` of `@urql/exchange-graphcache`. An object with an id is stored once, so
 * that a live job changes wherever it is shown. The pages of a list that were read are returned as one list.
 */
export const cacheConfig = {
  keys: Object.fromEntries(VALUE_TYPES.map((name) => [name, () => null])),
  resolvers: { Query: Object.fromEntries(Object.keys(PAGED_FIELDS).map((name) => [name, pages])) },
};
