import { useState, type ReactNode } from 'react';
import type { Webhook } from '../data/webhooks.js';
import { WEBHOOK_EVENTS } from '../data/words.generated.js';
import { Button } from '../ui/basics.js';
import { Dialog } from '../ui/dialog.js';
import { Choices, SelectField, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';

/** What is entered of a webhook. */
export interface WebhookEntries {
  name: string;
  url: string;
  events: string[];
  format: Webhook['format'];
}

interface WebhookDialogProps {
  title: string;
  /** Absent where a new one is made. */
  webhook?: Webhook;
  onClose(): void;
  save(entries: WebhookEntries): Promise<unknown>;
}

/** How a delivery is written. */
const FORMATS = [
  { value: 'json', label: 'The event as JSON' },
  { value: 'slack', label: 'A sentence for Slack' },
] as const;

/** What a new one listens to, until something else is chosen. */
const USUAL = ['generation.completed', 'generation.failed'];

/** Makes or changes a webhook. */
export function WebhookDialog({ title, webhook, onClose, save }: WebhookDialogProps): ReactNode {
  const [events, setEvents] = useState<ReadonlySet<string>>(() => new Set(webhook?.events ?? USUAL));
  const { fault, isBusy, onSubmit } = useForm((form) =>
    save({
      name: entered(form, 'name'),
      url: entered(form, 'url'),
      events: [...events],
      format: entered(form, 'format') as Webhook['format'],
    }),
  );
  return (
    <Dialog title={title} onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
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
        <Choices
          legend="Events"
          name="events"
          choices={WEBHOOK_EVENTS.map((value) => ({ value, label: value }))}
          chosen={events}
          fault={fault}
          onChange={setEvents}
        />
        <FormFault fault={fault} fields={['name', 'url', 'events']} />
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
