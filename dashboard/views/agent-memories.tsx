import { useState, type ReactNode } from 'react';
import type { Agent } from '../data/agents.js';
import { usePlace, useRights } from '../data/hooks.js';
import { DELETE_MEMORY, MEMORIES, type Memory } from '../data/knowledge.js';
import { usePages } from '../data/pages.js';
import { Card, Empty, Notice } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { TextFilter } from '../ui/filters.js';
import { Time } from '../ui/format.js';
import { PagedTable, type Column } from '../ui/table.js';

const PAGE = 50;

const COLUMNS: Column<Memory>[] = [
  { label: 'Fact', cell: ({ content }) => content },
  { label: 'Told by', cell: ({ endUser }) => endUser ?? <span className="muted">nobody named</span> },
  { label: 'Kept', cell: ({ createdAt }) => <Time iso={createdAt} /> },
];

/** The facts that an agent remembers from its conversations. */
export function MemoriesPanel({ agent: { id: agentId, memoryEnabled } }: { agent: Agent }): ReactNode {
  const { api } = usePlace();
  const { canWork } = useRights();
  const [user, setUser] = useState('');
  const pages = usePages({
    operation: MEMORIES,
    variables: { agentId, first: PAGE, ...(user !== '' && { user }) },
    page: ({ agentMemories }) => agentMemories,
  });
  const deletion: Column<Memory> = {
    label: 'Delete',
    cell: ({ id, content }) => (
      <ConfirmButton
        label="Delete"
        name={`Delete ${content.slice(0, 80)}`}
        question="Forget this?"
        work={() => api.request(DELETE_MEMORY, { id }).then(pages.reload)}
      >
        {content}
      </ConfirmButton>
    ),
  };
  return (
    <>
      {!memoryEnabled && (
        <Notice kind="note">Memory is off: nothing new is kept, and what is here is not used.</Notice>
      )}
      <Card>
        <div className="filters" role="search">
          <TextFilter
            label="End user"
            name="user"
            value={user}
            onChoose={(changed) => setUser(changed['user'] ?? '')}
          />
        </div>
        <PagedTable
          caption="Memories, newest first"
          columns={canWork ? [...COLUMNS, deletion] : COLUMNS}
          pages={pages}
          rowKey={({ id }) => id}
          empty={
            <Empty title={user === '' ? 'Nothing remembered yet' : 'Nothing of this user'}>
              What users say about themselves in a run is kept, and used in later runs.
            </Empty>
          }
        />
      </Card>
    </>
  );
}
