import { useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { DELETE_AGENT, DUPLICATE_AGENT, ONE_AGENT, type Agent, type AgentSearch } from '../data/agents.js';
import { useAction, usePlace, useQuery, useRights } from '../data/hooks.js';
import { go, href } from '../route.js';
import { Badge, Button, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { PageFrame } from '../ui/page.js';
import { ConversationPanel } from './agent-conversation.js';
import { KnowledgePanel } from './agent-knowledge.js';
import { MemoriesPanel } from './agent-memories.js';
import { RunsPanel } from './agent-runs.js';
import { SettingsPanel } from './agent-settings.js';

const TABS: readonly { tab: AgentSearch['tab']; label: string }[] = [
  { tab: undefined, label: 'Runs' },
  { tab: 'settings', label: 'Settings' },
  { tab: 'knowledge', label: 'Knowledge' },
  { tab: 'memories', label: 'Memories' },
];

/** One agent: its runs and conversations, settings, knowledge and memories. */
export function AgentView(): ReactNode {
  const { id } = useParams({ from: '/agents/$id' });
  const { tab, session } = useSearch({ from: '/agents/$id' });
  const { canWork } = useRights();
  const { data, fault, isLoading, reload } = useQuery(ONE_AGENT, { id });
  const agent = data?.agent;
  return (
    <PageFrame
      title={agent?.name ?? 'Agent'}
      note={agent && <Note agent={agent} />}
      back={
        session === undefined
          ? { href: href('agents'), label: 'Agents' }
          : { href: href('agents', id), label: agent?.name ?? 'Agent' }
      }
      actions={agent && canWork && <AgentActions agent={agent} />}
    >
      <FaultNotice fault={fault} retry={reload} />
      {agent === undefined && isLoading && <Loading rows={5} />}
      {agent && (
        <nav className="tabs" aria-label="Agent">
          {TABS.map(({ tab: name, label }) => (
            <a
              key={label}
              href={name === undefined ? href('agents', id) : `${href('agents', id)}?tab=${name}`}
              aria-current={name === tab ? 'page' : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
      )}
      {agent && <Panel agent={agent} tab={tab} session={session} />}
    </PageFrame>
  );
}

function Note({
  agent: { description, isTemplate, templateCategory, isPublic },
}: {
  agent: Agent;
}): ReactNode {
  return (
    <>
      {isTemplate && <Badge tone="calm">template{templateCategory && `: ${templateCategory}`}</Badge>}
      {isPublic && !isTemplate && <Badge tone="busy">public</Badge>} {description}
    </>
  );
}

function Panel({ agent, tab, session }: AgentSearch & { agent: Agent }): ReactNode {
  if (tab === 'settings') return <SettingsPanel agent={agent} />;
  if (tab === 'knowledge') return <KnowledgePanel agent={agent} />;
  if (tab === 'memories') return <MemoriesPanel agent={agent} />;
  if (session !== undefined) return <ConversationPanel key={session} agent={agent} sessionId={session} />;
  return <RunsPanel agent={agent} />;
}

function AgentActions({ agent: { id, name, isTemplate } }: { agent: Agent }): ReactNode {
  const { api } = usePlace();
  const duplicate = useAction(async () => {
    const { duplicateAgent } = await api.request(DUPLICATE_AGENT, { id });
    go('agents', duplicateAgent.id);
  });
  return (
    <>
      <FaultNotice fault={duplicate.fault} />
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
          Its knowledge files and memories go with it; its runs stay readable.
        </ConfirmButton>
      )}
    </>
  );
}
