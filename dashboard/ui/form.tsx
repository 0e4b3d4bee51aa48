import type { FormEvent, ReactNode } from 'react';
import { Fault } from '../data/fault.js';
import { useAction } from '../data/hooks.js';
import { FaultNotice } from './basics.js';
import { TextField, entered } from './field.js';

/** The state of a form, and its handler for submission. */
export interface Form {
  onSubmit(event: FormEvent<HTMLFormElement>): void;
  isBusy: boolean;
  fault: Fault | undefined;
}

/** Handles the submission of a form. @param work gets the form; a fault that it throws is shown at the field that it names, or by `FormFault` */
export function useForm(work: (form: HTMLFormElement) => Promise<unknown>): Form {
  const { run, isBusy, fault } = useAction(work);
  return {
    onSubmit: (event) => {
      event.preventDefault();
      void run(event.currentTarget);
    },
    isBusy,
    fault,
  };
}

/** Shows a fault that none of the form's own fields shows. */
export function FormFault({
  fault,
  fields,
}: {
  fault: Fault | undefined;
  fields: readonly string[];
}): ReactNode {
  return <FaultNotice fault={fields.includes(fault?.param ?? '') ? undefined : fault} />;
}

/** The minimum length of a password that the server accepts. */
const MIN_PASSWORD = 12;
const REPEATED = 'repeatedPassword';

interface NewPasswordProps {
  name: string;
  fault: Fault | undefined;
  autoFocus?: boolean;
}

/** Two fields for a new password. It is typed twice because the text is hidden. */
export function NewPasswordFields({ name, fault, autoFocus = false }: NewPasswordProps): ReactNode {
  const shared = { type: 'password', autoComplete: 'new-password', required: true, fault };
  return (
    <>
      <TextField
        label="New password"
        name={name}
        minLength={MIN_PASSWORD}
        maxLength={200}
        hint={`At least ${MIN_PASSWORD} characters.`}
        autoFocus={autoFocus}
        {...shared}
      />
      <TextField label="Repeat it" name={REPEATED} {...shared} />
    </>
  );
}

/** Reads the new password from the two fields. @throws Fault if they differ */
export function newPassword(form: HTMLFormElement, name: string): string {
  const password = entered(form, name);
  if (password !== entered(form, REPEATED))
    throw new Fault('The two passwords differ', { status: 400, param: REPEATED });
  return password;
}

/** The names of the two fields. */
export const newPasswordNames = (name: string): string[] => [name, REPEATED];
