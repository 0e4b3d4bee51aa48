import { useState, type ReactNode } from 'react';
import type { Agent } from '../data/agents.js';
import { useRights } from '../data/hooks.js';
import { usePages } from '../data/pages.js';
import { AGENT_RUNS, RUN_STATUSES, type RunRow } from '../data/runs.js';
import { conversationHref, go, href } from '../route.js';
import { Button, Card, Empty } from '../ui/basics.js';
import { SelectField } from '../ui/field.js';
import { Time, asDuration, inDigits } from '../ui/format.js';
import { PagedTable, type Column } from '../ui/table.js';
import { RunState } from './agent-run.js';
import { RunForm } from './run-form.js';

const PAGE = 20;

const columnsOf = (agentId: string): Column<RunRow>[] => [
  {
    label: 'Task',
    cell: ({ id, input, errorMessage }) => (
      <>
        <a className="clamp" href={href('agents', agentId, id)}>
          {input}
        </a>
        {errorMessage !== null && <span className="reason line">{errorMessage}</span>}
      </>
    ),
  },
  { label: 'State', cell: ({ status }) => <RunState status={status} /> },
  { label: 'Steps', isNumber: true, cell: ({ totalSteps }) => totalSteps },
  { label: 'Tokens', isNumber: true, cell: ({ tokensUsed }) => inDigits(tokensUsed) },
  { label: 'Credits', isNumber: true, cell: ({ creditsUsed }) => inDigits(creditsUsed) },
  {
    label: 'Took',
    isNumber: true,
    cell: ({ durationMs }) => (durationMs === null ? '–' : asDuration(durationMs)),
  },
  { label: 'Started', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  {
    label: 'Conversation',
    cell: ({ sessionId, input }) => (
      <a
        href={conversationHref(agentId, sessionId)}
        aria-label={`Open the conversation of ${input.slice(0, 80)}`}
      >
        Open
      </a>
    ),
  },
];

/** A form for a new task, and the agent's earlier runs. */
export function RunsPanel({ agent }: { agent: Agent }): ReactNode {
  const { canWork } = useRights();
  const [status, setStatus] = useState<RunRow['status']>();
  const pages = usePages({
    operation: AGENT_RUNS,
    variables: { agentId: agent.id, first: PAGE, ...(status && { status }) },
    page: ({ agentRuns }) => agentRuns,
  });
  return (
    <>
      {canWork && (
        <Card title="Run it">
          <RunForm agent={agent} onStarted={({ id }) => go('agents', agent.id, id)} />
        </Card>
      )}
      <Card
        title="Runs"
        actions={
          <>
            <SelectField
              label="State"
              name="status"
              value={status ?? ''}
              onChange={({ target }) => setStatus(RUN_STATUSES.find((one) => one === target.value))}
            >
              <option value="">All</option>
              {RUN_STATUSES.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </SelectField>
            {canWork && <Button onClick={pages.reload}>Refresh</Button>}
          </>
        }
      >
        <PagedTable
          caption="Runs, newest first"
          columns={columnsOf(agent.id)}
          pages={pages}
          rowKey={({ id }) => id}
          empty={<Empty title={status === undefined ? 'No runs yet' : `No ${status} runs`} />}
        />
      </Card>
    </>
  );
}
