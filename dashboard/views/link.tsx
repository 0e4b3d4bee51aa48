import { useEffect, useState, type FormEvent, type ReactNode } from 'react';
import { choosePassword, readLink, type LinkOwner, type Session } from '../data/auth.js';
import { Fault, toFault } from '../data/fault.js';
import { useAction } from '../data/hooks.js';
import { href, replaceRoute } from '../route.js';
import { Button, FaultNotice, Loading } from '../ui/basics.js';
import { TextField, entered } from '../ui/field.js';
import { Gate } from './gate.js';

/** The shortest password that the server takes. */
export const MIN_PASSWORD = 12;

interface LinkProps {
  token: string;
  onEnter(session: Session): void;
}

/** A one-time link: whose it is, and their new password. */
export function LinkView({ token, onEnter }: LinkProps): ReactNode {
  const [owner, setOwner] = useState<LinkOwner>();
  const [fault, setFault] = useState<Fault>();
  useEffect(() => {
    readLink(token).then(setOwner, (thrown) => setFault(toFault(thrown)));
  }, [token]);
  const action = useAction(async (form: HTMLFormElement) => {
    const password = entered(form, 'password');
    if (password !== entered(form, 'repeatedPassword'))
      throw new Fault('The two passwords differ', { status: 400, param: 'repeatedPassword' });
    const session = await choosePassword(token, password);
    replaceRoute();
    onEnter(session);
  });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void action.run(event.currentTarget);
  };
  const isElsewhere = action.fault !== undefined && !/password/i.test(action.fault.param ?? '');
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
      {owner !== undefined && (
        <form className="form" onSubmit={submit}>
          <p>
            For <strong>{owner.email}</strong>
          </p>
          <input type="hidden" name="username" autoComplete="username" value={owner.email} />
          <TextField
            label="New password"
            name="password"
            type="password"
            autoComplete="new-password"
            minLength={MIN_PASSWORD}
            maxLength={200}
            hint={`At least ${MIN_PASSWORD} characters.`}
            fault={action.fault}
            required
            autoFocus
          />
          <TextField
            label="Repeat it"
            name="repeatedPassword"
            type="password"
            autoComplete="new-password"
            fault={action.fault}
            required
          />
          <FaultNotice fault={isElsewhere ? action.fault : undefined} />
          <Button type="submit" kind="primary" isBusy={action.isBusy}>
            Set password and sign in
          </Button>
        </form>
      )}
    </Gate>
  );
}
