import { useEffect, useRef, type ReactNode } from 'react';

/** The frame of the pages for people who are not signed in. */
export function Gate({ title, children }: { title: string; children: ReactNode }): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = title === 'Penstock' ? title : `${title} · Penstock`;
  }, [title]);
  return (
    <div className="gate">
      <header className="gate-brand">Penstock</header>
      <main className="gate-card">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {children}
      </main>
      <nav className="gate-links" aria-label="Product">
        <a href="graphql">GraphQL</a>
        <a href="docs">REST API</a>
      </nav>
    </div>
  );
}
