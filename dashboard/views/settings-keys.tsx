import { useState, type ReactNode } from 'react';
import { graphql, type ResultOf } from '../data/graphql.js';
import { usePlace, useQuery } from '../data/hooks.js';
import { KEY_SCOPES } from '../data/words.generated.js';
import { Badge, Button, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton, Dialog } from '../ui/dialog.js';
import { Choices, SelectField, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { Time, asDate } from '../ui/format.js';
import { SecretDialog } from '../ui/secret.js';
import { DataTable, type Column } from '../ui/table.js';

const KEYS = graphql(`
  query ApiKeys {
    apiKeys {
      id
      name
      prefix
      scopes
      expiresAt
      revokedAt
      lastUsedAt
      createdAt
      models
      spend
    }
  }
`);

const CREATE_KEY = graphql(`
  mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) {
      key
    }
  }
`);

const REVOKE_KEY = graphql(`
  mutation RevokeApiKey($id: ID!) {
    revokeApiKey(id: $id) {
      success
    }
  }
`);

type ApiKey = ResultOf<typeof KEYS>['apiKeys'][number];
type Scope = ApiKey['scopes'][number];

/** `image_edit` and `jobs` are names that nothing asks for: they are not offered. */
const SCOPES: readonly { value: Scope; label: string; note: string }[] = KEY_SCOPES.filter(
  ({ value }) => value !== 'image_edit' && value !== 'jobs',
).map(({ value, note }) => ({ value, label: value, note }));

const DAYS = [30, 90, 365];

/** The organisation's keys: made, shown once, revoked. */
export function KeysPanel(): ReactNode {
  const { data, fault, isLoading, reload } = useQuery(KEYS, {});
  const [isCreating, setCreating] = useState(false);
  const [created, setCreated] = useState<string>();
  const keys = data?.apiKeys;
  return (
    <Card
      note="Programs use a key as the header Authorization: Bearer sk_…"
      actions={
        <Button kind="primary" onClick={() => setCreating(true)}>
          New key
        </Button>
      }
    >
      {keys === undefined && isLoading && <Loading />}
      <FaultNotice fault={fault} retry={reload} />
      {keys?.length === 0 && <Empty title="No keys yet">Make one to call the API from a program.</Empty>}
      {keys !== undefined && keys.length > 0 && <KeyTable keys={keys} reload={reload} />}
      {isCreating && (
        <CreateKeyDialog
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setCreating(false);
            setCreated(key);
            reload();
          }}
        />
      )}
      {created !== undefined && (
        <SecretDialog
          title="Your new key"
          label="API key"
          value={created}
          onClose={() => setCreated(undefined)}
        >
          Copy it now: it is shown only here. Whoever has it can spend the organisation’s quota.
        </SecretDialog>
      )}
    </Card>
  );
}

function KeyTable({ keys, reload }: { keys: ApiKey[]; reload(): void }): ReactNode {
  const { api } = usePlace();
  const columns: Column<ApiKey>[] = [
    {
      label: 'Name',
      cell: ({ name, prefix }) => (
        <>
          <strong>{name}</strong> <span className="code muted">{prefix}…</span>
        </>
      ),
    },
    {
      label: 'May do',
      cell: ({ scopes, models }) => (
        <span className="muted">
          {scopes.join(', ')}
          {models !== null && <>; with {models.join(', ')}</>}
        </span>
      ),
    },
    { label: 'This month', isNumber: true, cell: ({ spend }) => `$${spend}` },
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
            work={() => api.request(REVOKE_KEY, { id }).then(reload)}
          >
            Calls with this key are refused from now on, and its open connections are closed. This cannot be
            undone.
          </ConfirmButton>
        ),
    },
  ];
  return <DataTable caption="API keys" columns={columns} items={keys} rowKey={({ id }) => id} />;
}

function KeyState({ apiKey: { expiresAt, revokedAt } }: { apiKey: ApiKey }): ReactNode {
  if (revokedAt !== null) return <Badge tone="bad">revoked</Badge>;
  if (expiresAt === null) return <Badge tone="good">active</Badge>;
  if (new Date(expiresAt) <= new Date()) return <Badge tone="bad">expired</Badge>;
  return (
    <>
      <Badge tone="good">active</Badge> <span className="muted">until {asDate(expiresAt)}</span>
    </>
  );
}

interface CreateKeyProps {
  onClose(): void;
  onCreated(key: string): void;
}

function CreateKeyDialog({ onClose, onCreated }: CreateKeyProps): ReactNode {
  const { api } = usePlace();
  const [scopes, setScopes] = useState<ReadonlySet<string>>(() => new Set(SCOPES.map(({ value }) => value)));
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const days = Number(entered(form, 'expires'));
    const expiresAt = days === 0 ? null : new Date(Date.now() + days * 86_400_000).toISOString();
    const input = { name: entered(form, 'name'), scopes: [...scopes] as Scope[], expiresAt };
    const { createApiKey } = await api.request(CREATE_KEY, { input });
    onCreated(createApiKey.key);
  });
  return (
    <Dialog title="New key" onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
        <TextField
          label="Name"
          name="name"
          maxLength={100}
          placeholder="Production server"
          fault={fault}
          required
        />
        <Choices
          legend="Scopes"
          name="scopes"
          choices={SCOPES}
          chosen={scopes}
          fault={fault}
          onChange={setScopes}
        />
        <SelectField label="Expires" name="expires" defaultValue="0">
          <option value="0">Never</option>
          {DAYS.map((days) => (
            <option key={days} value={days}>
              In {days} days
            </option>
          ))}
        </SelectField>
        <FormFault fault={fault} fields={['name', 'scopes', 'expiresAt']} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy} disabled={scopes.size === 0}>
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
