import { graphql } from './graphql.js';
import { useRights } from './hooks.js';
import { useWholeList } from './pages.js';

const KEYS = graphql(`
  query FilterKeys($after: String) {
    apiKeys(first: 100, after: $after) {
      nodes {
        id
        name
      }
      nextCursor
    }
  }
`);

/** The organisation's keys; an empty list for people who may not see them. */
export function useKeyNames(): readonly { id: string; name: string }[] {
  const { canManage } = useRights();
  const { items } = useWholeList({
    operation: KEYS,
    variables: {},
    page: ({ apiKeys }) => apiKeys,
    isPaused: !canManage,
  });
  return items ?? [];
}
