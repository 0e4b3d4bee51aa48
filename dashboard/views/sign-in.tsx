import { useEffect, useState, type ReactNode } from 'react';
import { OIDC_ADDRESS, readOptions, signIn, type Session, type SignInOptions } from '../data/auth.js';
import { Button, FaultNotice, Notice } from '../ui/basics.js';
import { TextField, entered } from '../ui/field.js';
import { useForm } from '../ui/form.js';
import { Gate } from './gate.js';

interface SignInProps {
  /** A session was there and ended: whoever was at work is told why they stand here. */
  hasEnded: boolean;
  onEnter(session: Session): void;
}

const PASSWORD_ONLY: SignInOptions = { password: true, oidc: null };

/** What the identity provider's way back says went wrong (`?error=`). It is shown once: a reload begins anew. */
function takeError(): string | null {
  const error = new URLSearchParams(window.location.search).get('error');
  if (error !== null) window.history.replaceState(null, '', window.location.pathname + window.location.hash);
  return error;
}

/** E-mail and password, or the identity provider where one is configured. */
export function SignInView({ hasEnded, onEnter }: SignInProps): ReactNode {
  const [error] = useState(takeError);
  const [options, setOptions] = useState(PASSWORD_ONLY);
  useEffect(() => {
    readOptions().then(setOptions, () => undefined);
  }, []);
  return (
    <Gate title="Sign in">
      {error !== null && <Notice kind="fault">{error}</Notice>}
      {options.oidc !== null && (
        <a className="button button-plain wide" href={OIDC_ADDRESS}>
          Sign in with {options.oidc.name}
        </a>
      )}
      {options.oidc !== null && options.password && <p className="or">or</p>}
      {options.password && <PasswordForm hasEnded={hasEnded} onEnter={onEnter} />}
    </Gate>
  );
}

function PasswordForm({ hasEnded, onEnter }: SignInProps): ReactNode {
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    onEnter(await signIn(entered(form, 'email'), entered(form, 'password')));
  });
  return (
    <form className="form" onSubmit={onSubmit}>
      {hasEnded && fault === undefined && (
        <Notice kind="note">Your session has ended. Please sign in again.</Notice>
      )}
      <TextField label="E-mail" name="email" type="email" autoComplete="username" required autoFocus />
      <TextField label="Password" name="password" type="password" autoComplete="current-password" required />
      <FaultNotice fault={fault} />
      <Button type="submit" kind="primary" isBusy={isBusy}>
        Sign in
      </Button>
      <p className="hint">
        No password, or forgotten it? An owner or admin of your organisation can make you a link.
      </p>
    </form>
  );
}
