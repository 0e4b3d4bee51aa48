import { useState, type ReactNode } from 'react';
import { Fault } from '../data/fault.js';
import type { Webhook } from '../data/webhooks.js';
import { WEBHOOK_EVENTS } from '../data/words.generated.js';
import { Button } from '../ui/basics.js';
import { Dialog } from '../ui/dialog.js';
import { Choices, SelectField, TextArea, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';

/** The entered values of a webhook. */
export interface WebhookEntries {
  name: string;
  url: string;
  events: string[];
  format: Webhook['format'];
  customHeaders?: Record<string, string>;
}

interface WebhookDialogProps {
  title: string;
  /** Undefined for a new webhook. */
  webhook?: Webhook;
  onClose(): void;
  save(entries: WebhookEntries): Promise<unknown>;
}

/** The formats of a delivery's body. */
const FORMATS = [
  { value: 'json', label: 'The event as JSON' },
  { value: 'slack', label: 'A sentence for Slack' },
] as const;

/** The events that are chosen for a new webhook. */
const USUAL = ['generation.completed', 'generation.failed'];

const shownHeaders = (webhook: Webhook | undefined): string =>
  Object.entries((webhook?.customHeaders ?? {}) as Record<string, string>)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

/** Parses lines such as `Name: value`. If nothing was changed, the field is left out. @throws Fault if a line has another form */
function headersOf(text: string, webhook: Webhook | undefined): Pick<WebhookEntries, 'customHeaders'> {
  if (text === shownHeaders(webhook).trim()) return {};
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const customHeaders = lines.map((line) => {
    const at = line.indexOf(':');
    if (at < 1)
      throw new Fault(`“${line.slice(0, 60)}” is no header: write Name: value`, {
        status: 400,
        param: 'customHeaders',
      });
    return [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  });
  return { customHeaders: Object.fromEntries(customHeaders) as Record<string, string> };
}

/** The dialog that creates or changes a webhook. */
export function WebhookDialog({ title, webhook, onClose, save }: WebhookDialogProps): ReactNode {
  const [events, setEvents] = useState<ReadonlySet<string>>(() => new Set(webhook?.events ?? USUAL));
  const { fault, isBusy, onSubmit } = useForm((form) =>
    save({
      name: entered(form, 'name'),
      url: entered(form, 'url'),
      events: [...events],
      format: entered(form, 'format') as Webhook['format'],
      ...headersOf(entered(form, 'customHeaders'), webhook),
    }),
  );
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
        <Texts webhook={webhook} fault={fault} />
        <Choices
          legend="Events"
          name="events"
          choices={WEBHOOK_EVENTS.map((value) => ({ value, label: value }))}
          chosen={events}
          fault={fault}
          onChange={setEvents}
        />
        <FormFault fault={fault} fields={['name', 'url', 'events', 'customHeaders']} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy} disabled={events.size === 0}>
            {webhook === undefined ? 'Create webhook' : 'Save'}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function Texts({ webhook, fault }: { webhook: Webhook | undefined; fault: Fault | undefined }): ReactNode {
  return (
    <>
      <TextField
        label="Name"
        name="name"
        maxLength={100}
        defaultValue={webhook?.name}
        fault={fault}
        required
      />
      <TextField
        label="Address"
        name="url"
        type="url"
        placeholder="https://example.com/penstock"
        hint="HTTPS only."
        defaultValue={webhook?.url}
        fault={fault}
        required
      />
      <SelectField label="Body" name="format" defaultValue={webhook?.format ?? FORMATS[0].value}>
        {FORMATS.map(({ value, label }) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </SelectField>
      <TextArea
        label="Own headers"
        name="customHeaders"
        rows={2}
        spellCheck={false}
        placeholder="Authorization: Bearer …"
        hint="One in each line. Whoever manages webhooks can read them."
        defaultValue={shownHeaders(webhook)}
        fault={fault}
      />
    </>
  );
}
