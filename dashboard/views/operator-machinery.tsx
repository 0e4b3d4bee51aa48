import { useEffect, type ReactNode } from 'react';
import type { ResultOf } from '../data/graphql.js';
import { usePlace, useQuery, type Answer } from '../data/hooks.js';
import { LETTERS, PROVIDERS, QUEUES, REPLAY } from '../data/operator.js';
import { Badge, Button, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { Time, asDuration, asWords, inDigits } from '../ui/format.js';
import { Json } from '../ui/media.js';
import { DataTable, type Column } from '../ui/table.js';

const REFRESH_MS = 10_000;

type Provider = ResultOf<typeof PROVIDERS>['operatedProviders'][number];
type Queue = ResultOf<typeof QUEUES>['operatedQueues'][number];
type Letter = ResultOf<typeof LETTERS>['operatedDeadLetters'][number];

interface ListProps<Item extends object> {
  title: string;
  note?: string;
  actions?: ReactNode;
  answer: Pick<Answer<unknown>, 'fault' | 'isLoading' | 'reload'>;
  items: readonly Item[] | undefined;
  columns: Column<Item>[];
  rowKey(item: Item): string;
  empty: ReactNode;
}

/** A card with a list that is read completely. */
function ListCard<Item extends object>({
  title,
  note,
  actions,
  answer,
  items,
  ...table
}: ListProps<Item>): ReactNode {
  const { fault, isLoading, reload } = answer;
  return (
    <Card
      title={title}
      {...(note === undefined ? {} : { note })}
      actions={
        <>
          {actions}
          <Button onClick={reload}>Refresh</Button>
        </>
      }
    >
      {items === undefined && isLoading && <Loading rows={4} />}
      <FaultNotice fault={fault} retry={reload} />
      {items?.length === 0 && table.empty}
      {items !== undefined && items.length > 0 && (
        <DataTable caption={title} columns={table.columns} items={items} rowKey={table.rowKey} />
      )}
    </Card>
  );
}

function Errors({ calls: { requests, errors } }: { calls: Provider['lastHour'] }): ReactNode {
  if (requests === 0) return <span className="muted">none</span>;
  const percent = Math.round((errors / requests) * 1000) / 10;
  return <Badge tone={percent >= 5 ? 'bad' : errors > 0 ? 'busy' : 'good'}>{inDigits(percent)} %</Badge>;
}

const PROVIDER_COLUMNS: Column<Provider>[] = [
  {
    label: 'Provider',
    cell: ({ id, kind }) => (
      <>
        <strong>{id}</strong> {kind !== id && <span className="muted">{kind}</span>}
      </>
    ),
  },
  {
    label: 'State',
    cell: ({ ok, detail }) => (
      <>
        {ok ? <Badge tone="good">answers</Badge> : <Badge tone="bad">fails</Badge>}
        <br />
        <span className="muted">{detail}</span>
      </>
    ),
  },
  { label: 'Models', isNumber: true, cell: ({ models }) => inDigits(models) },
  { label: 'Calls, last hour', isNumber: true, cell: ({ lastHour }) => inDigits(lastHour.requests) },
  { label: 'Failed', cell: ({ lastHour }) => <Errors calls={lastHour} /> },
  {
    label: 'Median',
    isNumber: true,
    cell: ({ lastHour: { p50Ms } }) => (p50Ms === null ? '' : asDuration(p50Ms)),
  },
  {
    label: '95 %',
    isNumber: true,
    cell: ({ lastHour: { p95Ms } }) => (p95Ms === null ? '' : asDuration(p95Ms)),
  },
  { label: 'Checked', cell: ({ checkedAt }) => <Time iso={checkedAt} /> },
];

/** The providers of models, and their current state. */
export function ProvidersPanel(): ReactNode {
  const answer = useQuery(PROVIDERS, {});
  return (
    <ListCard
      title="Providers"
      note="Each is asked for what costs nothing, at most twice a minute."
      answer={answer}
      items={answer.data?.operatedProviders}
      columns={PROVIDER_COLUMNS}
      rowKey={({ id }) => id}
      empty={
        <Empty title="No providers">Name some in PROVIDERS_FILE, or give a key in the environment.</Empty>
      }
    />
  );
}

const QUEUE_COLUMNS: Column<Queue>[] = [
  {
    label: 'Work',
    cell: ({ queue, part }) => (part === null ? asWords(queue) : `${asWords(queue)}: ${asWords(part)}`),
  },
  {
    label: 'State',
    cell: ({ status }) => (
      <Badge tone={status === 'failed' ? 'bad' : status === 'processing' ? 'busy' : 'calm'}>{status}</Badge>
    ),
  },
  { label: 'Count', isNumber: true, cell: ({ count }) => inDigits(count) },
  {
    label: 'Oldest',
    isNumber: true,
    cell: ({ oldestSeconds }) => (oldestSeconds === null ? '' : asDuration(oldestSeconds * 1000)),
  },
];

/** The queues: waiting and running work. */
export function QueuesPanel(): ReactNode {
  const answer = useQuery(QUEUES, {});
  const { reload } = answer;
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <ListCard
      title="Queues"
      note="Jobs, runs, deliveries and events that are not done, over all organisations."
      answer={answer}
      items={answer.data?.operatedQueues}
      columns={QUEUE_COLUMNS}
      rowKey={({ queue, part, status }) => `${queue} ${part} ${status}`}
      empty={<Empty title="Nothing waits">All work is done.</Empty>}
    />
  );
}

/** The events that a consumer could not process. */
export function LettersPanel(): ReactNode {
  const { api } = usePlace();
  const answer = useQuery(LETTERS, {});
  const { reload } = answer;
  const letters = answer.data?.operatedDeadLetters;
  const columns: Column<Letter>[] = [
    {
      label: 'Event',
      cell: ({ topic, key, event }) => (
        <details>
          <summary>{topic}</summary>
          <p className="code muted">{key}</p>
          <Json value={event} />
        </details>
      ),
    },
    { label: 'Consumer', cell: ({ group }) => group },
    { label: 'Reason', cell: ({ error }) => <span className="clamp">{error}</span> },
    { label: 'Since', cell: ({ createdAt }) => <Time iso={createdAt} /> },
    {
      label: 'Actions',
      cell: ({ id }) => (
        <ConfirmButton
          label="Replay"
          name={`Replay ${id}`}
          question="Send this event again?"
          kind="quiet"
          work={() => api.request(REPLAY, { id }).then(reload)}
        >
          Consumers that have handled it before pass over it.
        </ConfirmButton>
      ),
    },
  ];
  return (
    <ListCard
      title="Dead letters"
      note="Events that a consumer could not process."
      actions={
        letters !== undefined &&
        letters.length > 0 && (
          <ConfirmButton
            label="Replay all"
            kind="plain"
            question={`Send ${letters.length} events again?`}
            work={() => api.request(REPLAY, {}).then(reload)}
          >
            Consumers that have handled one before pass over it.
          </ConfirmButton>
        )
      }
      answer={answer}
      items={letters}
      columns={columns}
      rowKey={({ id }) => id}
      empty={<Empty title="No dead letters">Every event was processed.</Empty>}
    />
  );
}
