import { useId, useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import { useAction } from '../data/hooks.js';
import { Button, FaultNotice, type ButtonKind } from './basics.js';

interface DialogProps {
  title: string;
  onClose(): void;
  children: ReactNode;
}

/** What is to be filled in first, or else the answer that changes nothing: by itself the browser would take the button that closes. */
const FIRST = 'input:not([type=hidden]), textarea, .dialog-actions button';

/** A window over the page: the browser keeps the focus inside, Escape closes it, and the focus returns to what opened it. */
export function Dialog({ title, onClose, children }: DialogProps): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before the element leaves the page: only a dialog that is still there gives the focus back.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    element?.querySelector<HTMLElement>(FIRST)?.focus();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header className="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" className="close" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  /** On the button that opens the question, and on the one that does it. */
  label: string;
  /** What the opening button is called where its label alone says too little. */
  name?: string;
  question: string;
  children: ReactNode;
  kind?: ButtonKind;
  work(): Promise<unknown>;
}

/** A button that asks before it does what cannot be undone. */
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
