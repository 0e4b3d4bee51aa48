import { useParams, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { PlaygroundSearch } from '../data/playground-search.js';
import { useRights } from '../data/hooks.js';
import { ChatPanel } from '../playground/chat-panel.js';
import { DirectPanel, EMBEDDINGS, RERANKING } from '../playground/direct-panel.js';
import { JobPanel, JobPanelOf } from '../playground/job-panel.js';
import { JOB_KINDS } from '../playground/kinds.js';
import { href } from '../route.js';
import { Notice } from '../ui/basics.js';
import { asWords } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { NoSuchView } from './not-found.js';

interface Tab {
  name: string;
  label: string;
  panel(search: PlaygroundSearch): ReactNode;
}

const CONVERSATIONS = ['chat', 'responses'] as const;

const TABS: readonly Tab[] = [
  ...CONVERSATIONS.map((protocol) => ({
    name: protocol,
    label: asWords(protocol),
    panel: ({ model = '' }: PlaygroundSearch) => (
      <ChatPanel key={`${protocol} ${model}`} protocol={protocol} model={model} />
    ),
  })),
  ...JOB_KINDS.map((kind) => ({
    name: kind.label.toLowerCase(),
    label: kind.label,
    panel: ({ model = '', job }: PlaygroundSearch) =>
      job === undefined ? (
        <JobPanel key={`${kind.name} ${model}`} kind={kind} initial={{ model }} />
      ) : (
        <JobPanelOf key={job} kind={kind} jobId={job} />
      ),
  })),
  ...[EMBEDDINGS, RERANKING].map((kind) => ({
    name: kind.label.toLowerCase(),
    label: kind.label,
    panel: ({ model = '' }: PlaygroundSearch) => (
      <DirectPanel key={`${kind.name} ${model}`} kind={kind} initial={{ model }} />
    ),
  })),
];

/** Tries models out. The calls are charged like all other calls. */
export function PlaygroundView(): ReactNode {
  const { tab: name } = useParams({ from: '/playground/{-$tab}' });
  const search = useSearch({ from: '/playground/{-$tab}' });
  const { canWork } = useRights();
  const tab = name === undefined ? TABS[0] : TABS.find((one) => one.name === name);
  if (tab === undefined) return <NoSuchView />;
  return (
    <PageFrame title="Playground" note="Calls from here use the organisation’s quota.">
      <nav className="tabs" aria-label="Playground">
        {TABS.map((one) => (
          <a
            key={one.name}
            href={href('playground', one.name)}
            aria-current={one === tab ? 'page' : undefined}
          >
            {one.label}
          </a>
        ))}
      </nav>
      {canWork ? (
        tab.panel(search)
      ) : (
        <Notice kind="note">Your role, viewer, reads only: it cannot call models.</Notice>
      )}
    </PageFrame>
  );
}
