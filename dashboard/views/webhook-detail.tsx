import { useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { useAction, usePlace, useQuery, useRights } from '../data/hooks.js';
import {
  DELETE_WEBHOOK,
  ONE_WEBHOOK,
  ROTATE_SECRET,
  TEST_WEBHOOK,
  UPDATE_WEBHOOK,
  type Webhook,
} from '../data/webhooks.js';
import { go, href } from '../route.js';
import { Button, Card, FaultNotice, Loading, Notice } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { Time, asDuration } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { DeliveriesCard } from './webhook-deliveries.js';
import { WebhookDialog } from './webhook-form.js';
import { RecoverDialog } from './webhook-recover.js';
import { SuccessRate, WebhookSecret, WebhookState } from './webhooks.js';

/** One webhook with its settings, its state and its deliveries. */
export function WebhookView(): ReactNode {
  const { id } = useParams({ from: '/webhooks/$id' });
  const { canManage } = useRights();
  const { data, fault, isLoading, reload } = useQuery(ONE_WEBHOOK, { id });
  const [turn, setTurn] = useState(0);
  const webhook = data?.webhook;
  const refresh = (): void => {
    reload();
    setTurn(turn + 1);
  };
  return (
    <PageFrame
      title={webhook?.name ?? 'Webhook'}
      note={webhook && <span className="code">{webhook.url}</span>}
      back={{ href: href('webhooks'), label: 'Webhooks' }}
      actions={webhook && canManage && <WebhookActions webhook={webhook} refresh={reload} />}
    >
      <FaultNotice fault={fault} retry={reload} />
      {webhook === undefined && isLoading && <Loading rows={4} />}
      {webhook && <StateCard webhook={webhook} refresh={refresh} />}
      {webhook && <DeliveriesCard key={turn} webhookId={id} onRetried={reload} />}
    </PageFrame>
  );
}

interface WebhookProps {
  webhook: Webhook;
  refresh(): void;
}

function WebhookActions({ webhook, refresh }: WebhookProps): ReactNode {
  const { api } = usePlace();
  const { id, name } = webhook;
  const [isEditing, setEditing] = useState(false);
  return (
    <>
      <Button onClick={() => setEditing(true)}>Edit</Button>
      <ConfirmButton
        kind="plain"
        label="Delete"
        question={`Delete ${name}?`}
        work={() => api.request(DELETE_WEBHOOK, { id }).then(() => go('webhooks'))}
      >
        Its pending deliveries end with it. This cannot be undone.
      </ConfirmButton>
      {isEditing && (
        <WebhookDialog
          title={`Edit ${name}`}
          webhook={webhook}
          onClose={() => setEditing(false)}
          save={async (input) => {
            await api.request(UPDATE_WEBHOOK, { id, input });
            setEditing(false);
            refresh();
          }}
        />
      )}
    </>
  );
}

function StateCard({ webhook, refresh }: WebhookProps): ReactNode {
  const { canManage } = useRights();
  const { events, disabledReason, consecutiveFailures, lastDeliveryAt, format, customHeaders } = webhook;
  const headers = Object.keys(customHeaders as Record<string, string>);
  return (
    <Card title="State">
      <dl className="facts">
        <dt>State</dt>
        <dd>
          <WebhookState webhook={webhook} />
        </dd>
        {disabledReason !== null && (
          <>
            <dt>Disabled because</dt>
            <dd>{disabledReason}</dd>
          </>
        )}
        <dt>Arrived, 7 days</dt>
        <dd>
          <SuccessRate outcomes={webhook.recent} />
        </dd>
        <dt>Failures in a row</dt>
        <dd>{consecutiveFailures}</dd>
        <dt>Last attempt</dt>
        <dd>{lastDeliveryAt === null ? 'none yet' : <Time iso={lastDeliveryAt} />}</dd>
        <dt>Body</dt>
        <dd>{format === 'slack' ? 'A sentence for Slack' : 'The event as JSON'}</dd>
        {headers.length > 0 && (
          <>
            <dt>Own headers</dt>
            <dd className="code">{headers.join(', ')}</dd>
          </>
        )}
        <dt>Events</dt>
        <dd>{events.join(', ')}</dd>
      </dl>
      {canManage && <Controls webhook={webhook} refresh={refresh} />}
    </Card>
  );
}

/** The result of an attempt in one line. */
function outcome(
  attempt: { statusCode: number | null; error: string | null; durationMs: number } | undefined,
): string {
  if (attempt === undefined) return 'No attempt was made';
  const { statusCode, error, durationMs } = attempt;
  return error === null ? `Acknowledged with ${statusCode} in ${asDuration(durationMs)}` : `Failed: ${error}`;
}

function Controls({ webhook: { id, enabled }, refresh }: { webhook: Webhook; refresh(): void }): ReactNode {
  const { api } = usePlace();
  const [secret, setSecret] = useState<string>();
  const [isRecovering, setRecovering] = useState(false);
  const [tested, setTested] = useState<{ isGood: boolean; text: string }>();
  const toggle = useAction(() =>
    api.request(UPDATE_WEBHOOK, { id, input: { enabled: !enabled } }).then(refresh),
  );
  const test = useAction(async () => {
    setTested(undefined);
    const { testWebhook } = await api.request(TEST_WEBHOOK, { id });
    setTested({ isGood: testWebhook.status === 'succeeded', text: outcome(testWebhook.attempts.at(-1)) });
    refresh();
  });
  const rotate = async (): Promise<void> => {
    const { rotateWebhookSecret } = await api.request(ROTATE_SECRET, { id });
    setSecret(rotateWebhookSecret.secret ?? '');
  };
  return (
    <>
      <div className="actions">
        <Button kind={enabled ? 'plain' : 'primary'} isBusy={toggle.isBusy} onClick={() => void toggle.run()}>
          {enabled ? 'Disable' : 'Enable again'}
        </Button>
        <Button isBusy={test.isBusy} onClick={() => void test.run()}>
          Send a test
        </Button>
        <Button onClick={() => setRecovering(true)}>Recover events</Button>
        <ConfirmButton kind="plain" label="Rotate secret" question="Rotate the signing secret?" work={rotate}>
          For a day deliveries are signed with both the old secret and the new one, so that your server can be
          changed over without losing an event.
        </ConfirmButton>
      </div>
      {!enabled && (
        <p className="hint">Enabling it clears the count of failures; waiting deliveries go on.</p>
      )}
      <FaultNotice fault={toggle.fault ?? test.fault} />
      {tested && <Notice kind={tested.isGood ? 'good' : 'fault'}>Test: {tested.text}</Notice>}
      {isRecovering && <RecoverDialog id={id} onClose={() => setRecovering(false)} onRecovered={refresh} />}
      {secret !== undefined && <WebhookSecret secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}
