import { useState, type ReactNode } from 'react';
import { AGENTS, CREATE_AGENT, DUPLICATE_AGENT, type Agent } from '../data/agents.js';
import { useAction, usePlace, useRights } from '../data/hooks.js';
import { usePages } from '../data/pages.js';
import { go, href } from '../route.js';
import { Badge, Button, Card, Empty, FaultNotice } from '../ui/basics.js';
import { Time, inDigits } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { PagedTable, type Column } from '../ui/table.js';
import { AgentDialog } from './agent-form.js';
import { nameOfTool } from './agent-tools.js';

const PAGE = 50;

const COLUMNS: Column<Agent>[] = [
  {
    label: 'Agent',
    cell: ({ id, name, description, isTemplate, isPublic }) => (
      <>
        <a href={href('agents', id)}>{name}</a> {isTemplate && <Badge tone="calm">template</Badge>}
        {isPublic && !isTemplate && <Badge tone="busy">public</Badge>}
        <span className="muted clamp">{description}</span>
      </>
    ),
  },
  { label: 'Model', cell: ({ modelId }) => <span className="code">{modelId}</span> },
  {
    label: 'Tools',
    cell: ({ tools }) => <span className="muted">{tools.map(nameOfTool).join(', ') || 'none'}</span>,
  },
  { label: 'Runs', isNumber: true, cell: ({ runCount }) => inDigits(runCount) },
  { label: 'Changed', cell: ({ isTemplate, updatedAt }) => (isTemplate ? '–' : <Time iso={updatedAt} />) },
];

const USE: Column<Agent> = {
  label: 'Use',
  cell: ({ id, name, isTemplate }) => (isTemplate ? <UseButton id={id} name={name} /> : null),
};

/** Makes an agent from a template. */
function UseButton({ id, name }: Pick<Agent, 'id' | 'name'>): ReactNode {
  const { api } = usePlace();
  const use = useAction(async () => {
    const { duplicateAgent } = await api.request(DUPLICATE_AGENT, { id, input: { name } });
    go('agents', duplicateAgent.id);
  });
  return (
    <>
      <Button kind="quiet" aria-label={`Use ${name}`} isBusy={use.isBusy} onClick={() => void use.run()}>
        Use
      </Button>
      <FaultNotice fault={use.fault} />
    </>
  );
}

/** The organisation's own agents, and the templates for new ones. */
export function AgentsView(): ReactNode {
  const { api } = usePlace();
  const { canWork } = useRights();
  const [includeTemplates, setTemplates] = useState(true);
  const [isCreating, setCreating] = useState(false);
  const pages = usePages({
    operation: AGENTS,
    variables: { first: PAGE, includeTemplates },
    page: ({ agents }) => agents,
  });
  return (
    <PageFrame
      title="Agents"
      note="Models with instructions and tools that work in rounds."
      actions={
        <>
          <label className="check">
            <input
              type="checkbox"
              checked={includeTemplates}
              onChange={({ target }) => setTemplates(target.checked)}
            />
            Templates
          </label>
          {canWork && (
            <Button kind="primary" onClick={() => setCreating(true)}>
              New agent
            </Button>
          )}
        </>
      }
    >
      <Card>
        <PagedTable
          caption="Agents"
          columns={canWork && includeTemplates ? [...COLUMNS, USE] : COLUMNS}
          pages={pages}
          rowKey={({ id }) => id}
          empty={<Empty title="No agents yet">Make one, or show the templates and copy one of them.</Empty>}
        />
      </Card>
      {isCreating && (
        <AgentDialog
          onClose={() => setCreating(false)}
          save={async (input) => {
            const { createAgent } = await api.request(CREATE_AGENT, { input });
            go('agents', createAgent.id);
          }}
        />
      )}
    </PageFrame>
  );
}
