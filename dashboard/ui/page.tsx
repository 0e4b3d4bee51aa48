import { useEffect, useRef, type ReactNode } from 'react';

interface PageProps {
  title: string;
  note?: ReactNode;
  /** The parent view. */
  back?: { href: string; label: string };
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of a view. It sets the window's title and takes the focus, so that the Tab key and screen readers start here. */
export function PageFrame({ title, note, back, actions, children }: PageProps): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Penstock`;
  }, [title]);
  useEffect(() => heading.current?.focus(), []);
  return (
    <div className="page">
      <header className="page-head">
        <div>
          {back && (
            <a className="back" href={back.href}>
              ← {back.label}
            </a>
          )}
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {note !== undefined && <p className="muted">{note}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
    </div>
  );
}
