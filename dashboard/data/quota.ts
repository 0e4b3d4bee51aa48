import { graphql, type ResultOf } from './graphql.js';

/** Plan and buckets of the organisation. */
export const QUOTA = graphql(`
  query Quota {
    quota {
      plan {
        code
        name
        kind
        entitled
        periodEnd
      }
      quotas {
        bucket
        remaining
        limit
        used
        usagePercent
      }
    }
  }
`);

/** A bucket and what is left of it. */
export type Bucket = ResultOf<typeof QUOTA>['quota']['quotas'][number];
/** The plan that holds. */
export type Plan = ResultOf<typeof QUOTA>['quota']['plan'];
