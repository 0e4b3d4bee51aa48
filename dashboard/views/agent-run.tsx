import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { usePlace, useRights } from '../data/hooks.js';
import { CANCEL_RUN, useRun, type Run } from '../data/runs.js';
import { conversationHref, href } from '../route.js';
import { Badge, Card, FaultNotice, Loading, Notice, type Tone } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { Time, asAmount, asDuration, inDigits } from '../ui/format.js';
import { MarkdownText } from '../ui/markdown.js';
import { PageFrame } from '../ui/page.js';
import { Waterfall } from './agent-waterfall.js';
import { RunAttachments } from './run-attachments.js';

const TONES: Record<Run['status'], Tone> = {
  running: 'busy',
  completed: 'good',
  failed: 'bad',
  cancelled: 'calm',
};

/** The state of a run. */
export function RunState({ status }: { status: Run['status'] }): ReactNode {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}

/** One run with its steps, updated live. */
export function RunView(): ReactNode {
  const { id: agentId, runId } = useParams({ from: '/agents/$id/$runId' });
  const { canWork } = useRights();
  const { run, steps, fault, isLoading, reload } = useRun(runId);
  return (
    <PageFrame
      title="Run"
      note={<span className="code">{runId}</span>}
      back={{ href: href('agents', agentId), label: 'Agent' }}
      actions={run && <RunActions run={run} canWork={canWork} />}
    >
      <FaultNotice fault={fault} retry={reload} />
      {run === undefined && isLoading && <Loading rows={5} />}
      {run && <Summary run={run} />}
      {run && <Waterfall run={run} steps={steps} />}
    </PageFrame>
  );
}

function RunActions({ run, canWork }: { run: Run; canWork: boolean }): ReactNode {
  const { api } = usePlace();
  const { id, agentId, sessionId, status } = run;
  return (
    <>
      <a className="button" href={conversationHref(agentId, sessionId)}>
        Conversation
      </a>
      {canWork && status === 'running' && (
        <ConfirmButton
          kind="plain"
          label="Stop run"
          question="Stop this run?"
          work={() => api.request(CANCEL_RUN, { id })}
        >
          It is charged for what it did so far.
        </ConfirmButton>
      )}
    </>
  );
}

function Summary({ run }: { run: Run }): ReactNode {
  const { input, attachments, output, status, errorMessage, tokensUsed, creditsUsed, durationMs, createdAt } =
    run;
  return (
    <Card title="Task" actions={<RunState status={status} />}>
      <p className="pre">{input}</p>
      <RunAttachments attachments={attachments} />
      <p className="hint">
        Started <Time iso={createdAt} /> · {inDigits(tokensUsed)} tokens · {asAmount(creditsUsed, 'credits')}
        {durationMs !== null && ` · ${asDuration(durationMs)}`}
      </p>
      {errorMessage !== null && <Notice kind="fault">{errorMessage}</Notice>}
      {output !== null && (
        <>
          <h2>Answer</h2>
          <MarkdownText text={output} />
        </>
      )}
    </Card>
  );
}
