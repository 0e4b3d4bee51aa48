import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { href } from '../route.js';
import { PageFrame } from '../ui/page.js';
import { NoSuchView } from './not-found.js';
import { LettersPanel, ProvidersPanel, QueuesPanel } from './operator-machinery.js';
import { OrganizationsPanel } from './operator-organizations.js';
import { OperatedUsagePanel } from './operator-usage.js';

const TABS = [
  { name: 'organizations', label: 'Organisations', panel: () => <OrganizationsPanel /> },
  { name: 'usage', label: 'Usage', panel: () => <OperatedUsagePanel /> },
  { name: 'providers', label: 'Providers', panel: () => <ProvidersPanel /> },
  { name: 'queues', label: 'Queues', panel: () => <QueuesPanel /> },
  { name: 'dead-letters', label: 'Dead letters', panel: () => <LettersPanel /> },
];

/** The administration of the whole installation, for operators. */
export function OperatorView(): ReactNode {
  const { tab: name } = useParams({ from: '/operator/{-$tab}' });
  const tab = name === undefined ? TABS[0] : TABS.find((one) => one.name === name);
  if (tab === undefined) return <NoSuchView />;
  return (
    <PageFrame
      title="Operator"
      note="All organisations of this installation. What you change here is in their audit logs."
    >
      <nav className="tabs" aria-label="Operator">
        {TABS.map((one) => (
          <a key={one.name} href={href('operator', one.name)} aria-current={one === tab ? 'page' : undefined}>
            {one.label}
          </a>
        ))}
      </nav>
      {tab.panel()}
    </PageFrame>
  );
}
