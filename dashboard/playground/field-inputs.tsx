import { useEffect, useId, useState, type ReactNode } from 'react';
import { fileOf } from '../data/files.js';
import type { Fault } from '../data/fault.js';
import { Button } from '../ui/basics.js';
import { SelectField, TextArea, TextField } from '../ui/field.js';
import { asWords } from '../ui/format.js';
import { shownFields, type Field, type Values } from './fields.js';
import { MaskEditor } from './mask-editor.js';
import { readFile } from './read-file.js';
import { Recorder } from './recorder.js';

interface InputsProps {
  fields: readonly Field[];
  values: Values;
  fault: Fault | undefined;
  onChange(name: string, value: string): void;
}

/** REST spells the names of parameters with underscores, and a fault may use that spelling. */
const faultOf = (fault: Fault | undefined, name: string): Fault | undefined => {
  const plain = fault?.param?.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return plain === name && fault !== undefined ? Object.assign(fault, { param: name }) : undefined;
};

/** The inputs of all fields that are shown now. */
export function FieldInputs({ fields, values, fault, onChange }: InputsProps): ReactNode {
  return shownFields(fields, values).map((field) => (
    <Input
      key={field.name}
      field={field}
      values={values}
      fault={faultOf(fault, field.name)}
      onChange={(value) => onChange(field.name, value)}
    />
  ));
}

interface InputProps {
  field: Field;
  values: Values;
  fault: Fault | undefined;
  onChange(value: string): void;
}

function Input({ field, values, fault, onChange }: InputProps): ReactNode {
  const { name, label, hint, isRequired = false } = field;
  const value = values[name] ?? '';
  const shared = { name, label, value, fault, ...(hint === undefined ? {} : { hint }), required: isRequired };
  const change = ({ target }: { target: { value: string } }): void => onChange(target.value);
  switch (field.kind) {
    case 'number': {
      const { min, max, step, placeholder } = field;
      return (
        <TextField
          {...shared}
          type="number"
          {...{ min, max, placeholder }}
          step={step ?? 1}
          onChange={change}
        />
      );
    }
    case 'choice':
      return (
        <SelectField {...shared} required={false} onChange={change}>
          {field.choices.map((one) => (
            <option key={one} value={one}>
              {one === ''
                ? 'Default'
                : asWords(one.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`))}
            </option>
          ))}
        </SelectField>
      );
    case 'check':
      return (
        <label className="check">
          <input
            type="checkbox"
            name={name}
            checked={value === 'on'}
            onChange={({ target }) => onChange(target.checked ? 'on' : '')}
          />
          {label}
        </label>
      );
    case 'file':
      return <FileInput field={field} value={value} onChange={onChange} />;
    case 'mask': {
      const image = values[field.of] ?? '';
      if (image === '') return null;
      return <MaskEditor key={image} label={label} image={fileOf(image)?.href ?? image} onDrawn={onChange} />;
    }
    case 'text':
      if (field.rows === undefined)
        return <TextField {...shared} placeholder={field.placeholder} onChange={change} />;
      return <TextArea {...shared} rows={field.rows} placeholder={field.placeholder} onChange={change} />;
    default:
      return (
        <TextArea {...shared} rows={field.rows ?? 4} placeholder={field.placeholder} onChange={change} />
      );
  }
}

interface FileProps {
  field: Field & { kind: 'file' };
  value: string;
  onChange(value: string): void;
}

/** An input for a file from the computer, or for a recording from the microphone. */
function FileInput({
  field: { name, label, accept, canRecord, isRequired },
  value,
  onChange,
}: FileProps): ReactNode {
  const id = useId();
  const [known, setKnown] = useState('');
  const take = (url: string, title: string): void => {
    setKnown(title);
    onChange(url);
  };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="file"
        name={name}
        accept={accept}
        required={isRequired === true && value === ''}
        onChange={({ target: { files } }) => {
          const [file] = files ?? [];
          if (file !== undefined) void readFile(file).then((url) => take(url, file.name));
        }}
      />
      {canRecord === true && (
        <div className="actions">
          <Recorder onRecorded={take} />
          {value !== '' && (
            <Button kind="quiet" onClick={() => take('', '')}>
              Remove {known}
            </Button>
          )}
        </div>
      )}
      {value !== '' && <Preview url={value} label={known || 'The file of the job'} />}
    </div>
  );
}

function Preview({ url, label }: { url: string; label: string }): ReactNode {
  const stored = fileOf(url);
  const kind = stored?.kind ?? url.slice('data:'.length).split('/')[0];
  const [made, setMade] = useState('');
  const isData = stored === null && kind !== 'image';
  // The page's content security policy allows sound and videos only from its own origin, not from `data:` URLs. So an object URL is made.
  useEffect(() => {
    if (!isData) return undefined;
    let object = '';
    void fetchBlob(url).then((blob) => {
      object = URL.createObjectURL(blob);
      setMade(object);
    });
    return () => URL.revokeObjectURL(object);
  }, [url, isData]);
  const href = stored?.href ?? (isData ? made : url);
  if (href === '') return null;
  if (kind === 'image') return <img className="preview" src={href} alt={label} />;
  if (kind === 'video' && !label.startsWith('A recording'))
    return <video className="preview" src={href} controls aria-label={label} />;
  return <audio src={href} controls aria-label={label} />;
}

/** Decodes the bytes of a `data:` URL. */
async function fetchBlob(url: string): Promise<Blob> {
  const [head = '', body = ''] = url.split(',');
  const bytes = Uint8Array.from(atob(body), (letter) => letter.codePointAt(0) ?? 0);
  return new Blob([bytes], { type: /^data:([^;]*)/.exec(head)?.[1] ?? '' });
}
