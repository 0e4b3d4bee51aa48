import * as Menu from '@radix-ui/react-dropdown-menu';
import type { ReactNode } from 'react';
import { Button, type ButtonKind } from './basics.js';

/** An entry of a menu: an action or a link. */
export type MenuEntry =
  | { label: string; onSelect(): void; href?: never }
  | { label: string; href: string; onSelect?: never };

interface MenuProps {
  /** The content of the button that opens the menu. */
  label: ReactNode;
  /** The accessible name of the button, if its label alone is not clear. */
  name?: string;
  kind?: ButtonKind;
  /** Shown above the entries. */
  heading?: ReactNode;
  entries: readonly MenuEntry[];
}

/** A button that opens a menu. Arrow keys move in the menu, and Escape closes it. */
export function MenuButton({ label, name, kind = 'quiet', heading, entries }: MenuProps): ReactNode {
  return (
    <Menu.Root modal={false}>
      <Menu.Trigger asChild>
        <Button kind={kind} aria-label={name}>
          {label}
        </Button>
      </Menu.Trigger>
      {/* Inside a landmark, as all content of the page. */}
      <Menu.Portal container={document.getElementById('main')}>
        <Menu.Content className="menu" align="end" sideOffset={6} collisionPadding={8}>
          {heading !== undefined && <Menu.Label className="menu-label">{heading}</Menu.Label>}
          {entries.map(({ label: text, href, onSelect }) =>
            href === undefined ? (
              <Menu.Item key={text} className="menu-item" onSelect={onSelect}>
                {text}
              </Menu.Item>
            ) : (
              <Menu.Item key={text} className="menu-item" asChild>
                <a href={href}>{text}</a>
              </Menu.Item>
            ),
          )}
        </Menu.Content>
      </Menu.Portal>
    </Menu.Root>
  );
}
