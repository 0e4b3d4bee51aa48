import { useState, type ReactNode } from 'react';
import { Button } from './basics.js';

/** A program that can be copied. */
export function Code({ label, text }: { label: string; text: string }): ReactNode {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    // Without https the browser has no clipboard interface. The text can still be selected.
    void navigator.clipboard?.writeText(text).then(
      () => setCopied(true),
      () => undefined,
    );
  };
  return (
    <div className="snippet">
      <pre className="json" tabIndex={0} role="region" aria-label={label}>
        {text}
      </pre>
      <Button kind="quiet" aria-label={`Copy ${label}`} onClick={copy}>
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  );
}
