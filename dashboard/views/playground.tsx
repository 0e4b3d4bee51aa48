import type { ReactNode } from 'react';
import { useRights } from '../data/hooks.js';
import { href } from '../route.js';
import { Notice } from '../ui/basics.js';
import { PageFrame } from '../ui/page.js';
import { ChatPanel } from './playground-chat.js';
import { ImagePanel } from './playground-image.js';

const TABS = [
  { name: 'chat', label: 'Chat', panel: () => <ChatPanel /> },
  { name: 'images', label: 'Images', panel: () => <ImagePanel /> },
];

/** Trying models out; what is made here counts like every other call. */
export function PlaygroundView({ tab: name }: { tab: string | undefined }): ReactNode {
  const { canWork } = useRights();
  const tab = TABS.find((one) => one.name === name) ?? TABS[0];
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
        tab?.panel()
      ) : (
        <Notice kind="note">Your role, viewer, reads only: it cannot call models.</Notice>
      )}
    </PageFrame>
  );
}
