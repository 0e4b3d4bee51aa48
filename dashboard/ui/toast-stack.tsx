import * as Toast from '@radix-ui/react-toast';
import type { ReactNode } from 'react';

/** A message that is currently shown. */
export interface Shown {
  id: number;
  text: string;
  kind: 'good' | 'fault';
}

interface StackProps {
  shown: readonly Shown[];
  onGone(id: number): void;
}

/** Messages in a corner of the page. Screen readers announce them. They disappear by themselves, by Escape or by their button. */
export function ToastStack({ shown, onGone }: StackProps): ReactNode {
  return (
    <Toast.Provider label="Message" swipeDirection="right">
      {shown.map(({ id, text, kind }) => (
        <Toast.Root
          key={id}
          className={`toast toast-${kind}`}
          onOpenChange={(isOpen) => !isOpen && onGone(id)}
        >
          <Toast.Description>{text}</Toast.Description>
          <Toast.Close className="close" aria-label="Close message">
            ×
          </Toast.Close>
        </Toast.Root>
      ))}
      <Toast.Viewport className="toasts" />
    </Toast.Provider>
  );
}
