import type { ReactNode } from 'react';
import { graphql, type ResultOf } from '../data/graphql.js';
import { usePages } from '../data/pages.js';
import { Card, Empty } from '../ui/basics.js';
import { Time, asWords } from '../ui/format.js';
import { PagedTable, type Column } from '../ui/table.js';

const AUDIT_LOG = graphql(`
  query AuditLog($first: Int, $after: String) {
    auditLog(first: $first, after: $after) {
      nodes {
        id
        at
        actor {
          kind
          name
        }
        address
        action
        subject {
          id
          name
        }
        before
        after
      }
      nextCursor
    }
  }
`);

type Entry = ResultOf<typeof AUDIT_LOG>['auditLog']['nodes'][number];

const PAGE = 50;

/** `name: Old → New`, for each field that changed. */
function changesOf({ before, after }: Entry): string {
  const [old, next] = [before, after].map((one) => (one ?? {}) as Record<string, unknown>);
  const names = [...new Set([...Object.keys(old ?? {}), ...Object.keys(next ?? {})])];
  const told = (value: unknown): string =>
    typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return names
    .map((name) => [name, told(old?.[name]), told(next?.[name])] as const)
    .map(([name, was, is]) => (was === '' || is === '' ? `${name}: ${was}${is}` : `${name}: ${was} → ${is}`))
    .join(', ');
}

const COLUMNS: Column<Entry>[] = [
  { label: 'When', cell: ({ at }) => <Time iso={at} /> },
  {
    label: 'Who',
    cell: ({ actor: { kind, name }, address }) => (
      <>
        {name ?? asWords(kind)} <span className="muted">{address}</span>
      </>
    ),
  },
  { label: 'What', cell: ({ action }) => asWords(action) },
  { label: 'Of', cell: ({ subject: { id, name } }) => <span title={id ?? undefined}>{name ?? id}</span> },
  { label: 'Change', cell: (entry) => <span className="muted clamp">{changesOf(entry)}</span> },
];

/** Who changed what, newest first. */
export function AuditPanel(): ReactNode {
  const pages = usePages({
    operation: AUDIT_LOG,
    variables: { first: PAGE },
    page: ({ auditLog }) => auditLog,
  });
  return (
    <Card note="Changes of keys, members, webhooks, budgets, plan and public agents. Secrets are never in it.">
      <PagedTable
        caption="Changes, newest first"
        columns={COLUMNS}
        pages={pages}
        rowKey={({ id }) => id}
        empty={<Empty title="No changes yet">Whoever changes something appears here.</Empty>}
      />
    </Card>
  );
}
