import { useState, type ReactNode } from 'react';
import { graphql } from '../data/graphql.js';
import { usePlace } from '../data/hooks.js';
import { Button, Card, Notice } from '../ui/basics.js';
import { TextField, entered } from '../ui/field.js';
import { FormFault, NewPasswordFields, newPassword, newPasswordNames, useForm } from '../ui/form.js';

const CHANGE_PASSWORD = graphql(`
  mutation ChangePassword($input: ChangePenstockPasswordInput!) {
    changePenstockPassword(input: $input) {
      person {
        id
        email
      }
    }
  }
`);

const FIELDS = ['currentPassword', ...newPasswordNames('newPassword')];

/** Changes the person's own password. The current password is required. */
export function PasswordPanel(): ReactNode {
  const { api, email } = usePlace();
  const [isDone, setDone] = useState(false);
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    setDone(false);
    const input = {
      currentPassword: entered(form, 'currentPassword'),
      newPassword: newPassword(form, 'newPassword'),
    };
    await api.request(CHANGE_PASSWORD, { input });
    form.reset();
    setDone(true);
  });
  return (
    <Card note={`You are ${email}. A new password ends your sessions in other browsers.`}>
      <form className="form narrow" onSubmit={onSubmit}>
        <input type="hidden" name="username" autoComplete="username" value={email} />
        <TextField
          label="Current password"
          name="currentPassword"
          type="password"
          autoComplete="current-password"
          fault={fault}
          required
        />
        <NewPasswordFields name="newPassword" fault={fault} />
        <FormFault fault={fault} fields={FIELDS} />
        {isDone && <Notice kind="good">Your password has been changed.</Notice>}
        <Button type="submit" kind="primary" isBusy={isBusy}>
          Change password
        </Button>
      </form>
    </Card>
  );
}
