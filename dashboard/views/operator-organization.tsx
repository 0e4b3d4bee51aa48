import { useParams } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import { usePlace, useQuery } from '../data/hooks.js';
import {
  CHANGE_PLAN,
  ONE_ORGANIZATION,
  OPERATED_KEYS,
  PLANS,
  REVOKE_OPERATED_KEY,
  TOP_UP,
  planLabel,
  type BucketName,
  type OperatedKey,
  type OperatedOrganization,
  type PlanCode,
} from '../data/operator.js';
import { useWholeList } from '../data/pages.js';
import { href } from '../route.js';
import { Badge, Button, Card, Empty, FaultNotice, Loading, Notice } from '../ui/basics.js';
import { ConfirmButton } from '../ui/dialog.js';
import { SelectField, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { Time, asAmount, asDate, asWords, inDigits } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { QuotaTiles } from '../ui/quota-tiles.js';
import { DataTable, type Column } from '../ui/table.js';
import { asDollars } from './operator-organizations.js';

const UNLIMITED = -1;

interface Shown {
  organization: OperatedOrganization;
  refresh(): void;
}

/** One organisation with its plan, its quota and its keys. */
export function OrganizationView(): ReactNode {
  const { id } = useParams({ from: '/operator/organizations/$id' });
  const { data, fault, isLoading, reload } = useQuery(ONE_ORGANIZATION, { id });
  const keys = useWholeList({
    operation: OPERATED_KEYS,
    variables: { id },
    page: ({ operatedApiKeys }) => operatedApiKeys,
  });
  const refresh = (): void => {
    reload();
    keys.reload();
  };
  const organization = data?.operatedOrganization;
  return (
    <PageFrame
      title={organization?.name ?? 'Organisation'}
      note={<span className="code">{id}</span>}
      back={{ href: href('operator', 'organizations'), label: 'Organisations' }}
    >
      <FaultNotice fault={fault ?? keys.fault} retry={refresh} />
      {data === undefined && isLoading && <Loading rows={5} />}
      {organization && (
        <>
          <div className="pair">
            <PlanCard organization={organization} refresh={reload} />
            <TopUpCard organization={organization} refresh={reload} />
          </div>
          <QuotaCard organization={organization} />
          {keys.items && <KeysCard organizationId={id} keys={keys.items} refresh={refresh} />}
        </>
      )}
    </PageFrame>
  );
}

function PlanCard({ organization, refresh }: Shown): ReactNode {
  const { api } = usePlace();
  const { id, planCode, entitled, createdAt, periodEnd, members, usage } = organization;
  const [chosen, setChosen] = useState<PlanCode>(planCode);
  return (
    <Card title="Plan">
      <dl className="facts">
        <dt>Plan</dt>
        <dd>
          {planLabel(planCode)}{' '}
          {entitled ? <Badge tone="good">active</Badge> : <Badge tone="bad">ended</Badge>}
        </dd>
        <dt>Period ends</dt>
        <dd>{asDate(periodEnd)}</dd>
        <dt>Made</dt>
        <dd>{asDate(createdAt)}</dd>
        <dt>People</dt>
        <dd>{inDigits(members)}</dd>
        <dt>Last 30 days</dt>
        <dd>
          {inDigits(usage?.requests ?? 0)} calls, {inDigits(usage?.errors ?? 0)} failed, $
          {asDollars(usage?.costUsd ?? '0')}
        </dd>
      </dl>
      <div className="inline-form">
        <SelectField
          label="Change to"
          name="planCode"
          value={chosen}
          onChange={({ target }) => setChosen(target.value as PlanCode)}
        >
          {PLANS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        {chosen !== planCode && (
          <ConfirmButton
            kind="plain"
            label="Change plan"
            question={`Change to ${planLabel(chosen)}?`}
            work={() => api.request(CHANGE_PLAN, { organizationId: id, planCode: chosen }).then(refresh)}
          >
            The limits of {planLabel(chosen)} hold at once. What was used in this period stays counted.
          </ConfirmButton>
        )}
      </div>
    </Card>
  );
}

function TopUpCard({ organization: { id, quotas }, refresh }: Shown): ReactNode {
  const { api } = usePlace();
  const [added, setAdded] = useState<string>();
  const buckets = quotas.filter(({ bucket, limit }) => bucket !== 'chat_tokens' && limit !== UNLIMITED);
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    setAdded(undefined);
    const bucket = entered(form, 'bucket') as BucketName;
    const amount = Number(entered(form, 'amount'));
    await api.request(TOP_UP, { organizationId: id, bucket, amount });
    form.reset();
    setAdded(asAmount(amount, bucket));
    refresh();
  });
  return (
    <Card title="Top up" note="Units that do not expire.">
      <form className="form" onSubmit={onSubmit}>
        <SelectField label="Bucket" name="bucket" fault={fault}>
          {buckets.map(({ bucket }) => (
            <option key={bucket} value={bucket}>
              {asWords(bucket)}
            </option>
          ))}
        </SelectField>
        <TextField
          label="Amount"
          name="amount"
          type="number"
          min={0.01}
          step={0.01}
          hint="Credits are whole numbers."
          fault={fault}
          required
        />
        <FormFault fault={fault} fields={['bucket', 'amount']} />
        {added !== undefined && <Notice kind="good">Added {added}.</Notice>}
        <div className="actions">
          <Button type="submit" isBusy={isBusy}>
            Top up
          </Button>
        </div>
      </form>
    </Card>
  );
}

function QuotaCard({ organization: { quotas } }: Pick<Shown, 'organization'>): ReactNode {
  return (
    <Card title="Quota in this period">
      <QuotaTiles quotas={quotas} />
    </Card>
  );
}

function KeyState({ apiKey: { expiresAt, revokedAt } }: { apiKey: OperatedKey }): ReactNode {
  if (revokedAt !== null) return <Badge tone="bad">revoked</Badge>;
  const isOver = expiresAt !== null && new Date(expiresAt) <= new Date();
  return isOver ? <Badge tone="bad">expired</Badge> : <Badge tone="good">active</Badge>;
}

function KeysCard({
  organizationId,
  keys,
  refresh,
}: {
  organizationId: string;
  keys: readonly OperatedKey[];
  refresh(): void;
}): ReactNode {
  const { api } = usePlace();
  const columns: Column<OperatedKey>[] = [
    {
      label: 'Name',
      cell: ({ name, prefix }) => (
        <>
          <strong>{name}</strong> <span className="code muted">{prefix}…</span>
        </>
      ),
    },
    { label: 'Made by', cell: ({ createdBy }) => createdBy },
    { label: 'Made', cell: ({ createdAt }) => <Time iso={createdAt} /> },
    {
      label: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time iso={lastUsedAt} />),
    },
    { label: 'State', cell: (key) => <KeyState apiKey={key} /> },
    {
      label: 'Actions',
      cell: ({ id, name, revokedAt }) =>
        revokedAt === null && (
          <ConfirmButton
            label="Revoke"
            name={`Revoke ${name}`}
            question={`Revoke ${name}?`}
            work={() => api.request(REVOKE_OPERATED_KEY, { organizationId, id }).then(refresh)}
          >
            Calls with this key are refused from now on, and its open connections are closed. This cannot be
            undone.
          </ConfirmButton>
        ),
    },
  ];
  return (
    <Card title="API keys">
      {keys.length === 0 ? (
        <Empty title="No keys" />
      ) : (
        <DataTable caption="API keys" columns={columns} items={keys} rowKey={({ id }) => id} />
      )}
    </Card>
  );
}
