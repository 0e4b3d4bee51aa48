import type { FormEvent, ReactNode } from 'react';
import { Fault } from '../data/fault.js';
import { useAction } from '../data/hooks.js';
import { FaultNotice } from './basics.js';
import { TextField, entered } from './field.js';

/** A form that does its work when it is sent. */
export interface Form {
  onSubmit(event: FormEvent<HTMLFormElement>): void;
  isBusy: boolean;
  fault: Fault | undefined;
}

/** @param work gets the form to read; what it throws is shown at the field that it names, or by `FormFault` */
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

/** What is wrong, where none of the form's own fields says it already. */
export function FormFault({
  fault,
  fields,
}: {
  fault: Fault | undefined;
  fields: readonly string[];
}): ReactNode {
  return <FaultNotice fault={fields.includes(fault?.param ?? '') ? undefined : fault} />;
}

/** The shortest password that the server takes. */
const MIN_PASSWORD = 12;
const REPEATED = 'repeatedPassword';

interface NewPasswordProps {
  name: string;
  fault: Fault | undefined;
  autoFocus?: boolean;
}

/** A new password, twice: nobody sees what they type. */
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

/** The password of such a pair. @throws Fault where they differ */
export function newPassword(form: HTMLFormElement, name: string): string {
  const password = entered(form, name);
  if (password !== entered(form, REPEATED))
    throw new Fault('The two passwords differ', { status: 400, param: REPEATED });
  return password;
}

/** Names of the fields of such a pair. */
export const newPasswordNames = (name: string): string[] => [name, REPEATED];
