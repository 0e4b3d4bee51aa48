import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { filesIn } from '../data/files.js';
import { useRights } from '../data/hooks.js';
import { isUnfinished, useCancelJob, useJob, type Job } from '../data/job.js';
import { href } from '../route.js';
import { Card, FaultNotice, Loading, Notice } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { asAmounts, chargeOf } from '../ui/charge.js';
import { Time, asDuration, asWords } from '../ui/format.js';
import { JobState } from '../ui/job-state.js';
import { Json, OutputPreview } from '../ui/media.js';
import { PageFrame } from '../ui/page.js';
import { RunAgain } from './job-again.js';

/** One job: its output, its input and its state. */
export function JobView(): ReactNode {
  const { id } = useParams({ from: '/jobs/$id' });
  const { canWork } = useRights();
  const { job, fault, lost, isLoading, reload } = useJob(id);
  return (
    <PageFrame
      title={job === undefined ? 'Job' : asWords(job.tool)}
      note={<span className="code">{id}</span>}
      back={{ href: href('jobs'), label: 'Jobs' }}
      actions={canWork && job && <JobActions job={job} />}
    >
      <FaultNotice fault={fault ?? lost} retry={reload} />
      {job === undefined && isLoading && <Loading rows={5} />}
      {job && <JobBody job={job} />}
    </PageFrame>
  );
}

function JobActions({ job }: { job: Job }): ReactNode {
  const cancel = useCancelJob();
  if (!isUnfinished(job)) return <RunAgain job={job} />;
  return (
    <ConfirmButton kind="plain" label="Cancel job" question="Cancel this job?" work={() => cancel(job.id)}>
      Nothing is charged for it.
    </ConfirmButton>
  );
}

function JobBody({ job }: { job: Job }): ReactNode {
  const { errorMessage, outputData, inputParams, tool } = job;
  const files = filesIn(outputData);
  return (
    <>
      {errorMessage !== null && (
        <Notice kind="fault">
          <span>
            <strong>Failed:</strong> {errorMessage}
            {job.usage?.errorCode && <span className="code"> ({job.usage.errorCode})</span>}
          </span>
        </Notice>
      )}
      {outputData !== null && (
        <Card
          title="Output"
          actions={files.map((file, at) => (
            <a key={file.href} className="button button-quiet" href={file.href} download>
              Download{files.length > 1 ? ` ${at + 1}` : ''}
            </a>
          ))}
        >
          <OutputPreview output={outputData} label={asWords(tool)} />
          <details>
            <summary>All data</summary>
            <Json value={outputData} />
          </details>
        </Card>
      )}
      <div className="halves">
        <Card title="Timeline">
          <Timeline job={job} />
        </Card>
        <Card title="Details">
          <Facts job={job} />
        </Card>
      </div>
      <Card title="Input">
        <Json value={inputParams} />
      </Card>
    </>
  );
}

const ENDS: Record<Job['status'], string> = {
  pending: 'Done',
  processing: 'Done',
  completed: 'Done',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

/** The stages of a job from its creation to its end, with the duration of each. */
function Timeline({ job }: { job: Job }): ReactNode {
  const { createdAt, startedAt, completedAt, status } = job;
  const steps = [
    { name: 'Queued', at: createdAt },
    { name: 'Started', at: startedAt },
    { name: ENDS[status], at: completedAt },
  ];
  const between = (from: string | null | undefined, to: string | null): string | null =>
    from == null || to === null ? null : asDuration(Date.parse(to) - Date.parse(from));
  return (
    <ol className="timeline" aria-live="polite">
      {steps.map(({ name, at }, index) => (
        <li key={name} className={at === null ? 'is-ahead' : undefined}>
          <strong>{name}</strong>
          <span className="muted">
            {at === null ? '–' : <Time iso={at} />}
            {index > 0 &&
              between(steps[index - 1]?.at, at) !== null &&
              ` · after ${between(steps[index - 1]?.at, at)}`}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Facts({ job }: { job: Job }): ReactNode {
  const { modelId, modelTier, usage, key } = job;
  return (
    <dl className="facts">
      <dt>State</dt>
      <dd>
        <JobState job={job} />
      </dd>
      <dt>Model</dt>
      <dd>
        <span className="code">{modelId}</span> <span className="muted">{modelTier}</span>
      </dd>
      <dt>{isUnfinished(job) ? 'Reserved' : 'Charged'}</dt>
      <dd>{isUnfinished(job) ? (asAmounts(usage?.amounts ?? []) ?? '–') : chargeOf(job, usage?.amounts)}</dd>
      <dt>Cost</dt>
      <dd>{usage?.costUsd == null ? 'unknown' : `$${usage.costUsd}`}</dd>
      {usage?.requestId != null && (
        <>
          <dt>Request</dt>
          <dd className="code">{usage.requestId}</dd>
        </>
      )}
      {usage?.endUser != null && (
        <>
          <dt>End user</dt>
          <dd>{usage.endUser}</dd>
        </>
      )}
      <dt>Made by</dt>
      <dd>{key === null ? 'a person, in the dashboard' : `key ${key.name}`}</dd>
    </dl>
  );
}
