import type { ButtonHTMLAttributes, ReactNode } from 'react';
import type { Fault } from '../data/fault.js';

/** The visual importance of a button. */
export type ButtonKind = 'primary' | 'plain' | 'danger' | 'quiet';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: ButtonKind;
  isBusy?: boolean;
}

/** A button. While it is busy it keeps its place and does nothing. */
export function Button({
  kind = 'plain',
  isBusy = false,
  disabled,
  children,
  ...rest
}: ButtonProps): ReactNode {
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${kind}`}
      disabled={disabled === true || isBusy}
      aria-busy={isBusy || undefined}
    >
      {children}
    </button>
  );
}

/** A message of the page. Screen readers announce faults immediately. */
export function Notice({
  kind,
  children,
}: {
  kind: 'fault' | 'good' | 'note';
  children: ReactNode;
}): ReactNode {
  return (
    <div className={`notice notice-${kind}`} role={kind === 'fault' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** Shows a fault in the server's words, next to the control that caused it. */
export function FaultNotice({ fault, retry }: { fault: Fault | undefined; retry?: () => void }): ReactNode {
  if (fault === undefined) return null;
  return (
    <Notice kind="fault">
      <span>{fault.message}</span>
      {retry && (
        <Button kind="quiet" onClick={retry}>
          Try again
        </Button>
      )}
    </Notice>
  );
}

/** The colour of a state. The word of the state has the same meaning. */
export type Tone = 'good' | 'bad' | 'busy' | 'calm';

/** Shows a state as one word. */
export function Badge({ tone, children }: { tone: Tone; children: ReactNode }): ReactNode {
  return <span className={`badge badge-${tone}`}>{children}</span>;
}

interface CardProps {
  title?: string;
  note?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A group of related content with a title. */
export function Card({ title, note, actions, children }: CardProps): ReactNode {
  return (
    <section className="card" aria-label={title}>
      {(title !== undefined || actions !== undefined) && (
        <header className="card-head">
          <div>
            {title !== undefined && <h2>{title}</h2>}
            {note !== undefined && <p className="muted">{note}</p>}
          </div>
          {actions !== undefined && <div className="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** Shown in place of an empty list: what the list is for, and what to do first. */
export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children !== undefined && <p className="muted">{children}</p>}
    </div>
  );
}

/** Shown until the first answer arrives. */
export function Loading({ rows = 3 }: { rows?: number }): ReactNode {
  return (
    <div className="loading" role="status">
      <span className="unseen">Loading…</span>
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} className="loading-row" aria-hidden="true" />
      ))}
    </div>
  );
}
