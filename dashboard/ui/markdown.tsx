import Markdown from 'markdown-to-jsx/react';
import type { ReactNode } from 'react';

/** Images from other hosts are not loaded, and HTML from a model is shown as text. */
const OPTIONS = {
  disableParsingRawHTML: true,
  forceBlock: true,
  overrides: {
    // All headings have the same level, because they are below the heading of the turn.
    ...Object.fromEntries(['h1', 'h2', 'h3', 'h4', 'h5', 'h6'].map((name) => [name, { component: 'h3' }])),
    a: { props: { target: '_blank', rel: 'noreferrer' } },
    img: ({ alt }: { alt?: string }) => <em>{alt ?? 'A picture'}</em>,
    pre: ({ children }: { children?: ReactNode }) => (
      <pre className="json" tabIndex={0}>
        {children}
      </pre>
    ),
  },
};

/** Shows the text of a model, with its headings, lists, tables and code. */
export function MarkdownText({ text }: { text: string }): ReactNode {
  return (
    <div className="markdown">
      <Markdown options={OPTIONS}>{text}</Markdown>
    </div>
  );
}
