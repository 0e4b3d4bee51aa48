import { useState, type ReactNode } from 'react';
import {
  AGENT_RUNS,
  DELETE_AGENT,
  DUPLICATE_AGENT,
  ONE_AGENT,
  RUN_AGENT,
  UPDATE_AGENT,
  type Agent,
  type RunRow,
} from '../data/agents.js';
import { useAction, usePlace, useQuery, useRights } from '../data/hooks.js';
import { usePages } from '../data/pages.js';
import { go, href } from '../route.js';
import { Button, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { TextArea, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { Time, asDuration, inDigits } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { PagedTable, type Column } from '../ui/table.js';
import { AgentDialog } from './agent-form.js';
import { RunState } from './agent-run.js';

/** One agent: what it is made of, a task for it, and its runs. */
export function AgentView({ id }: { id: string }): ReactNode {
  const { canWork } = useRights();
  const { data, fault, isLoading, reload } = useQuery(ONE_AGENT, { id });
  const agent = data?.agent;
  return (
    <PageFrame
      title={agent?.name ?? 'Agent'}
      note={agent?.description}
      back={{ href: href('agents'), label: 'Agents' }}
      actions={agent && canWork && <AgentActions agent={agent} reload={reload} />}
    >
      <FaultNotice fault={fault} retry={reload} />
      {agent === undefined && isLoading && <Loading rows={5} />}
      {agent && canWork && <RunCard agent={agent} />}
      {agent && <RunsCard agentId={id} />}
      {agent && <Facts agent={agent} />}
    </PageFrame>
  );
}

function AgentActions({ agent, reload }: { agent: Agent; reload(): void }): ReactNode {
  const { api } = usePlace();
  const { id, name, isTemplate } = agent;
  const [isEditing, setEditing] = useState(false);
  const duplicate = useAction(async () => {
    const { duplicateAgent } = await api.request(DUPLICATE_AGENT, { id });
    go('agents', duplicateAgent.id);
  });
  return (
    <>
      <FaultNotice fault={duplicate.fault} />
      {!isTemplate && <Button onClick={() => setEditing(true)}>Edit</Button>}
      <Button isBusy={duplicate.isBusy} onClick={() => void duplicate.run()}>
        Duplicate
      </Button>
      {!isTemplate && (
        <ConfirmButton
          kind="plain"
          label="Delete"
          question={`Delete ${name}?`}
          work={() => api.request(DELETE_AGENT, { id }).then(() => go('agents'))}
        >
          Its knowledge files go with it; its runs stay readable.
        </ConfirmButton>
      )}
      {isEditing && (
        <AgentDialog
          title={`Edit ${name}`}
          agent={agent}
          onClose={() => setEditing(false)}
          save={async (input) => {
            await api.request(UPDATE_AGENT, { id, input });
            setEditing(false);
            reload();
          }}
        />
      )}
    </>
  );
}

function RunCard({ agent: { id } }: { agent: Agent }): ReactNode {
  const { api } = usePlace();
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const { runAgent } = await api.request(RUN_AGENT, { id, input: { input: entered(form, 'input') } });
    go('agents', id, runAgent.id);
  });
  return (
    <Card title="Run it">
      <form className="form" onSubmit={onSubmit}>
        <TextArea label="Task" name="input" rows={3} maxLength={10_000} fault={fault} required />
        <FormFault fault={fault} fields={['input']} />
        <div className="actions">
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Run
          </Button>
        </div>
      </form>
    </Card>
  );
}

const RUNS_PAGE = 10;

function RunsCard({ agentId }: { agentId: string }): ReactNode {
  const pages = usePages({
    operation: AGENT_RUNS,
    variables: { agentId, first: RUNS_PAGE },
    page: ({ agentRuns }) => agentRuns,
  });
  const columns: Column<RunRow>[] = [
    {
      label: 'Task',
      cell: ({ id, input }) => (
        <a className="clamp" href={href('agents', agentId, id)}>
          {input}
        </a>
      ),
    },
    { label: 'State', cell: ({ status }) => <RunState status={status} /> },
    { label: 'Steps', isNumber: true, cell: ({ totalSteps }) => totalSteps },
    { label: 'Credits', isNumber: true, cell: ({ creditsUsed }) => inDigits(creditsUsed) },
    {
      label: 'Took',
      isNumber: true,
      cell: ({ durationMs }) => (durationMs === null ? '–' : asDuration(durationMs)),
    },
    { label: 'Started', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  ];
  return (
    <Card title="Runs" actions={<Button onClick={pages.reload}>Refresh</Button>}>
      <PagedTable
        caption="Runs, newest first"
        columns={columns}
        pages={pages}
        rowKey={({ id }) => id}
        empty={<Empty title="No runs yet" />}
      />
    </Card>
  );
}

function Facts({ agent }: { agent: Agent }): ReactNode {
  const { id, model, tools, temperature, maxIterations, memoryEnabled, systemPrompt } = agent;
  return (
    <Card title="Made of">
      <dl className="facts">
        <dt>Id</dt>
        <dd className="code">{id}</dd>
        <dt>Model</dt>
        <dd className="code">{model}</dd>
        <dt>Tools</dt>
        <dd>{tools.join(', ') || 'none'}</dd>
        <dt>Rounds</dt>
        <dd>at most {maxIterations}</dd>
        <dt>Temperature</dt>
        <dd>{temperature}</dd>
        <dt>Memory</dt>
        <dd>{memoryEnabled ? 'remembers what users tell it' : 'none'}</dd>
        <dt>Instructions</dt>
        <dd className="pre">{systemPrompt}</dd>
      </dl>
    </Card>
  );
}
