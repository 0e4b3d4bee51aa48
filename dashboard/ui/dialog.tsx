import * as RadixDialog from '@radix-ui/react-dialog';
import { useRef, useState, type ReactNode } from 'react';
import { useAction } from '../data/hooks.js';
import { Button, FaultNotice, type ButtonKind } from './basics.js';

interface DialogProps {
  title: string;
  onClose(): void;
  children: ReactNode;
  /** For content that must not be lost by accident: neither Escape nor a click outside closes the dialog, only its own buttons. */
  isFirm?: boolean;
}

/** The first field, or else the button that changes nothing. Without this the focus would go to the button that closes the dialog. */
const FIRST = 'input:not([type=hidden]), textarea, .dialog-actions button';

/** A window over the page. The focus stays inside it, Escape closes it, and then the focus returns to the element that opened it. */
export function Dialog({ title, onClose, children, isFirm = false }: DialogProps): ReactNode {
  const content = useRef<HTMLDivElement>(null);
  const opener = useRef(document.activeElement);
  const hold = (event: Event): void => {
    if (isFirm) event.preventDefault();
  };
  return (
    <RadixDialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <RadixDialog.Portal>
        <RadixDialog.Overlay className="dialog-veil" />
        <RadixDialog.Content
          ref={content}
          className="dialog"
          aria-describedby={undefined}
          onEscapeKeyDown={hold}
          onInteractOutside={hold}
          onOpenAutoFocus={(event) => {
            event.preventDefault();
            content.current?.querySelector<HTMLElement>(FIRST)?.focus();
          }}
          onCloseAutoFocus={(event) => {
            event.preventDefault();
            if (opener.current instanceof HTMLElement) opener.current.focus();
          }}
        >
          <header className="dialog-head">
            <RadixDialog.Title>{title}</RadixDialog.Title>
            {!isFirm && (
              <RadixDialog.Close className="close" aria-label="Close">
                ×
              </RadixDialog.Close>
            )}
          </header>
          {children}
        </RadixDialog.Content>
      </RadixDialog.Portal>
    </RadixDialog.Root>
  );
}

interface ConfirmProps {
  /** The text on the button that opens the question, and on the button that confirms it. */
  label: string;
  /** The accessible name of the opening button, if its label alone is not clear. */
  name?: string;
  question: string;
  children: ReactNode;
  kind?: ButtonKind;
  work(): Promise<unknown>;
}

/** A button that asks for confirmation before an action that cannot be undone. */
export function ConfirmButton({
  label,
  name,
  question,
  children,
  kind = 'quiet',
  work,
}: ConfirmProps): ReactNode {
  const [isOpen, setOpen] = useState(false);
  const action = useAction(work);
  const close = (): void => {
    setOpen(false);
    action.clear();
  };
  const confirm = async (): Promise<void> => {
    if (await action.run()) close();
  };
  return (
    <>
      <Button kind={kind} aria-label={name} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {isOpen && (
        <Dialog title={question} onClose={close}>
          <div className="dialog-text">{children}</div>
          <FaultNotice fault={action.fault} />
          <div className="dialog-actions">
            <Button onClick={close}>Keep</Button>
            <Button kind="danger" isBusy={action.isBusy} onClick={() => void confirm()}>
              {label}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
