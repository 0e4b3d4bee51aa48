import { useState, type ReactNode } from 'react';
import { toFault } from '../data/fault.js';
import { usePlace, useQuery } from '../data/hooks.js';
import {
  CREATE_KEY,
  CREATE_KEY_BUDGET,
  KEYS,
  KEY_BUDGETS,
  REVOKE_KEY,
  ROTATE_KEY,
  UPDATE_KEY,
  isActive,
  type ApiKey,
  type KeyBudget,
} from '../data/keys.js';
import { useWholeList } from '../data/pages.js';
import { href } from '../route.js';
import { Badge, Button, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton, Dialog } from '../ui/dialog.js';
import { SelectField, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { Time, asDate, asWords, inDigits } from '../ui/format.js';
import { Meter } from '../ui/meter.js';
import { SecretDialog } from '../ui/secret.js';
import { DataTable, type Column } from '../ui/table.js';
import { useToast } from '../ui/toast.js';
import { KeyDialog } from './key-form.js';

/** The dialog that is open, and the key that it is for. */
type Open = { at: 'create' } | { at: 'edit' | 'rotate'; apiKey: ApiKey } | null;

function matches({ name, prefix, endUser, tags, models, createdBy }: ApiKey, text: string): boolean {
  const all = [name, prefix, endUser ?? '', createdBy, ...tags, ...(models ?? [])].join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => all.includes(word));
}

/** The organisation's keys. They can be created, changed, rotated and revoked; a new key's text is shown once. */
export function KeysPanel(): ReactNode {
  const {
    items: keys,
    fault,
    isLoading,
    reload: readKeys,
  } = useWholeList({ operation: KEYS, variables: {}, page: ({ apiKeys }) => apiKeys });
  const { data, reload: readBudgets } = useQuery(KEY_BUDGETS, {});
  const [open, setOpen] = useState<Open>(null);
  const [secret, setSecret] = useState<string>();
  const [text, setText] = useState('');
  const [isActiveOnly, setActiveOnly] = useState(false);
  const found = keys?.filter((key) => matches(key, text) && (!isActiveOnly || isActive(key)));
  const reload = (): void => {
    readKeys();
    readBudgets();
  };
  const show = (key: string | undefined): void => {
    setOpen(null);
    setSecret(key);
    reload();
  };
  return (
    <Card
      note="Programs use a key as the header Authorization: Bearer sk_…"
      actions={
        <Button kind="primary" onClick={() => setOpen({ at: 'create' })}>
          New key
        </Button>
      }
    >
      {keys === undefined && isLoading && <Loading />}
      <FaultNotice fault={fault} retry={reload} />
      {keys?.length === 0 && <Empty title="No keys yet">Make one to call the API from a program.</Empty>}
      {keys !== undefined && keys.length > 0 && (
        <Search text={text} isActiveOnly={isActiveOnly} onText={setText} onActiveOnly={setActiveOnly} />
      )}
      {keys !== undefined && keys.length > 0 && found?.length === 0 && <Empty title="No such key" />}
      {found !== undefined && found.length > 0 && (
        <KeyTable keys={found} budgets={data?.budgets.nodes ?? []} reload={reload} onOpen={setOpen} />
      )}
      <Dialogs open={open} onClose={() => setOpen(null)} onDone={show} />
      {secret !== undefined && (
        <SecretDialog
          title="Your new key"
          label="API key"
          value={secret}
          onClose={() => setSecret(undefined)}
        >
          Copy it now: it is shown only here. Whoever has it can spend the organisation’s quota.
        </SecretDialog>
      )}
    </Card>
  );
}

interface SearchProps {
  text: string;
  isActiveOnly: boolean;
  onText(text: string): void;
  onActiveOnly(isActiveOnly: boolean): void;
}

function Search({ text, isActiveOnly, onText, onActiveOnly }: SearchProps): ReactNode {
  return (
    <search className="filters">
      <TextField
        label="Search"
        name="search"
        type="search"
        placeholder="Key, tag, model, person"
        value={text}
        onChange={({ target }) => onText(target.value)}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={isActiveOnly}
          onChange={({ target }) => onActiveOnly(target.checked)}
        />
        Active only
      </label>
    </search>
  );
}

interface DialogsProps {
  open: Open;
  onClose(): void;
  /** Called when the dialog is done. @param key the text of the key, which is shown once */
  onDone(key?: string): void;
}

function Dialogs({ open, onClose, onDone }: DialogsProps): ReactNode {
  const { api } = usePlace();
  const tell = useToast();
  if (open === null) return null;
  if (open.at === 'rotate') return <RotateDialog apiKey={open.apiKey} onClose={onClose} onDone={onDone} />;
  if (open.at === 'edit') {
    const { id, name } = open.apiKey;
    return (
      <KeyDialog
        title={`Edit ${name}`}
        apiKey={open.apiKey}
        onClose={onClose}
        save={(input) => api.request(UPDATE_KEY, { id, input }).then(() => onDone())}
      />
    );
  }
  return (
    <KeyDialog
      title="New key"
      onClose={onClose}
      save={async (entries, limit) => {
        const { createApiKey } = await api.request(CREATE_KEY, { input: entries });
        const { key, apiKey } = createApiKey;
        // The key exists even if creating its budget fails. Its text must be shown in any case.
        if (limit !== '') {
          const { id: subject, name } = apiKey;
          const input = { name, scope: 'key', subject, unit: 'usd', limit, period: 'month' } as const;
          await api
            .request(CREATE_KEY_BUDGET, { input })
            .catch((thrown: unknown) => tell(`The budget was not made: ${toFault(thrown).message}`));
        }
        onDone(key);
      }}
    />
  );
}

