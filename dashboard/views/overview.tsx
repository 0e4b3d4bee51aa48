import { Link } from '@tanstack/react-router';
import { useQuota } from '@penstock/client/react';
import { lazy, Suspense, useMemo, type ReactNode } from 'react';
import {
  ATTENTION,
  budgetMatters,
  jobMatters,
  quotaMatters,
  webhookMatters,
  type Matter,
} from '../data/attention.js';
import { barsOf, colouredOf } from '../data/bars.js';
import { toFault } from '../data/fault.js';
import { usePlace, useQuery, useRights } from '../data/hooks.js';
import { useJobs, type JobRow } from '../data/jobs.js';
import type { Pages } from '../data/pages.js';
import { part } from '../data/part.js';
import type { Bucket, Plan } from '../data/quota.js';
import { SUMMARY, sumsOf, timeZone, totalsOf } from '../data/usage.js';
import { rangeOf, startsIn } from '../data/usage-filter.js';
import { Badge, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { Time, asWords, inDigits, inDollars } from '../ui/format.js';
import { JobState, subjectOf } from '../ui/job-state.js';
import { PageFrame } from '../ui/page.js';
import { QuotaTiles } from '../ui/quota-tiles.js';
import { Thumbnail } from '../ui/thumbnail.js';
import { Bars } from './usage-bars.js';

const RECENT = 6;
const DAY_MS = 86_400_000;

/** Loaded only for organisations that have not made a call yet. */
const FirstCall = lazy(() =>
  part(() => import('./first-call.js'))().then(
    ({ FirstCall: view }) => ({ default: view }),
    () => ({ default: () => null }),
  ),
);

/** The overview: first what needs attention, then the quota, the usage, and the current work. */
export function OverviewView(): ReactNode {
  const { organization } = usePlace();
  const { canWork } = useRights();
  const { quota: told, error } = useQuota();
  const attention = useAttention();
  const quota = told ?? attention.data?.quota;
  const jobs = useJobs({ pageSize: RECENT });
  const usage = useUsage();
  const hasCalled = usage.rows === undefined || usage.rows.length > 0 || (jobs.items?.length ?? 1) > 0;
  return (
    <PageFrame
      title="Overview"
      note={quota === undefined ? organization.name : <PlanLine name={organization.name} plan={quota.plan} />}
    >
      <FaultNotice fault={error && toFault(error)} />
      <Attention {...attention} quotas={quota?.quotas ?? []} />
      {!hasCalled && canWork && (
        <Suspense>
          <FirstCall />
        </Suspense>
      )}
      {quota === undefined && error === undefined && <Loading rows={4} />}
      {quota && <QuotaTiles quotas={quota.quotas} />}
      <div className="overview-two">
        <Card title="Last 30 days" actions={<Link to="/usage">Usage</Link>}>
          <UsageOfMonth {...usage} />
        </Card>
        <RecentJobs jobs={jobs} />
      </div>
    </PageFrame>
  );
}

function RecentJobs({ jobs }: { jobs: Pages<JobRow> }): ReactNode {
  return (
    <Card title="Recent jobs" note="Live" actions={<Link to="/jobs">All jobs</Link>}>
      <FaultNotice fault={jobs.fault} retry={jobs.reload} />
      {jobs.items === undefined && jobs.isLoading && <Loading rows={4} />}
      {jobs.items?.length === 0 && (
        <Empty title="No jobs yet">
          Pictures, films, music, speech and transcripts appear here while they are made. Try the{' '}
          <Link to="/playground/{-$tab}">playground</Link>.
        </Empty>
      )}
      <ul className="recent" aria-live="polite" aria-relevant="additions">
        {jobs.items?.slice(0, RECENT).map((job) => (
          <li key={job.id}>
            <Thumbnail job={job} />
            <div>
              <Link to="/jobs/$id" params={{ id: job.id }}>
                {asWords(job.tool)}
              </Link>
              <span className="muted line">{job.errorMessage ?? subjectOf(job.inputParams)}</span>
            </div>
            <div className="recent-state">
              <JobState job={job} />
              <Time iso={job.createdAt} />
            </div>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** Reads with one request what does not wait for the socket. */
function useAttention() {
  const since = useMemo(() => new Date(Math.floor((Date.now() - DAY_MS) / 60_000) * 60_000), []);
  return { since, ...useQuery(ATTENTION, { since: since.toISOString() }) };
}

interface AttentionProps extends ReturnType<typeof useAttention> {
  quotas: readonly Bucket[];
}

/** Lists what needs attention. It shows nothing if the list is empty. */
function Attention({ quotas, since, data, fault, reload }: AttentionProps): ReactNode {
  const day = since.toLocaleDateString('sv');
  const matters: Matter[] = [
    ...quotaMatters(quotas, asWords),
    ...(data
      ? [...budgetMatters(data.budgets), ...webhookMatters(data.webhooks), ...jobMatters(data.jobs, day)]
      : []),
  ].toSorted((a, b) => Number(a.tone === 'warn') - Number(b.tone === 'warn'));
  if (matters.length === 0) return <FaultNotice fault={fault} retry={reload} />;
  return (
    <section className="attention" aria-label="Needs attention">
      <h2>Needs attention</h2>
      <ul>
        {matters.map(({ id, tone, text, href }) => (
          <li key={id} className={`matter matter-${tone}`}>
            <a href={href}>{text}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function useUsage() {
  const range = useMemo(() => rangeOf({}), []);
  const { data, fault, reload } = useQuery(SUMMARY, {
    ...range,
    interval: 'day',
    groupBy: ['model'],
    timeZone,
  });
  return { range, rows: data?.usageSummary, fault, reload };
}

function UsageOfMonth({ range, rows, fault, reload }: ReturnType<typeof useUsage>): ReactNode {
  if (rows === undefined) return fault ? <FaultNotice fault={fault} retry={reload} /> : <Loading rows={4} />;
  if (rows.length === 0)
    return <Empty title="Nothing used in this time">Calls are summed up here within a minute.</Empty>;
  const { requests, cost, errors } = sumsOf(rows);
  const names = colouredOf(totalsOf(rows, 'model', 'requests'));
  const shown = { by: 'model', measure: 'requests' } as const;
  return (
    <>
      <p className="sums">
        <span>
          <strong>{inDigits(requests)}</strong> {requests === 1 ? 'request' : 'requests'}
        </span>
        <span>
          <strong>{inDollars(cost)}</strong> cost
        </span>
        <span>
          <strong>{inDigits(errors)}</strong> {errors === 1 ? 'error' : 'errors'}
        </span>
      </p>
      <Bars
        bars={barsOf(rows, { starts: startsIn(range, 'day'), names, ...shown })}
        labels={names.map((name) => name ?? 'none')}
        interval="day"
        measure="requests"
      />
    </>
  );
}

function PlanLine({ name, plan }: { name: string; plan: Plan }): ReactNode {
  return (
    <span className="plan-line">
      {name} · <strong>{plan.name}</strong>
      {plan.entitled ? (
        <Badge tone="good">active</Badge>
      ) : (
        <Badge tone="bad">ended – the Free limits hold</Badge>
      )}
      <span>
        Counters reset <Time iso={plan.periodEnd} />
      </span>
    </span>
  );
}
