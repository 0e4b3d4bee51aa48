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

type Field = ReturnType<Cache['inspectFields']>[number];

const startOf = (given: Record<string, unknown> | null): unknown => given?.['after'] ?? null;
const sizeOf = (given: Record<string, unknown> | null): unknown => given?.['first'] ?? null;

/** The cursor at which the page after this one starts; undefined if there is none, or if no query has requested it. */
function nextOf(cache: Cache, page: Data): Data {
  const next = cache.resolve(page, 'nextCursor');
  if (next !== undefined) return next ?? undefined;
  const info = cache.resolve(page, 'pageInfo');
  return cache.resolve(info, 'hasNextPage') === true ? cache.resolve(info, 'endCursor') : undefined;
}

interface Chain {
  /** Where the first page starts. */
  start: unknown;
  /** The pages that start at a cursor, the preferred one first. */
  pagesAt(start: unknown): Data[];
}

/** The pages that have this field, one after the other. */
function chainOf(cache: Cache, name: string, { start, pagesAt }: Chain): Data[] {
  const found: Data[] = [];
  const passed = new Set<unknown>();
  for (let at = start; at !== undefined && !passed.has(at);) {
    passed.add(at);
    const page = pagesAt(at).find((one) => cache.resolve(one, name) !== undefined);
    if (page === undefined) break;
    found.push(page);
    at = nextOf(cache, page);
  }
  return found;
}

/**
 * Combines all pages of a list that were read. It returns undefined, so that urql asks the server, if the requested page is not one of them. A field
 * that no page has is undefined, too: another query may have requested `nodes`, and this one requests `edges`.
 */
function pages(...[, given, cache, { parentKey, fieldName }]: ResolverArguments): Data {
  const wanted = listOf(given);
  const isOfSize = (field: Field) => sizeOf(field.arguments) === sizeOf(given);
  const read = cache
    .inspectFields(parentKey)
    .filter((field) => field.fieldName === fieldName && listOf(field.arguments) === wanted)
    .toSorted((one, other) => Number(isOfSize(other)) - Number(isOfSize(one)));
  const requested = read.find((field) => isOfSize(field) && startOf(field.arguments) === startOf(given));
  if (requested === undefined) return undefined;
  const page = cache.resolve(parentKey, requested.fieldKey);
  if (page == null) return page;
  const pagesAt = (start: unknown) =>
    read
      .filter((field) => startOf(field.arguments) === start)
      .map(({ fieldKey }) => cache.resolve(parentKey, fieldKey));
  const start = pagesAt(null).length > 0 ? null : startOf(given);
  const chain = (name: string) => chainOf(cache, name, { start, pagesAt });
  const all = (name: string) => {
    const found = chain(name);
    return found.length === 0 ? undefined : found.flatMap((one) => cache.resolve(one, name) as Data[]);
  };
  const ofLast = (name: string) => cache.resolve(chain(name).at(-1) ?? null, name);
  return {
    __typename: cache.resolve(page, '__typename'),
    nodes: all('nodes'),
    edges: all('edges'),
    pageInfo: ofLast('pageInfo'),
    nextCursor: ofLast('nextCursor'),
    totalCount: ofLast('totalCount'),
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
