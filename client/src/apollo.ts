import { PAGED_FIELDS, VALUE_TYPES } from './operations.generated.js';

interface Page {
  nodes?: readonly unknown[];
}

/** Merges the pages of one list. A list that is requested from its beginning replaces the cached one. */
const paged = (keyArgs: readonly string[]) => ({
  // Pages that are read backwards are separate lists.
  keyArgs: [...keyArgs, 'before', 'last'],
  merge(known: Page | undefined, next: Page, { args }: { args: Record<string, unknown> | null }): Page {
    if (args?.['after'] == null || known?.nodes === undefined || next.nodes === undefined) return next;
    return { ...next, nodes: [...known.nodes, ...next.nodes] };
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
