import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useRequests, type Request } from '../data/requests.js';
import { readRequestFilter } from '../data/request-filter.js';
import { Badge, Card, Empty, type Tone } from '../ui/basics.js';
import { CallFilters } from '../ui/call-filters.js';
import { Filters, TextFilter } from '../ui/filters.js';
import { Time, asAmount, asDuration, asWords, inDigits } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { PagedTable, type Column } from '../ui/table.js';

function toneOf({ state, status }: Request): Tone {
  if (status === 'failed') return 'bad';
  if (state === 'reserved') return 'busy';
  return status === 'succeeded' ? 'good' : 'calm';
}

const stateOf = ({ state, status }: Request): string =>
  state === 'reserved' ? 'under way' : (status ?? (state === 'settled' ? 'charged' : 'released'));

const clientOf = ({ client: { serviceClient, clientName, userAgent } }: Request): string | undefined =>
  clientName ?? serviceClient ?? userAgent?.split(' ')[0];

/** A link to the job, run or response that a request belongs to. */
function Subject({ request: { jobId, run, response } }: { request: Request }): ReactNode {
  return (
    <>
      {jobId !== null && (
        <Link to="/jobs/$id" params={{ id: jobId }}>
          Job
        </Link>
      )}{' '}
      {run !== null && (
        <Link to="/agents/$id/$runId" params={{ id: run.agentId, runId: run.id }}>
          Run
        </Link>
      )}{' '}
      {response !== null && (
        <Link to="/responses/$id" params={{ id: response.id }}>
          Response
        </Link>
      )}
    </>
  );
}

function Amounts({ request: { amounts, granted } }: { request: Request }): ReactNode {
  return [
    ...amounts.map(({ bucket, amount }) => asAmount(amount, bucket)),
    ...granted.map(({ bucket, amount }) => `+${asAmount(amount, bucket)}`),
  ].join(', ');
}

/** The details of a request that are seldom needed. */
function Further({ request }: { request: Request }): ReactNode {
  const { requestId, provider, answeredModelId, modelId, firstTokenMs, endUser, tags, tokens } = request;
  const facts = [
    ['Request', requestId],
    ['Provider', provider],
    ['Answered by', answeredModelId === modelId ? null : answeredModelId],
    ['First token', firstTokenMs === null ? null : asDuration(firstTokenMs)],
    ['Cached input', tokens?.cachedInput ? inDigits(tokens.cachedInput) : null],
    ['Reasoning', tokens?.reasoning ? inDigits(tokens.reasoning) : null],
    ['End user', endUser],
    ['Tags', tags.length > 0 ? tags.join(', ') : null],
    ['Client', clientOf(request) ?? null],
  ].filter(([, value]) => value !== null);
  if (facts.length === 0) return null;
  return (
    <details>
      <summary>More</summary>
      <dl className="facts facts-small">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

const COLUMNS: Column<Request>[] = [
  { label: 'When', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  {
    label: 'Operation',
    cell: (request) => (
      <>
        {asWords(request.operation)} <Subject request={request} />
        <Further request={request} />
      </>
    ),
  },
  {
    label: 'Model',
    cell: ({ modelId, key }) => (
      <>
        <span className="code">{modelId}</span>
        {key && <span className="muted line">{key.name}</span>}
      </>
    ),
  },
  {
    label: 'State',
    cell: (request) => (
      <>
        <Badge tone={toneOf(request)}>{stateOf(request)}</Badge>
        {request.errorCode !== null && <span className="reason line">{asWords(request.errorCode)}</span>}
      </>
    ),
  },
  {
    label: 'Tokens',
    isNumber: true,
    cell: ({ tokens }) => tokens && `${inDigits(tokens.input)} → ${inDigits(tokens.output)}`,
  },
  { label: 'Latency', isNumber: true, cell: ({ latencyMs }) => latencyMs !== null && asDuration(latencyMs) },
  { label: 'Charged', isNumber: true, cell: (request) => <Amounts request={request} /> },
  { label: 'Cost', isNumber: true, cell: ({ costUsd }) => (costUsd === null ? 'unknown' : `$${costUsd}`) },
];

/** All records of usage, newest first. */
export function RequestsView(): ReactNode {
  const search = useSearch({ from: '/requests' });
  const navigate = useNavigate({ from: '/requests' });
  const pages = useRequests(search);
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  const choose = (changed: Record<string, string>): void =>
    void navigate({ search: readRequestFilter({ ...search, ...changed }) });
  return (
    <PageFrame
      title="Requests"
      note="Each operation reserves its price, and is settled to what it really took."
    >
      <Filters isFiltered={isFiltered} to="/requests">
        <CallFilters search={search} onChoose={choose} />
        <TextFilter label="From" name="from" type="date" value={search.from} onChoose={choose} />
        <TextFilter label="To" name="to" type="date" value={search.to} onChoose={choose} />
      </Filters>
      <Card note="Live" title="Newest first">
        <PagedTable
          caption="Requests, newest first"
          columns={COLUMNS}
          pages={pages}
          rowKey={({ id }) => id}
          empty={
            <Empty title={isFiltered ? 'No such requests' : 'Nothing used'}>
              {isFiltered
                ? 'Others may be there: change the filters.'
                : 'Calls appear here as soon as they are made.'}
            </Empty>
          }
        />
      </Card>
    </PageFrame>
  );
}
