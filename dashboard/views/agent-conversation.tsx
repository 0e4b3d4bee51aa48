import type { ReactNode } from 'react';
import type { Agent } from '../data/agents.js';
import { useRights } from '../data/hooks.js';
import { usePages } from '../data/pages.js';
import { AGENT_RUNS, useRun, type RunRow } from '../data/runs.js';
import { href } from '../route.js';
import { Button, Card, Empty, FaultNotice, Loading, Notice } from '../ui/basics.js';
import { Time, asAmount, asDuration, inDigits } from '../ui/format.js';
import { MarkdownText } from '../ui/markdown.js';
import { nameOfTool } from './agent-tools.js';
import { RunAttachments } from './run-attachments.js';
import { RunForm } from './run-form.js';

const PAGE = 20;

/** One conversation with an agent, and a form for the next task. */
export function ConversationPanel({ agent, sessionId }: { agent: Agent; sessionId: string }): ReactNode {
  const { canWork } = useRights();
  const { items, fault, isLoading, hasMore, more, reload } = usePages({
    operation: AGENT_RUNS,
    variables: { agentId: agent.id, sessionId, first: PAGE },
    page: ({ agentRuns }) => agentRuns,
  });
  return (
    <Card title="Conversation" note={<span className="code">{sessionId}</span>}>
      <FaultNotice fault={fault} retry={reload} />
      {items === undefined && isLoading && <Loading rows={4} />}
      {items?.length === 0 && !isLoading && <Empty title="No such conversation" />}
      {hasMore && (
        <Button kind="quiet" isBusy={isLoading} onClick={more}>
          Show earlier
        </Button>
      )}
      <div role="log" aria-label="Messages">
        {items?.toReversed().map((run) => (
          <Exchange key={run.id} row={run} agent={agent} />
        ))}
      </div>
      {canWork && items !== undefined && items.length > 0 && (
        <RunForm agent={agent} sessionId={sessionId} onStarted={reload} />
      )}
    </Card>
  );
}

interface ExchangeProps {
  row: RunRow;
  agent: Agent;
}

/** One task and the answer to it. */
function Exchange({ row, agent }: ExchangeProps): ReactNode {
  const { id, input, attachments, createdAt } = row;
  return (
    <>
      <article className="turn turn-user">
        <h3>
          You, <Time iso={createdAt} />
        </h3>
        <p className="turn-text">{input}</p>
        <RunAttachments attachments={attachments} />
      </article>
      <article className="turn">
        <h3>{agent.name}</h3>
        {row.status === 'running' ? <Live id={id} /> : <Answer run={row} />}
        <p className="hint">
          {row.durationMs !== null &&
            `${asDuration(row.durationMs)} · ${inDigits(row.tokensUsed)} tokens · ${asAmount(row.creditsUsed, 'credits')} · `}
          <a href={href('agents', agent.id, id)}>Steps</a>
        </p>
      </article>
    </>
  );
}

function Answer({ run }: { run: Pick<RunRow, 'output' | 'errorMessage'> }): ReactNode {
  if (run.errorMessage !== null) return <Notice kind="fault">{run.errorMessage}</Notice>;
  return run.output === null ? null : <MarkdownText text={run.output} />;
}

/** Shows what a run is doing now, and its answer when it has ended. */
function Live({ id }: { id: string }): ReactNode {
  const { run, steps, fault } = useRun(id);
  const last = steps.at(-1);
  return (
    <>
      <FaultNotice fault={fault} />
      {run && run.status !== 'running' && <Answer run={run} />}
      {run?.status === 'running' && (
        <p className="muted" role="status">
          {last?.stepType === 'tool_call' ? `Uses ${nameOfTool(last.toolName ?? 'a tool')} …` : 'Thinks …'}
        </p>
      )}
    </>
  );
}