const OVERLAPS = [
  { value: '86400', label: 'For a day' },
  { value: '3600', label: 'For an hour' },
  { value: '604800', label: 'For a week' },
  { value: '0', label: 'Not at all: it may be known to others' },
];

function RotateDialog({
  apiKey: { id, name },
  onClose,
  onDone,
}: Omit<DialogsProps, 'open'> & { apiKey: ApiKey }): ReactNode {
  const { api } = usePlace();
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const overlapSeconds = Number(entered(form, 'overlap'));
    const { rotateApiKey } = await api.request(ROTATE_KEY, { id, overlapSeconds });
    onDone(rotateApiKey.key);
  });
  return (
    <Dialog title={`Rotate ${name}`} onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
        <p>The key gets a new secret. Its limits, budgets and records stay.</p>
        <SelectField label="The old secret stays valid" name="overlap">
          {OVERLAPS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <FormFault fault={fault} fields={[]} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Rotate
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

interface TableProps {
  keys: readonly ApiKey[];
  budgets: readonly KeyBudget[];
  reload(): void;
  onOpen(open: Open): void;
}

function KeyTable({ keys, budgets, reload, onOpen }: TableProps): ReactNode {
  const columns: Column<ApiKey>[] = [
    {
      label: 'Name',
      cell: ({ name, prefix, createdBy }) => (
        <>
          <strong>{name}</strong>
          <br />
          <span className="code muted">{prefix}…</span> <span className="muted">{createdBy}</span>
        </>
      ),
    },
    { label: 'May do', cell: (key) => <Allowed apiKey={key} /> },
    { label: 'This month', isNumber: true, cell: ({ spend }) => `$${spend}` },
    {
      label: 'Budgets',
      cell: ({ id }) => (
        <Budgets budgets={budgets.filter(({ scope, subject }) => scope === 'key' && subject === id)} />
      ),
    },
    {
      label: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : <Time iso={lastUsedAt} />),
    },
    { label: 'State', cell: (key) => <KeyState apiKey={key} /> },
    { label: 'Actions', cell: (key) => <KeyActions apiKey={key} reload={reload} onOpen={onOpen} /> },
  ];
  return <DataTable caption="API keys" columns={columns} items={keys} rowKey={({ id }) => id} />;
}

function Allowed({ apiKey: { scopes, models, rate, endUser, tags } }: { apiKey: ApiKey }): ReactNode {
  const lines = [
    scopes.join(', '),
    models === null ? '' : `with ${models.join(', ')}`,
    rate === null ? '' : `${inDigits(rate.rpm)} calls a minute, ${inDigits(rate.burst)} at once`,
    endUser === null ? '' : `for ${endUser}`,
    tags.length === 0 ? '' : `tagged ${tags.join(', ')}`,
  ].filter((line) => line !== '');
  return <span className="muted allowed">{lines.join('; ')}</span>;
}

function Budgets({ budgets }: { budgets: readonly KeyBudget[] }): ReactNode {
  if (budgets.length === 0) return null;
  return budgets.map(({ id, name, unit, limit, spent, period }) => {
    const [most, gone] = [Number(limit), Number(spent)];
    const sign = unit === 'usd' ? '$' : '';
    return (
      <div key={id} className="tight" title={name}>
        <Meter label={`${name} spent`} percent={most === 0 ? 100 : (gone / most) * 100} />
        <a className="muted" href={href('settings', 'budgets')}>
          {sign}
          {inDigits(gone)} of {sign}
          {inDigits(most)} {unit === 'usd' ? '' : asWords(unit).toLowerCase()} a {period}
        </a>
      </div>
    );
  });
}

function KeyState({ apiKey }: { apiKey: ApiKey }): ReactNode {
  const { expiresAt, revokedAt } = apiKey;
  if (revokedAt !== null) return <Badge tone="bad">revoked</Badge>;
  if (!isActive(apiKey)) return <Badge tone="bad">expired</Badge>;
  return (
    <>
      <Badge tone="good">active</Badge>
      {expiresAt !== null && <span className="muted"> until {asDate(expiresAt)}</span>}
    </>
  );
}

function KeyActions({
  apiKey,
  reload,
  onOpen,
}: Pick<TableProps, 'reload' | 'onOpen'> & { apiKey: ApiKey }): ReactNode {
  const { api } = usePlace();
  const { id, name, revokedAt } = apiKey;
  if (revokedAt !== null) return null;
  return (
    <div className="row-actions">
      <Button kind="quiet" aria-label={`Edit ${name}`} onClick={() => onOpen({ at: 'edit', apiKey })}>
        Edit
      </Button>
      <Button kind="quiet" aria-label={`Rotate ${name}`} onClick={() => onOpen({ at: 'rotate', apiKey })}>
        Rotate
      </Button>
      <ConfirmButton
        label="Revoke"
        name={`Revoke ${name}`}
        question={`Revoke ${name}?`}
        work={() => api.request(REVOKE_KEY, { id }).then(reload)}
      >
        Calls with this key are refused from now on, and its open connections are closed. This cannot be
        undone.
      </ConfirmButton>
    </div>
  );
}
