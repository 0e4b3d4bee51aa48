import { useState, type ReactNode } from 'react';
import { Fault } from '../data/fault.js';
import { SCOPES, type ApiKey, type Scope } from '../data/keys.js';
import { Button } from '../ui/basics.js';
import { Dialog } from '../ui/dialog.js';
import { Choices, SelectField, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';

/** The entered values of a key. */
export interface KeyEntries {
  name: string;
  scopes: Scope[];
  /** ISO 8601. If it is undefined, the expiry does not change. */
  expiresAt?: string | null;
  models: string[] | null;
  rate: { rpm: number; burst: number } | null;
  endUser: string | null;
  tags: string[];
}

interface KeyDialogProps {
  title: string;
  /** Undefined for a new key. */
  apiKey?: ApiKey;
  onClose(): void;
  /** Saves the key. @param budgetUsd the budget for a month; empty: none. The form asks for it only for a new key */
  save(entries: KeyEntries, budgetUsd: string): Promise<unknown>;
}

const DAYS = [30, 90, 365];
const DAY_MS = 86_400_000;
const KEEP = 'keep';

const listOf = (text: string): string[] =>
  text
    .split(/[\s,]+/)
    .map((one) => one.trim())
    .filter((one) => one !== '');

function expiryOf(form: HTMLFormElement): Pick<KeyEntries, 'expiresAt'> {
  const chosen = entered(form, 'expires');
  if (chosen === KEEP) return {};
  const days = Number(chosen);
  return { expiresAt: days === 0 ? null : new Date(Date.now() + days * DAY_MS).toISOString() };
}

/** Reads the rate limit. @throws Fault if only one of its two numbers is given */
function rateOf(form: HTMLFormElement): KeyEntries['rate'] {
  const [rpm, burst] = [entered(form, 'rpm'), entered(form, 'burst')];
  if (rpm === '' && burst === '') return null;
  if (rpm === '') throw new Fault('Calls per minute are missing', { status: 400, param: 'rpm' });
  return { rpm: Number(rpm), burst: Number(burst === '' ? rpm : burst) };
}

function entriesOf(form: HTMLFormElement, scopes: ReadonlySet<string>): KeyEntries {
  const models = listOf(entered(form, 'models'));
  const endUser = entered(form, 'endUser');
  return {
    name: entered(form, 'name'),
    scopes: [...scopes] as Scope[],
    models: models.length === 0 ? null : models,
    rate: rateOf(form),
    endUser: endUser === '' ? null : endUser,
    tags: listOf(entered(form, 'tags')),
    ...expiryOf(form),
  };
}

const FIELDS = ['name', 'scopes', 'models', 'rpm', 'endUser', 'tags', 'expiresAt'];

/** The dialog that creates or changes a key. */
export function KeyDialog({ title, apiKey, onClose, save }: KeyDialogProps): ReactNode {
  const [scopes, setScopes] = useState<ReadonlySet<string>>(
    () => new Set(apiKey?.scopes ?? SCOPES.map(({ value }) => value)),
  );
  const { fault, isBusy, onSubmit } = useForm((form) =>
    save(entriesOf(form, scopes), entered(form, 'budget')),
  );
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
        <TextField
          label="Name"
          name="name"
          maxLength={100}
          placeholder="Production server"
          defaultValue={apiKey?.name}
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
        <SelectField label="Expires" name="expires" defaultValue={apiKey === undefined ? '0' : KEEP}>
          {apiKey !== undefined && <option value={KEEP}>As it is</option>}
          <option value="0">Never</option>
          {DAYS.map((days) => (
            <option key={days} value={days}>
              In {days} days
            </option>
          ))}
        </SelectField>
        <details open={apiKey !== undefined}>
          <summary>Limits and attribution</summary>
          <div className="form limits">
            <Limits apiKey={apiKey} fault={fault} />
          </div>
        </details>
        <FormFault fault={fault} fields={FIELDS} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy} disabled={scopes.size === 0}>
            {apiKey === undefined ? 'Create key' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Limits({ apiKey, fault }: { apiKey: ApiKey | undefined; fault: Fault | undefined }): ReactNode {
  return (
    <>
      <TextField
        label="Models"
        name="models"
        placeholder="All"
        hint="Ids, or a provider’s as acme/*, with commas between them."
        defaultValue={apiKey?.models?.join(', ')}
        fault={fault}
      />
      <div className="field-row">
        <TextField
          label="Calls per minute"
          name="rpm"
          type="number"
          min={1}
          placeholder="The plan’s"
          defaultValue={apiKey?.rate?.rpm}
          fault={fault}
        />
        <TextField
          label="At once"
          name="burst"
          type="number"
          min={1}
          placeholder="The same"
          defaultValue={apiKey?.rate?.burst}
          fault={fault}
        />
      </div>
      <TextField
        label="End user"
        name="endUser"
        maxLength={256}
        placeholder="Whom each call says"
        defaultValue={apiKey?.endUser ?? undefined}
        fault={fault}
      />
      <TextField
        label="Tags"
        name="tags"
        placeholder="team:web, production"
        hint="They stand on every record of this key."
        defaultValue={apiKey?.tags.join(', ')}
        fault={fault}
      />
      {apiKey === undefined && (
        <TextField
          label="Monthly budget in USD"
          name="budget"
          inputMode="decimal"
          pattern="\d+(\.\d{1,9})?"
          placeholder="None"
          fault={fault}
        />
      )}
    </>
  );
}
