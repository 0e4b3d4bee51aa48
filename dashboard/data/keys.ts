import { graphql, type ResultOf } from './graphql.js';
import { KEY_SCOPES } from './words.generated.js';

export const KEYS = graphql(`
  query ApiKeys($after: String) {
    apiKeys(first: 100, after: $after) {
      nodes {
        id
        name
        prefix
        scopes
        expiresAt
        revokedAt
        lastUsedAt
        createdAt
        createdBy
        models
        rate {
          rpm
          burst
        }
        endUser
        tags
        spend
      }
      nextCursor
    }
  }
`);

export const KEY_BUDGETS = graphql(`
  query KeyBudgets {
    budgets(first: null) {
      nodes {
        id
        name
        scope
        subject
        unit
        limit
        spent
        period
        hard
      }
    }
  }
`);

export const CREATE_KEY = graphql(`
  mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) {
      key
      apiKey {
        id
        name
      }
    }
  }
`);

export const CREATE_KEY_BUDGET = graphql(`
  mutation CreateKeyBudget($input: CreateBudgetInput!) {
    createBudget(input: $input) {
      id
    }
  }
`);

export const UPDATE_KEY = graphql(`
  mutation UpdateApiKey($id: ID!, $input: UpdateApiKeyInput!) {
    updateApiKey(id: $id, input: $input) {
      id
    }
  }
`);

export const ROTATE_KEY = graphql(`
  mutation RotateApiKey($id: ID!, $overlapSeconds: Int!) {
    rotateApiKey(id: $id, overlapSeconds: $overlapSeconds) {
      key
    }
  }
`);

export const REVOKE_KEY = graphql(`
  mutation RevokeApiKey($id: ID!) {
    revokeApiKey(id: $id) {
      success
    }
  }
`);

/** A key. The text of the key is not among the fields. */
export type ApiKey = ResultOf<typeof KEYS>['apiKeys']['nodes'][number];
/** A budget whose scope may be a key. */
export type KeyBudget = ResultOf<typeof KEY_BUDGETS>['budgets']['nodes'][number];
export type Scope = ApiKey['scopes'][number];

/** No call needs the scopes `image_edit` and `jobs`, so they are not offered. */
export const SCOPES: readonly { value: Scope; label: string; note: string }[] = KEY_SCOPES.filter(
  ({ value }) => value !== 'image_edit' && value !== 'jobs',
).map(({ value, note }) => ({ value, label: value, note }));

/** Whether the key has neither expired nor been revoked. */
export const isActive = ({ expiresAt, revokedAt }: ApiKey): boolean =>
  revokedAt === null && (expiresAt === null || new Date(expiresAt) > new Date());
