import { useState, type FormEvent, type ReactNode } from 'react';
import { Fault } from '../data/fault.js';
import { graphql } from '../data/graphql.js';
import { useAction, usePlace } from '../data/hooks.js';
import { Button, Card, FaultNotice, Notice } from '../ui/basics.js';
import { TextField, entered } from '../ui/field.js';
import { MIN_PASSWORD } from './link.js';

const CHANGE_PASSWORD = graphql(`
  mutation ChangePassword($input: ChangePasswordInput!) {
    changePassword(input: $input) {
      success
    }
  }
`);

const FIELDS = ['currentPassword', 'newPassword', 'repeatedPassword'];

/** One's own password, changed by whoever knows the current one. */
export function PasswordPanel(): ReactNode {
  const { api, email } = usePlace();
  const [isDone, setDone] = useState(false);
  const action = useAction(async (form: HTMLFormElement) => {
    setDone(false);
    const [currentPassword = '', newPassword = '', repeated] = FIELDS.map((name) => entered(form, name));
    if (newPassword !== repeated)
      throw new Fault('The two passwords differ', { status: 400, param: 'repeatedPassword' });
    await api.request(CHANGE_PASSWORD, { input: { currentPassword, newPassword } });
    form.reset();
    setDone(true);
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void action.run(event.currentTarget);
  };
  const { fault } = action;
  const more = { type: 'password', fault, required: true };
  return (
    <Card note={email}>
      <form className="form narrow" onSubmit={submit}>
        <input type="hidden" name="username" autoComplete="username" value={email} />
        <TextField
          label="Current password"
          name="currentPassword"
          autoComplete="current-password"
          {...more}
        />
        <TextField
          label="New password"
          name="newPassword"
          autoComplete="new-password"
          minLength={MIN_PASSWORD}
          maxLength={200}
          hint={`At least ${MIN_PASSWORD} characters.`}
          {...more}
        />
        <TextField label="Repeat it" name="repeatedPassword" autoComplete="new-password" {...more} />
        <FaultNotice fault={FIELDS.includes(fault?.param ?? '') ? undefined : fault} />
        {isDone && <Notice kind="good">Your password has been changed.</Notice>}
        <Button type="submit" kind="primary" isBusy={action.isBusy}>
          Change password
        </Button>
      </form>
    </Card>
  );
}
