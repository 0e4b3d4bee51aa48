import { graphql, type ResultOf } from './graphql.js';

/** Reads the quota, and everything that may need a person's attention. The quota's later changes come over the socket. */
export const ATTENTION = graphql(`
  query Attention($since: DateTime!) {
    quota {
      plan {
        name
        entitled
        periodEnd
      }
      quotas {
        bucket
        used
        reserved
        limit
        remaining
        usagePercent
      }
    }
    budgets(first: null) {
      nodes {
        id
        name
        subject
        limit
        spent
        reserved
        hard
      }
    }
    webhooks(first: null) {
      nodes {
        id
        name
        enabled
        consecutiveFailures
        disabledReason
      }
    }
    jobs(first: 1, filter: { statuses: [failed], since: $since }) {
      totalCount
      nodes {
        id
        errorMessage
      }
    }
  }
`);

/** A limit is reported when at least this share of it is used. */
const NEAR = 0.8;

/** Something that needs a person's attention, and the view that deals with it. */
export interface Matter {
  id: string;
  tone: 'bad' | 'warn';
  text: string;
  href: string;
}

type Answer = ResultOf<typeof ATTENTION>;

/** The budgets that are nearly or wholly used up. */
export const budgetMatters = ({ nodes }: Answer['budgets']): Matter[] =>
  nodes.flatMap<Matter>(({ id, name, subject, limit, spent, reserved, hard }) => {
    // A budget for `*` counts each subject separately, so its sum has no meaning.
    if (subject === '*') return [];
    const share = (Number(spent) + Number(reserved)) / Number(limit);
    if (!(share >= NEAR)) return [];
    const isOver = share >= 1;
    const effect = hard ? 'calls are refused' : 'it only counts';
    const text = isOver
      ? `Budget ${name} is used up: ${effect}`
      : `Budget ${name} is ${Math.floor(share * 100)} % used`;
    return [{ id, tone: isOver && hard ? 'bad' : 'warn', text, href: '#/settings/budgets' }];
  });

/** Webhooks whose last deliveries failed. */
export const webhookMatters = ({ nodes }: Answer['webhooks']): Matter[] =>
  nodes.flatMap<Matter>(({ id, name, enabled, consecutiveFailures, disabledReason }) => {
    const href = `#/webhooks/${id}`;
    if (!enabled && disabledReason !== null)
      return [{ id, tone: 'bad', text: `Webhook ${name} was disabled: ${disabledReason}`, href }];
    if (!enabled || consecutiveFailures === 0) return [];
    const times = consecutiveFailures === 1 ? 'delivery' : `${consecutiveFailures} deliveries in a row`;
    return [{ id, tone: 'warn', text: `Webhook ${name}: the last ${times} failed`, href }];
  });

/** The jobs that failed since the given time. */
export function jobMatters({ totalCount, nodes }: Answer['jobs'], from: string): Matter[] {
  const [latest] = nodes;
  if (totalCount === 0 || latest === undefined) return [];
  const reason = latest.errorMessage === null ? '' : `: ${latest.errorMessage}`;
  const text =
    totalCount === 1
      ? `A job failed in the last day${reason}`
      : `${totalCount} jobs failed in the last day, the latest${reason}`;
  const href = totalCount === 1 ? `#/jobs/${latest.id}` : `#/jobs?status=failed&from=${from}`;
  return [{ id: 'jobs', tone: 'warn', text, href }];
}

/** The buckets that are nearly or wholly used up. `chat_tokens` is left out because it is the credits in another unit. */
export const quotaMatters = (
  quotas: readonly { bucket: string; limit: number; usagePercent: number }[],
  nameOf: (bucket: string) => string,
): Matter[] =>
  quotas.flatMap<Matter>(({ bucket, limit, usagePercent }) => {
    if (limit <= 0 || usagePercent < NEAR * 100 || bucket === 'chat_tokens') return [];
    const isOver = usagePercent >= 100;
    const text = isOver
      ? `${nameOf(bucket)}: the plan’s amount is used up`
      : `${nameOf(bucket)}: ${Math.floor(usagePercent)} % of the plan’s amount is used`;
    return [{ id: bucket, tone: isOver ? 'bad' : 'warn', text, href: '#/settings/plan' }];
  });
