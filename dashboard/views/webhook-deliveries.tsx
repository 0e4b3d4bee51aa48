import { useState, type ReactNode } from 'react';
import { useAction, usePlace, useRights } from '../data/hooks.js';
import { usePages } from '../data/pages.js';
import { DELIVERIES, RETRY_DELIVERY, type Delivery, type DeliveryStatus } from '../data/webhooks.js';
import { Badge, Button, Card, Empty, FaultNotice, type Tone } from '../ui/basics.js';
import { SelectField } from '../ui/field.js';
import { Time, asDuration } from '../ui/format.js';
import { Json } from '../ui/media.js';
import { PagedTable, type Column } from '../ui/table.js';

const TONES: Record<DeliveryStatus, Tone> = { pending: 'busy', succeeded: 'good', failed: 'bad' };
const STATUSES: DeliveryStatus[] = ['pending', 'succeeded', 'failed'];
const PAGE = 20;

interface DeliveriesProps {
  webhookId: string;
  /** Called after a retry, because the webhook's count of failures may have changed. */
  onRetried(): void;
}

/** The deliveries of a webhook with their attempts and the responses. */
export function DeliveriesCard({ webhookId, onRetried }: DeliveriesProps): ReactNode {
  const { canManage } = useRights();
  const [status, setStatus] = useState('');
  const pages = usePages({
    operation: DELIVERIES,
    variables: { webhookId, first: PAGE, ...(status === '' ? {} : { status: status as DeliveryStatus }) },
    page: ({ webhookDeliveries }) => webhookDeliveries,
  });
  const again = (): void => {
    pages.reload();
    onRetried();
  };
  const columns: Column<Delivery>[] = [
    { label: 'Event', cell: (delivery) => <Event delivery={delivery} /> },
    { label: 'State', cell: (delivery) => <State delivery={delivery} /> },
    { label: 'Happened', cell: ({ createdAt }) => <Time iso={createdAt} /> },
    { label: 'Attempts', cell: (delivery) => <Attempts delivery={delivery} /> },
    { label: 'Sent', cell: (delivery) => <Sent delivery={delivery} /> },
  ];
  if (canManage)
    columns.push({
      label: 'Actions',
      cell: (delivery) => <Retry delivery={delivery} webhookId={webhookId} onRetried={again} />,
    });
  return (
    <Card
      title="Deliveries"
      actions={
        <>
          <SelectField
            label="State"
            name="status"
            value={status}
            onChange={({ target }) => setStatus(target.value)}
          >
            <option value="">All</option>
            {STATUSES.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </SelectField>
          <Button onClick={pages.reload}>Refresh</Button>
        </>
      }
    >
      <PagedTable
        caption="Deliveries, newest first"
        columns={columns}
        pages={pages}
        rowKey={({ id }) => id}
        empty={<Empty title="No deliveries">Events of the listed types are sent as they happen.</Empty>}
      />
    </Card>
  );
}

function Event({ delivery: { eventType, eventId } }: { delivery: Delivery }): ReactNode {
  return (
    <>
      {eventType}
      <br />
      <span className="code muted whole">{eventId}</span>
    </>
  );
}

function State({ delivery: { status, nextAttemptAt } }: { delivery: Delivery }): ReactNode {
  return (
    <>
      <Badge tone={TONES[status]}>{status}</Badge>
      {nextAttemptAt !== null && (
        <span className="muted whole">
          {' '}
          {new Date(nextAttemptAt) > new Date() ? (
            <>
              next <Time iso={nextAttemptAt} />
            </>
          ) : (
            'due'
          )}
        </span>
      )}
    </>
  );
}

function Attempts({ delivery: { attempts } }: { delivery: Delivery }): ReactNode {
  if (attempts.length === 0) return 'none yet';
  return (
    <details>
      <summary>{attempts.length === 1 ? '1 attempt' : `${attempts.length} attempts`}</summary>
      <ol className="attempts">
        {attempts.map(({ startedAt, durationMs, statusCode, error, responseBody }) => (
          <li key={startedAt}>
            <Time iso={startedAt} />: {error ?? `acknowledged with ${statusCode}`}, {asDuration(durationMs)}
            {responseBody !== null && responseBody !== '' && (
              <pre className="json">{responseBody.slice(0, 1000)}</pre>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}

/** The headers and the body of a delivery, exactly as they were sent. */
function Sent({ delivery: { request } }: { delivery: Delivery }): ReactNode {
  if (request === null) return <span className="muted">deleted</span>;
  const headers = Object.entries(request.headers as Record<string, string>);
  return (
    <details>
      <summary>Request</summary>
      <pre className="json" tabIndex={0} aria-label="Headers">
        {headers.map(([name, value]) => `${name}: ${value}`).join('\n')}
      </pre>
      <Json value={request.body} />
    </details>
  );
}

function Retry({
  delivery: { id, eventType },
  webhookId,
  onRetried,
}: DeliveriesProps & { delivery: Delivery }): ReactNode {
  const { api } = usePlace();
  const retry = useAction(() => api.request(RETRY_DELIVERY, { id, webhookId }).then(onRetried));
  return (
    <>
      <Button
        kind="quiet"
        isBusy={retry.isBusy}
        aria-label={`Retry ${eventType}`}
        onClick={() => void retry.run()}
      >
        Retry
      </Button>
      <FaultNotice fault={retry.fault} />
    </>
  );
}
