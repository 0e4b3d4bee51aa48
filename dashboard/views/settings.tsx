import type { ReactNode } from 'react';
import { useRights } from '../data/hooks.js';
import { href } from '../route.js';
import { PageFrame } from '../ui/page.js';
import { AuditPanel } from './settings-audit.js';
import { BudgetsPanel } from './settings-budgets.js';
import { KeysPanel } from './settings-keys.js';
import { MembersPanel } from './settings-members.js';
import { PasswordPanel } from './settings-password.js';
import { PlanPanel } from './settings-plan.js';

interface Tab {
  name: string;
  label: string;
  /** Only for those who may manage it. */
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

/** Keys, budgets, members, plan, the audit log and one's own password. */
export function SettingsView({ tab: name }: { tab: string | undefined }): ReactNode {
  const { canManage } = useRights();
  const tabs = TABS.filter(({ isManaged }) => canManage || !isManaged);
  const tab = tabs.find((one) => one.name === name) ?? tabs[0];
  return (
    <PageFrame title={tab?.label ?? 'Settings'}>
      <nav className="tabs" aria-label="Settings">
        {tabs.map((one) => (
          <a
            key={one.name}
            href={href('settings', one.name)}
            aria-current={one.name === tab?.name ? 'page' : undefined}
          >
            {one.label}
          </a>
        ))}
      </nav>
      {tab?.panel()}
    </PageFrame>
  );
}
