import { useMemo, type ReactNode } from 'react';
import { graphql, type ResultOf } from '../data/graphql.js';
import { usePages } from '../data/pages.js';
import { go, href } from '../route.js';
import { Badge, Card, Empty, type Tone } from '../ui/basics.js';
import { SelectField } from '../ui/field.js';
import { Time, asAmount, asDuration, asWords } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { PagedTable, type Column } from '../ui/table.js';
import { DIMENSIONS, MEASURES, UsageChart } from './usage-chart.js';

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
        endUser
        costUsd
        errorCode
        latencyMs
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
const DEFAULT_SPAN = '30';

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
  { label: 'Cost', isNumber: true, cell: ({ costUsd }) => (costUsd === null ? 'unknown' : `$${costUsd}`) },
  {
    label: 'State',
    cell: ({ state, errorCode }) => (
      <Badge tone={errorCode === null ? (TONES[state] ?? 'calm') : 'bad'}>{errorCode ?? state}</Badge>
    ),
  },
  {
    label: 'Latency',
    isNumber: true,
    cell: ({ latencyMs }) => (latencyMs === null ? '' : asDuration(latencyMs)),
  },
  { label: 'End user', cell: ({ endUser }) => <span className="clamp">{endUser}</span> },
  {
    label: 'Client',
    cell: ({ client: { serviceClient, clientName, userAgent } }) => (
      <span className="muted clamp" title={userAgent ?? undefined}>
        {clientName ?? serviceClient ?? userAgent?.split(' ')[0]}
      </span>
    ),
  },
];

/** The known value, or the first of them. */
const oneOf = <Value extends string>(choices: readonly { value: Value }[], asked: string | undefined) =>
  choices.find(({ value }) => value === asked) ?? (choices[0] as { value: Value });

/** What was used: summed up, and each operation, newest first. @param filters the parts of its address: days, dimension, measure */
export function UsageView({
  filters: [span, dimension, counted],
}: {
  filters: readonly string[];
}): ReactNode {
  const days = SPANS.find(({ value }) => value === span)?.value ?? DEFAULT_SPAN;
  const by = oneOf(DIMENSIONS, dimension).value;
  const measure = oneOf(MEASURES, counted).value;
  const since = useMemo(() => new Date(Date.now() - Number(days) * DAY_MS).toISOString(), [days]);
  const pages = usePages({
    operation: USAGE,
    variables: { first: PAGE, since },
    page: ({ usageRecords }) => usageRecords,
  });
  return (
    <PageFrame title="Usage" note="Each operation reserves its price, and is settled to what it really took.">
      <div className="filters">
        <Choice
          label="Time"
          choices={SPANS}
          value={days}
          onChoose={(value) => go('usage', value, by, measure)}
        />
        <Choice
          label="By"
          choices={DIMENSIONS}
          value={by}
          onChoose={(value) => go('usage', days, value, measure)}
        />
        <Choice
          label="Counting"
          choices={MEASURES}
          value={measure}
          onChoose={(value) => go('usage', days, by, value)}
        />
      </div>
      <UsageChart since={since} interval={days === '1' ? 'hour' : 'day'} by={by} measure={measure} />
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

interface ChoiceProps {
  label: string;
  choices: readonly { value: string; label: string }[];
  value: string;
  onChoose(value: string): void;
}

function Choice({ label, choices, value, onChoose }: ChoiceProps): ReactNode {
  return (
    <SelectField label={label} name={label} value={value} onChange={({ target }) => onChoose(target.value)}>
      {choices.map((one) => (
        <option key={one.value} value={one.value}>
          {one.label}
        </option>
      ))}
    </SelectField>
  );
}
