import { useParams } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRights } from '../data/hooks.js';
import { href } from '../route.js';
import { PageFrame } from '../ui/page.js';
import { NoSuchView } from './not-found.js';
import { AuditPanel } from './settings-audit.js';
import { BudgetsPanel } from './settings-budgets.js';
import { KeysPanel } from './settings-keys.js';
import { MembersPanel } from './settings-members.js';
import { PasswordPanel } from './settings-password.js';
import { PlanPanel } from './settings-plan.js';

interface Tab {
  name: string;
  label: string;
  /** Whether the tab is shown only to owners and admins. */
  isManaged: boolean;
  panel: () => ReactNode;
}

const TABS: Tab[] = [
  { name: 'keys', label: 'API keys', isManaged: true, panel: () => <KeysPanel /> },
  { name: 'budgets', label: 'Budgets', isManaged: false, panel: () => <BudgetsPanel /> },
  { name: 'members', label: 'Members', isManaged: false, panel: () => <MembersPanel /> },
  { name: 'plan', label: 'Plan', isManaged: false, panel: () => <PlanPanel /> },
  { name: 'audit', label: 'Audit log', isManaged: true, panel: () => <AuditPanel /> },
  { name: 'password', label: 'Password', isManaged: false, panel: () => <PasswordPanel /> },
];

/** Keys, budgets, members, plan, audit log and the person's own password. */
export function SettingsView(): ReactNode {
  const { tab: name } = useParams({ from: '/settings/{-$tab}' });
  const { canManage } = useRights();
  const tabs = TABS.filter(({ isManaged }) => canManage || !isManaged);
  const tab = name === undefined ? tabs[0] : tabs.find((one) => one.name === name);
  if (tab === undefined) return <NoSuchView />;
  return (
    <PageFrame title={tab.label ?? 'Settings'}>
      <nav className="tabs" aria-label="Settings">
        {tabs.map((one) => (
          <a
            key={one.name}
            href={href('settings', one.name)}
            aria-current={one.name === tab.name ? 'page' : undefined}
          >
            {one.label}
          </a>
        ))}
      </nav>
      {tab.panel()}
    </PageFrame>
  );
}
