import { useState, type ReactNode } from 'react';
import { usePlace, useQuery, useRights } from '../data/hooks.js';
import { CREATE_WEBHOOK, WEBHOOKS, type Webhook } from '../data/webhooks.js';
import { href } from '../route.js';
import { Badge, Button, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { Time, inDigits } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { SecretDialog } from '../ui/secret.js';
import { DataTable, type Column } from '../ui/table.js';
import { EventCatalogue } from './webhook-catalogue.js';
import { WebhookDialog } from './webhook-form.js';

/** Whether the webhook is enabled, and if not, the reason. */
export function WebhookState({ webhook }: { webhook: Webhook }): ReactNode {
  const { enabled, disabledReason, consecutiveFailures } = webhook;
  if (!enabled) return <Badge tone={disabledReason === null ? 'calm' : 'bad'}>disabled</Badge>;
  if (consecutiveFailures === 0) return <Badge tone="good">enabled</Badge>;
  return <Badge tone="bad">failing, {consecutiveFailures} in a row</Badge>;
}

/** The share of finished deliveries that succeeded. */
export function SuccessRate({
  outcomes: { succeeded, failed, pending },
}: {
  outcomes: Webhook['recent'];
}): ReactNode {
  const decided = succeeded + failed;
  const waiting = pending === 0 ? '' : `, ${inDigits(pending)} waiting`;
  if (decided === 0) return <span className="muted">none{waiting}</span>;
  const percent = Math.floor((succeeded / decided) * 1000) / 10;
  return (
    <>
      <Badge tone={percent < 95 ? 'bad' : percent < 100 ? 'busy' : 'good'}>{inDigits(percent)} %</Badge>{' '}
      <span className="muted whole">
        of {inDigits(decided)}
        {waiting}
      </span>
    </>
  );
}

const COLUMNS: Column<Webhook>[] = [
  {
    label: 'Webhook',
    cell: ({ id, name, url }) => (
      <>
        <a href={href('webhooks', id)}>{name}</a>
        <br />
        <span className="code muted">{url}</span>
      </>
    ),
  },
  { label: 'Events', cell: ({ events }) => <span title={events.join('\n')}>{events.length}</span> },
  { label: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
  { label: 'Arrived, 7 days', cell: ({ recent }) => <SuccessRate outcomes={recent} /> },
  {
    label: 'Last attempt',
    cell: ({ lastDeliveryAt }) => (lastDeliveryAt === null ? 'none yet' : <Time iso={lastDeliveryAt} />),
  },
];

/** The organisation's webhooks. */
export function WebhooksView(): ReactNode {
  const { api } = usePlace();
  const { canManage } = useRights();
  const { data, fault, isLoading, reload } = useQuery(WEBHOOKS, {});
  const [isCreating, setCreating] = useState(false);
  const [secret, setSecret] = useState<string>();
  const webhooks = data?.webhooks.nodes ?? [];
  return (
    <PageFrame
      title="Webhooks"
      note="Signed events over HTTPS, tried again until they arrive."
      actions={
        canManage && (
          <Button kind="primary" onClick={() => setCreating(true)}>
            New webhook
          </Button>
        )
      }
    >
      <Card>
        {data === undefined && isLoading && <Loading />}
        <FaultNotice fault={fault} retry={reload} />
        {data && webhooks.length === 0 && (
          <Empty title="No webhooks yet">They tell your own server what happens here.</Empty>
        )}
        {webhooks.length > 0 && (
          <DataTable caption="Webhooks" columns={COLUMNS} items={webhooks} rowKey={({ id }) => id} />
        )}
      </Card>
      <EventCatalogue />
      {isCreating && (
        <WebhookDialog
          title="New webhook"
          onClose={() => setCreating(false)}
          save={async (input) => {
            const { createWebhook } = await api.request(CREATE_WEBHOOK, { input });
            setCreating(false);
            setSecret(createWebhook.secret ?? '');
            reload();
          }}
        />
      )}
      {secret !== undefined && <WebhookSecret secret={secret} onClose={() => setSecret(undefined)} />}
    </PageFrame>
  );
}

/** Shows the secret after the webhook was created or the secret was rotated. It is not shown again. */
export function WebhookSecret({ secret, onClose }: { secret: string; onClose(): void }): ReactNode {
  return (
    <SecretDialog title="Signing secret" label="Secret" value={secret} onClose={onClose}>
      Copy it now: it is shown only here. Your server needs it to check the signatures.
    </SecretDialog>
  );
}
