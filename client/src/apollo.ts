import { PAGED_FIELDS, VALUE_TYPES } from './operations.generated.js';

interface Page {
  nodes?: readonly unknown[];
}

/** Pages of one list come together; a list that is asked for from its beginning is read anew. */
const paged = (keyArgs: readonly string[]) => ({
  keyArgs: [...keyArgs],
  merge(known: Page | undefined, next: Page, { args }: { args: Record<string, unknown> | null }): Page {
    if (args?.['after'] == null || known?.nodes === undefined || next.nodes === undefined) return next;
    return { ...next, nodes: [...known.nodes, ...next.nodes] };
  },
});

/**
 * For Apollo Client: `new InMemoryCache({ typePolicies })`. Objects with an id are kept once, so that a live job changes wherever it is shown;
 * lists in pages grow by `fetchMore({ variables: { after } })`.
 */
export const typePolicies = {
  ...Object.fromEntries(VALUE_TYPES.map((name) => [name, { keyFields: false as const }])),
  Query: {
    fields: Object.fromEntries(Object.entries(PAGED_FIELDS).map(([name, args]) => [name, paged(args)])),
  },
};
