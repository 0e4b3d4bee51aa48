import { useState, type ReactNode } from 'react';
import { AGENTS, CREATE_AGENT, type Agent } from '../data/agents.js';
import { usePlace, useRights } from '../data/hooks.js';
import { usePages } from '../data/pages.js';
import { go, href } from '../route.js';
import { Badge, Button, Card, Empty } from '../ui/basics.js';
import { inDigits } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { PagedTable, type Column } from '../ui/table.js';
import { AgentDialog } from './agent-form.js';

const PAGE = 50;

const COLUMNS: Column<Agent>[] = [
  {
    label: 'Agent',
    cell: ({ id, name, description, isTemplate }) => (
      <>
        <a href={href('agents', id)}>{name}</a> {isTemplate && <Badge tone="calm">template</Badge>}
        <br />
        <span className="muted">{description}</span>
      </>
    ),
  },
  { label: 'Model', cell: ({ model }) => <span className="code">{model}</span> },
  { label: 'Tools', cell: ({ tools }) => <span className="muted">{tools.join(', ') || 'none'}</span> },
  { label: 'Runs', isNumber: true, cell: ({ runCount }) => inDigits(runCount) },
];

/** Own agents, and the templates to begin with. */
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
          columns={COLUMNS}
          pages={pages}
          rowKey={({ id }) => id}
          empty={<Empty title="No agents yet">Make one, or show the templates and copy one of them.</Empty>}
        />
      </Card>
      {isCreating && (
        <AgentDialog
          title="New agent"
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
