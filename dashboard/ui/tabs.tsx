import * as Radix from '@radix-ui/react-tabs';
import type { ReactNode } from 'react';

interface TabsProps {
  /** The accessible name of the group of tabs. */
  label: string;
  tabs: readonly { name: string; label: string; content: ReactNode }[];
}

/** Tabs inside a view. Arrow keys move between them. Separate views are routes instead. */
export function Tabs({ label, tabs }: TabsProps): ReactNode {
  return (
    <Radix.Root defaultValue={tabs[0]?.name} className="tab-box">
      <Radix.List className="tabs" aria-label={label}>
        {tabs.map(({ name, label: text }) => (
          <Radix.Trigger key={name} value={name} className="tab">
            {text}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map(({ name, content }) => (
        <Radix.Content key={name} value={name} className="tab-content">
          {content}
        </Radix.Content>
      ))}
    </Radix.Root>
  );
}
