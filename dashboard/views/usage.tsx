import { useMemo, useState, type ReactNode } from 'react';
import { graphql, type ResultOf } from '../data/graphql.js';
import { usePages } from '../data/pages.js';
import { href } from '../route.js';
import { Badge, Card, Empty, type Tone } from '../ui/basics.js';
import { SelectField } from '../ui/field.js';
import { Time, asAmount, asWords } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { PagedTable, type Column } from '../ui/table.js';

const USAGE = graphql(`
  query UsageRecords($first: Int, $after: String, $since: DateTime) {
    usageRecords(first: $first, after: $after, since: $since) {
      nodes {
        id
        operation
        state
        jobId
        keyId
        model
        client {
          serviceClient
          clientName
          userAgent
        }
        amounts {
          bucket
          amount
        }
        granted {
          bucket
          amount
        }
        createdAt
      }
      nextCursor
    }
  }
`);

type UsageRecord = ResultOf<typeof USAGE>['usageRecords']['nodes'][number];
type Amount = UsageRecord['amounts'][number];

const TONES: Record<string, Tone> = { reserved: 'busy', settled: 'good', released: 'calm' };
const PAGE = 50;
const DAY_MS = 86_400_000;
const SPANS = [
  { value: '1', label: 'Last 24 hours' },
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
];

function Amounts({ amounts, sign }: { amounts: Amount[]; sign: string }): ReactNode {
  return amounts.map(({ bucket, amount }) => `${sign}${asAmount(amount, bucket)}`).join(', ');
}

const COLUMNS: Column<UsageRecord>[] = [
  { label: 'When', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  {
    label: 'Operation',
    cell: ({ operation, jobId }) =>
      jobId === null ? asWords(operation) : <a href={href('jobs', jobId)}>{asWords(operation)}</a>,
  },
  { label: 'Model', cell: ({ model }) => <span className="code">{model}</span> },
  {
    label: 'Amount',
    cell: ({ amounts, granted }) => (
      <>
        <Amounts amounts={amounts} sign="" />
        <Amounts amounts={granted} sign="+" />
      </>
    ),
  },
  { label: 'State', cell: ({ state }) => <Badge tone={TONES[state] ?? 'calm'}>{state}</Badge> },
  {
    label: 'Client',
    cell: ({ client: { serviceClient, clientName, userAgent } }) => (
      <span className="muted clamp" title={userAgent ?? undefined}>
        {clientName ?? serviceClient ?? userAgent?.split(' ')[0]}
      </span>
    ),
  },
];

/** Every metered operation, newest first. */
export function UsageView(): ReactNode {
  const [days, setDays] = useState('');
  const since = useMemo(
    () => (days === '' ? undefined : new Date(Date.now() - Number(days) * DAY_MS).toISOString()),
    [days],
  );
  const pages = usePages({
    operation: USAGE,
    variables: { first: PAGE, ...(since === undefined ? {} : { since }) },
    page: ({ usageRecords }) => usageRecords,
  });
  return (
    <PageFrame title="Usage" note="Each operation reserves its price, and is settled to what it really took.">
      <div className="filters">
        <SelectField label="Time" name="days" value={days} onChange={({ target }) => setDays(target.value)}>
          <option value="">All</option>
          {SPANS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      </div>
      <Card>
        <PagedTable
          caption="Usage, newest first"
          columns={COLUMNS}
          pages={pages}
          rowKey={({ id }) => id}
          empty={<Empty title="Nothing used">Calls appear here as soon as they are made.</Empty>}
        />
      </Card>
    </PageFrame>
  );
}
