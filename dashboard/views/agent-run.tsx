import type { ReactNode } from 'react';
import { CANCEL_RUN, useRun, type Run, type Step } from '../data/agents.js';
import { usePlace, useRights } from '../data/hooks.js';
import { href } from '../route.js';
import { Badge, Card, FaultNotice, Loading, Notice, type Tone } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { Time, asDuration, asWords, inDigits } from '../ui/format.js';
import { Json, OutputPreview } from '../ui/media.js';
import { PageFrame } from '../ui/page.js';

const TONES: Record<Run['status'], Tone> = {
  running: 'busy',
  completed: 'good',
  failed: 'bad',
  cancelled: 'calm',
};

/** Where a run stands. */
export function RunState({ status }: { status: Run['status'] }): ReactNode {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}

interface RunViewProps {
  agentId: string;
  runId: string;
}

/** One run, step by step as it goes on. */
export function RunView({ agentId, runId }: RunViewProps): ReactNode {
  const { api } = usePlace();
  const { canWork } = useRights();
  const { run, steps, fault, isLoading, reload } = useRun(runId);
  return (
    <PageFrame
      title="Run"
      note={<span className="code">{runId}</span>}
      back={{ href: href('agents', agentId), label: 'Agent' }}
      actions={
        canWork &&
        run?.status === 'running' && (
          <ConfirmButton
            kind="plain"
            label="Stop run"
            question="Stop this run?"
            work={() => api.request(CANCEL_RUN, { id: runId })}
          >
            It is charged for what it did so far.
          </ConfirmButton>
        )
      }
    >
      <FaultNotice fault={fault} retry={reload} />
      {run === undefined && isLoading && <Loading rows={5} />}
      {run && <Summary run={run} />}
      {run && <Steps steps={steps} isRunning={run.status === 'running'} />}
    </PageFrame>
  );
}

function Summary({ run }: { run: Run }): ReactNode {
  const { input, output, status, errorMessage, tokensUsed, creditsUsed, durationMs, createdAt } = run;
  return (
    <Card title="Task" actions={<RunState status={status} />}>
      <p className="pre">{input}</p>
      <p className="hint">
        Started <Time iso={createdAt} /> · {inDigits(tokensUsed)} tokens · {inDigits(creditsUsed)} credits
        {durationMs !== null && ` · ${asDuration(durationMs)}`}
      </p>
      {errorMessage !== null && <Notice kind="fault">{errorMessage}</Notice>}
      {output !== null && (
        <>
          <h2>Answer</h2>
          <p className="pre">{output}</p>
        </>
      )}
    </Card>
  );
}

function Steps({ steps, isRunning }: { steps: Step[]; isRunning: boolean }): ReactNode {
  return (
    <Card title="Steps">
      <ol className="steps" aria-live="polite" aria-busy={isRunning}>
        {steps.map((step) => (
          <li key={step.stepNumber}>
            <h3>
              {asWords(step.stepType)}{' '}
              {step.toolName !== null && <span className="code">{step.toolName}</span>}
            </h3>
            {step.content !== null && <p className="pre">{step.content}</p>}
            <OutputPreview output={step.toolOutput} label={step.toolName ?? 'Output'} />
            <StepData name="Input" value={step.toolInput} />
            <StepData name="Output" value={step.toolOutput} />
          </li>
        ))}
      </ol>
      {isRunning && <Loading rows={1} />}
    </Card>
  );
}

function StepData({ name, value }: { name: string; value: unknown }): ReactNode {
  if (value === null || value === undefined) return null;
  return (
    <details>
      <summary>{name}</summary>
      <Json value={value} />
    </details>
  );
}
