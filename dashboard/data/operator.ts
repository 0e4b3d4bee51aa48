import { graphql, type ResultOf } from './graphql.js';

const ORGANIZATION = graphql(`
  fragment OperatedRow on OperatedOrganization {
    id
    name
    planCode
    entitled
    createdAt
    periodEnd
    members
    keys
    quotas {
      bucket
      limit
      used
      reserved
      remaining
      usagePercent
    }
    usage {
      requests
      errors
      costUsd
      unpriced
    }
  }
`);

export const ORGANIZATIONS = graphql(
  `
    query OperatedOrganizations($search: String, $planCode: PlanCode, $first: Int, $after: String) {
      operatedOrganizations(search: $search, planCode: $planCode, first: $first, after: $after) {
        nodes {
          ...OperatedRow
        }
        nextCursor
      }
    }
  `,
  [ORGANIZATION],
);

export const ONE_ORGANIZATION = graphql(
  `
    query OperatedOrganization($id: ID!) {
      operatedOrganization(id: $id) {
        ...OperatedRow
      }
    }
  `,
  [ORGANIZATION],
);

export const OPERATED_KEYS = graphql(`
  query OperatedApiKeys($id: ID!, $after: String) {
    operatedApiKeys(organizationId: $id, first: 100, after: $after) {
      nodes {
        id
        name
        prefix
        scopes
        createdBy
        createdAt
        lastUsedAt
        expiresAt
        revokedAt
      }
      nextCursor
    }
  }
`);

export const CHANGE_PLAN = graphql(`
  mutation ChangeOperatedPlan($organizationId: ID!, $planCode: PlanCode!) {
    changeOperatedPlan(organizationId: $organizationId, planCode: $planCode) {
      id
      planCode
    }
  }
`);

export const TOP_UP = graphql(`
  mutation TopUpOperatedQuota($organizationId: ID!, $bucket: BucketName!, $amount: Float!) {
    topUpOperatedQuota(organizationId: $organizationId, bucket: $bucket, amount: $amount) {
      id
    }
  }
`);

export const REVOKE_OPERATED_KEY = graphql(`
  mutation RevokeOperatedApiKey($organizationId: ID!, $id: ID!) {
    revokeOperatedApiKey(organizationId: $organizationId, id: $id) {
      id
      revokedAt
    }
  }
`);

export const PROVIDERS = graphql(`
  query OperatedProviders {
    operatedProviders {
      id
      kind
      models
      ok
      detail
      checkedAt
      lastHour {
        requests
        errors
        p50Ms
        p95Ms
      }
    }
  }
`);

export const QUEUES = graphql(`
  query OperatedQueues {
    operatedQueues {
      queue
      part
      status
      count
      oldestSeconds
    }
  }
`);

export const LETTERS = graphql(`
  query OperatedDeadLetters {
    operatedDeadLetters {
      id
      topic
      key
      group
      error
      event
      createdAt
    }
  }
`);

export const REPLAY = graphql(`
  mutation ReplayOperatedDeadLetters($id: ID) {
    replayOperatedDeadLetters(id: $id) {
      replayed
      deadLetters {
        id
      }
    }
  }
`);

export const OPERATED_USAGE = graphql(`
  query OperatedUsage($since: DateTime, $groupBy: [OperatedUsageDimension!]) {
    operatedUsage(since: $since, groupBy: $groupBy) {
      organizationId
      organizationName
      model
      provider
      requests
      errors
      costUsd
      unpriced
      tokens {
        input
        output
      }
    }
  }
`);

/** An organisation with the fields that operators see. */
export type OperatedOrganization = ResultOf<typeof ONE_ORGANIZATION>['operatedOrganization'];
/** One key of an organisation. */
export type OperatedKey = ResultOf<typeof OPERATED_KEYS>['operatedApiKeys']['nodes'][number];
/** The code of a plan. */
export type PlanCode = OperatedOrganization['planCode'];
/** The name of a bucket. */
export type BucketName = OperatedOrganization['quotas'][number]['bucket'];

export const PLANS: readonly { value: PlanCode; label: string }[] = [
  { value: 'free', label: 'Free' },
  { value: 'pro_monthly', label: 'Pro Monthly' },
  { value: 'business_monthly', label: 'Business Monthly' },
  { value: 'cli_pro', label: 'CLI Pro' },
  { value: 'cli_team', label: 'CLI Team' },
];

/** The name of a plan, as people read it. */
export const planLabel = (code: string): string => PLANS.find(({ value }) => value === code)?.label ?? code;
