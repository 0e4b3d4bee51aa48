import { useEffect, useState, type ReactNode } from 'react';
import { choosePassword, readLink, type LinkOwner, type Session } from '../data/auth.js';
import { toFault, type Fault } from '../data/fault.js';
import { href, replaceRoute } from '../route.js';
import { Button, FaultNotice, Loading } from '../ui/basics.js';
import { FormFault, NewPasswordFields, newPassword, newPasswordNames, useForm } from '../ui/form.js';
import { Gate } from './gate.js';

interface LinkProps {
  token: string;
  onEnter(session: Session): void;
}

/** The page of a one-time link: it shows whom the link is for, and asks for a new password. */
export function LinkView({ token, onEnter }: LinkProps): ReactNode {
  const [owner, setOwner] = useState<LinkOwner>();
  const [fault, setFault] = useState<Fault>();
  useEffect(() => {
    readLink(token).then(setOwner, (thrown) => setFault(toFault(thrown)));
  }, [token]);
  return (
    <Gate title="Choose a password">
      {owner === undefined && fault === undefined && <Loading />}
      <FaultNotice fault={fault} />
      {fault !== undefined && (
        <p>
          Links work once and for seven days. <a href={href()}>Sign in</a> if you have a password, or ask for
          a new link.
        </p>
      )}
      {owner !== undefined && <PasswordForm token={token} email={owner.email} onEnter={onEnter} />}
    </Gate>
  );
}

function PasswordForm({ token, email, onEnter }: LinkProps & { email: string }): ReactNode {
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const session = await choosePassword(token, newPassword(form, 'password'));
    replaceRoute();
    onEnter(session);
  });
  return (
    <form className="form" onSubmit={onSubmit}>
      <p>
        For <strong>{email}</strong>
      </p>
      <input type="hidden" name="username" autoComplete="username" value={email} />
      <NewPasswordFields name="password" fault={fault} autoFocus />
      <FormFault fault={fault} fields={newPasswordNames('password')} />
      <Button type="submit" kind="primary" isBusy={isBusy}>
        Set password and sign in
      </Button>
    </form>
  );
}
