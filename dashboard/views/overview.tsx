import { useEffect, type ReactNode } from 'react';
import { usePlace, useQuery } from '../data/hooks.js';
import { useJobs } from '../data/jobs.js';
import { QUOTA, type Bucket, type Plan } from '../data/quota.js';
import { href } from '../route.js';
import { Badge, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { Time, asWords, inDigits } from '../ui/format.js';
import { JobTable } from '../ui/job-table.js';
import { Meter } from '../ui/meter.js';
import { PageFrame } from '../ui/page.js';

const UNLIMITED = -1;
const RECENT = 8;
const REFRESH_MS = 30_000;

/** What is left, and what is going on. */
export function OverviewView(): ReactNode {
  const { organization } = usePlace();
  const { data, fault, isLoading, reload } = useQuery(QUOTA, {});
  const jobs = useJobs({ first: RECENT });
  const recent = { ...jobs, items: jobs.items?.slice(0, RECENT), hasMore: false };
  const finished = jobs.items?.filter(({ completedAt }) => completedAt !== null).length;
  // A job that ends is charged: the bars follow.
  useEffect(() => {
    if (finished !== undefined) reload();
  }, [finished, reload]);
  // Chats and other people's calls tell nobody.
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <PageFrame title="Overview" note={organization.name}>
      {data && <PlanLine plan={data.quota.plan} />}
      <FaultNotice fault={fault} retry={reload} />
      {data === undefined && isLoading && <Loading rows={4} />}
      {data && (
        <ul className="buckets" aria-label="Quota in this period">
          {data.quota.quotas.map((bucket) => (
            <BucketCard key={bucket.bucket} bucket={bucket} />
          ))}
        </ul>
      )}
      <Card title="Recent jobs" note="Live" actions={<a href={href('jobs')}>All jobs</a>}>
        <JobTable pages={recent} empty={<NoJobs />} />
      </Card>
    </PageFrame>
  );
}

function NoJobs(): ReactNode {
  return (
    <Empty title="No jobs yet">
      Pictures, films, music, speech and transcripts appear here while they are made. Try the{' '}
      <a href={href('playground')}>playground</a>.
    </Empty>
  );
}

function PlanLine({ plan }: { plan: Plan }): ReactNode {
  return (
    <p className="plan-line">
      <strong>{plan.name}</strong>
      {plan.entitled ? (
        <Badge tone="good">active</Badge>
      ) : (
        <Badge tone="bad">ended – the Free limits hold</Badge>
      )}
      <span className="muted">
        Counters reset <Time iso={plan.periodEnd} />
      </span>
    </p>
  );
}

function BucketCard({
  bucket: { bucket, remaining, limit, used, usagePercent },
}: {
  bucket: Bucket;
}): ReactNode {
  const name = asWords(bucket);
  const isUnlimited = limit === UNLIMITED;
  // What work under way may still take. The chat tokens are the credits once more, and what both have left is one.
  const reserved = isUnlimited || bucket === 'chat_tokens' ? 0 : Math.max(0, limit - used - remaining);
  if (limit === 0)
    return (
      <li className="bucket is-off">
        <h2>{name}</h2>
        <p className="muted">Not in this plan</p>
      </li>
    );
  return (
    <li className="bucket">
      <h2>{name}</h2>
      <p className="bucket-left">
        <strong>{isUnlimited ? 'Unlimited' : inDigits(remaining)}</strong>
        {!isUnlimited && <span className="muted"> left</span>}
      </p>
      {!isUnlimited && <Meter label={`${name} used`} percent={usagePercent} />}
      <p className="bucket-used">
        <span>
          {inDigits(used)}
          {isUnlimited ? ' used' : ` of ${inDigits(limit)}`}
          {reserved > 0 && `, ${inDigits(reserved)} reserved`}
        </span>
        {!isUnlimited && <span>{inDigits(Math.round(usagePercent * 10) / 10)} %</span>}
      </p>
    </li>
  );
}
