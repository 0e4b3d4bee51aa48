import { useEffect, useState, type ReactNode } from 'react';
import { OIDC_ADDRESS, readOptions, signIn, type Session, type SignInOptions } from '../data/auth.js';
import { Button, FaultNotice, Notice } from '../ui/basics.js';
import { TextField, entered } from '../ui/field.js';
import { useForm } from '../ui/form.js';
import { Gate } from './gate.js';

interface SignInProps {
  /** Whether a session has ended. The page then explains to the person why it is shown. */
  hasEnded: boolean;
  onEnter(session: Session): void;
}

const PASSWORD_ONLY: SignInOptions = { password: true, oidc: null };

/** The error that the identity provider returned (`?error=`). It is shown once: it is removed from the address. */
function takeError(): string | null {
  const error = new URLSearchParams(window.location.search).get('error');
  if (error !== null) window.history.replaceState(null, '', window.location.pathname + window.location.hash);
  return error;
}

/** Sign-in by e-mail and password, or by the identity provider if one is configured. */
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
