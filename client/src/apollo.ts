import { PAGED_FIELDS, VALUE_TYPES } from './operations.generated.js';

/** An entry of a page's list: a reference to an object of the cache, an edge, or an object without an id. */
interface Item {
  __ref?: string;
  cursor?: string;
  node?: Item;
}

interface Page {
  nodes?: readonly Item[];
  edges?: readonly Item[];
}

const nameOf = ({ __ref, node, cursor }: Item): string | undefined => __ref ?? node?.__ref ?? cursor;

/** Adds the items of the next page that are not in the list yet: an app may request the same page twice. */
function joined(known: readonly Item[] = [], next: readonly Item[]): readonly Item[] {
  const names = new Set(known.map(nameOf));
  const isNew = (item: Item) => nameOf(item) === undefined || !names.has(nameOf(item));
  return [...known, ...next.filter(isNew)];
}

/**
 * Merges the pages of one list. A list that is requested from its beginning replaces the cached one. `nodes` and `edges` are separate lists, because
 * one query may request the one and another query the other.
 */
const paged = (keyArgs: readonly string[]) => ({
  // Pages that are read backwards are separate lists.
  keyArgs: [...keyArgs, 'before', 'last'],
  merge(
    known: Page | null | undefined,
    next: Page | null,
    { args }: { args: Record<string, unknown> | null },
  ): Page | null {
    if (known == null || next === null) return next;
    if (args?.['after'] == null) return { ...known, ...next };
    return {
      ...known,
      ...next,
      ...(next.nodes && { nodes: joined(known.nodes, next.nodes) }),
      ...(next.edges && { edges: joined(known.edges, next.edges) }),
    };
  },
});

/**
 * Cache policies for Apollo Client: `new InMemoryCache({ typePolicies })`. An object with an id is stored once, so that a live job changes wherever
 * it is shown. Paged lists grow with `fetchMore({ variables: { after } })`.
 */
export const typePolicies = {
  ...Object.fromEntries(VALUE_TYPES.map((name) => [name, { keyFields: false as const }])),
  Query: {
    fields: Object.fromEntries(Object.entries(PAGED_FIELDS).map(([name, args]) => [name, paged(args)])),
  },
};
