import { useId, useRef, useState, type ReactNode } from 'react';
import { Button } from './basics.js';
import { Dialog } from './dialog.js';

/** A text with a button that copies it. */
export function CopyField({ label, value }: { label: string; value: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const id = useId();
  const copy = async (): Promise<void> => {
    input.current?.select();
    // Without https the browser has no clipboard interface. The text is selected, so that it can be copied by hand.
    await navigator.clipboard?.writeText(value).then(
      () => setCopied(true),
      () => undefined,
    );
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <div className="copy">
        <input
          ref={input}
          id={id}
          readOnly
          value={value}
          spellCheck={false}
          onFocus={({ target }) => target.select()}
        />
        <Button kind="primary" onClick={() => void copy()}>
          {isCopied ? 'Copied' : 'Copy'}
        </Button>
      </div>
      <span className="unseen" role="status">
        {isCopied ? 'Copied to the clipboard' : ''}
      </span>
    </div>
  );
}

interface SecretProps {
  title: string;
  label: string;
  value: string;
  children: ReactNode;
  onClose(): void;
}

/** Shows a secret that is shown only once. Only its own button closes it, so that Escape does not lose the secret. */
export function SecretDialog({ title, label, value, children, onClose }: SecretProps): ReactNode {
  return (
    <Dialog title={title} onClose={onClose} isFirm>
      <div className="dialog-text">{children}</div>
      <CopyField label={label} value={value} />
      <div className="dialog-actions">
        <Button onClick={onClose}>Done</Button>
      </div>
    </Dialog>
  );
}
