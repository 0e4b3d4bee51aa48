import { useState, type ReactNode } from 'react';
import { usePlace } from '../data/hooks.js';
import { RECOVER } from '../data/webhooks.js';
import { Button, Notice } from '../ui/basics.js';
import { Dialog } from '../ui/dialog.js';
import { TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';

interface RecoverProps {
  id: string;
  onClose(): void;
  onRecovered(): void;
}

const DAY_MS = 86_400_000;

/** Formats a time for a `datetime-local` input, in the browser's time zone. */
function localTime(at: Date): string {
  const shifted = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return shifted.toISOString().slice(0, 16);
}

/** Sends failed deliveries again, and events that were missed while the webhook was disabled. */
export function RecoverDialog({ id, onClose, onRecovered }: RecoverProps): ReactNode {
  const { api } = usePlace();
  const [count, setCount] = useState<number>();
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const until = entered(form, 'until');
    const input = {
      since: new Date(entered(form, 'since')).toISOString(),
      ...(until === '' ? {} : { until: new Date(until).toISOString() }),
    };
    const { recoverWebhook } = await api.request(RECOVER, { id, input });
    setCount(recoverWebhook.recovered);
    onRecovered();
  });
  return (
    <Dialog title="Recover events" onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
        <p>Events of this time that failed, or were missed while the webhook was disabled, are sent again.</p>
        <div className="field-row">
          <TextField
            label="From"
            name="since"
            type="datetime-local"
            defaultValue={localTime(new Date(Date.now() - DAY_MS))}
            fault={fault}
            required
          />
          <TextField label="Until" name="until" type="datetime-local" hint="Empty: now." fault={fault} />
        </div>
        <FormFault fault={fault} fields={['since', 'until']} />
        {count !== undefined && (
          <Notice kind="good">{count === 1 ? '1 event is' : `${count} events are`} on the way again.</Notice>
        )}
        <div className="dialog-actions">
          <Button onClick={onClose}>Close</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Recover
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
