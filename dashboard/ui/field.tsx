import {
  useId,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react';
import type { Fault } from '../data/fault.js';

interface Labelled {
  label: string;
  hint?: ReactNode;
  /** Shown at this field if the fault is about this field, by its `name`. */
  fault?: Fault | undefined;
  name: string;
}

interface FrameProps extends Labelled {
  id: string;
  children: ReactNode;
}

function Frame({ id, label, hint, fault, name, children }: FrameProps): ReactNode {
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {fault?.param === name && (
        <p className="field-fault" id={`${id}-fault`} role="alert">
          {fault.message}
        </p>
      )}
    </div>
  );
}

function described({ hint, fault, name }: Labelled, id: string): Record<string, string | boolean> {
  const isWrong = fault?.param === name;
  const ids = [hint === undefined ? '' : `${id}-hint`, isWrong ? `${id}-fault` : ''].filter(
    (part) => part !== '',
  );
  return {
    ...(ids.length > 0 && { 'aria-describedby': ids.join(' ') }),
    ...(isWrong && { 'aria-invalid': true }),
  };
}

/** A text field with a label, a hint and its fault. */
export function TextField(props: Labelled & InputHTMLAttributes<HTMLInputElement>): ReactNode {
  const { label: _label, hint: _hint, fault: _fault, ...rest } = props;
  const id = useId();
  return (
    <Frame {...props} id={id}>
      <input id={id} {...rest} {...described(props, id)} />
    </Frame>
  );
}

/** A text field with several lines. */
export function TextArea(props: Labelled & TextareaHTMLAttributes<HTMLTextAreaElement>): ReactNode {
  const { label: _label, hint: _hint, fault: _fault, ...rest } = props;
  const id = useId();
  return (
    <Frame {...props} id={id}>
      <textarea id={id} {...rest} {...described(props, id)} />
    </Frame>
  );
}

/** A field to choose one of several options. */
export function SelectField(props: Labelled & SelectHTMLAttributes<HTMLSelectElement>): ReactNode {
  const { label: _label, hint: _hint, fault: _fault, ...rest } = props;
  const id = useId();
  return (
    <Frame {...props} id={id}>
      <select id={id} {...rest} {...described(props, id)} />
    </Frame>
  );
}

interface ChoicesProps {
  legend: string;
  name: string;
  choices: readonly { value: string; label: string; note?: string }[];
  chosen: ReadonlySet<string>;
  fault?: Fault | undefined;
  onChange(chosen: ReadonlySet<string>): void;
}

/** Check boxes for any number of options, with a button that chooses all of them. */
export function Choices({ legend, name, choices, chosen, fault, onChange }: ChoicesProps): ReactNode {
  const isAll = chosen.size === choices.length;
  const toggle = (value: string): void => {
    const next = new Set(chosen);
    if (!next.delete(value)) next.add(value);
    onChange(next);
  };
  return (
    <fieldset className="choices">
      <legend>{legend}</legend>
      <button
        type="button"
        className="link choices-all"
        onClick={() => onChange(isAll ? new Set() : new Set(choices.map(({ value }) => value)))}
      >
        {isAll ? 'Select none' : 'Select all'}
      </button>
      <div className="choices-grid">
        {choices.map(({ value, label, note }) => (
          <label key={value} title={note}>
            <input type="checkbox" name={name} checked={chosen.has(value)} onChange={() => toggle(value)} />
            <span>{label}</span>
          </label>
        ))}
      </div>
      {fault?.param === name && (
        <p className="field-fault" role="alert">
          {fault.message}
        </p>
      )}
    </fieldset>
  );
}

/** The entered value of a form's field. It is trimmed, except for passwords. */
export function entered(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  const text = typeof value === 'string' ? value : '';
  return /password/i.test(name) ? text : text.trim();
}
