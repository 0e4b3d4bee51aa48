import type { ReactNode } from 'react';
import { useRights } from '../data/hooks.js';
import { isUnfinished, useCancelJob, useJob, type Job } from '../data/job.js';
import { href } from '../route.js';
import { Card, FaultNotice, Loading, Notice } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { Time, asWords, inDigits } from '../ui/format.js';
import { JobState, jobDuration } from '../ui/job-table.js';
import { Json, OutputPreview } from '../ui/media.js';
import { PageFrame } from '../ui/page.js';

/** One job: what it makes, from what, and where it stands. */
export function JobView({ id }: { id: string }): ReactNode {
  const { canWork } = useRights();
  const { job, fault, lost, isLoading, reload } = useJob(id);
  const cancel = useCancelJob();
  return (
    <PageFrame
      title={job === undefined ? 'Job' : asWords(job.tool)}
      note={<span className="code">{id}</span>}
      back={{ href: href('jobs'), label: 'Jobs' }}
      actions={
        canWork &&
        job &&
        isUnfinished(job) && (
          <ConfirmButton
            kind="plain"
            label="Cancel job"
            question="Cancel this job?"
            work={() => cancel(id).then(reload)}
          >
            Nothing is charged for it.
          </ConfirmButton>
        )
      }
    >
      <FaultNotice fault={fault ?? lost} retry={reload} />
      {job === undefined && isLoading && <Loading rows={5} />}
      {job && <JobBody job={job} />}
    </PageFrame>
  );
}

function JobBody({ job }: { job: Job }): ReactNode {
  const { errorMessage, outputData, inputParams, tool } = job;
  return (
    <>
      <Card title="State">
        <Facts job={job} />
        {errorMessage !== null && <Notice kind="fault">{errorMessage}</Notice>}
      </Card>
      {outputData !== null && (
        <Card title="Output">
          <OutputPreview output={outputData} label={asWords(tool)} />
          <details>
            <summary>All data</summary>
            <Json value={outputData} />
          </details>
        </Card>
      )}
      <Card title="Input">
        <Json value={inputParams} />
      </Card>
    </>
  );
}

function Facts({ job }: { job: Job }): ReactNode {
  const { model, modelTier, createdAt, actualCredits, estimatedCredits } = job;
  return (
    <dl className="facts">
      <dt>State</dt>
      <dd>
        <JobState job={job} />
      </dd>
      <dt>Model</dt>
      <dd>
        <span className="code">{model}</span> <span className="muted">{modelTier}</span>
      </dd>
      <dt>Credits</dt>
      <dd>
        {actualCredits === null ? `about ${inDigits(estimatedCredits)}, once done` : inDigits(actualCredits)}
      </dd>
      <dt>Made</dt>
      <dd>
        <Time iso={createdAt} />
      </dd>
      <dt>Took</dt>
      <dd>{jobDuration(job)}</dd>
    </dl>
  );
}
