import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { graphql } from '../data/graphql.js';
import { useQuery, useRights } from '../data/hooks.js';
import { useKeyNames } from '../data/key-names.js';
import { SelectField, TextField } from './field.js';
import { asWords } from './format.js';

interface FiltersProps {
  isFiltered: boolean;
  /** The address of the view without its filters. */
  to: '/jobs' | '/models' | '/requests' | '/usage';
  children: ReactNode;
}

/** The filters of a list. They are stored in the address, so that Back and bookmarks keep them. */
export function Filters({ isFiltered, to, children }: FiltersProps): ReactNode {
  return (
    <div className="filters" role="search" aria-label="Filters">
      {children}
      {isFiltered && (
        <Link to={to} search={{}} className="filters-none">
          Show all
        </Link>
      )}
    </div>
  );
}

interface FilterProps {
  value: string | undefined;
  /** Gets the name of the filter with its new value. An empty value removes the filter. */
  onChoose(changed: Record<string, string>): void;
}

interface WordProps extends FilterProps {
  label: string;
  name: string;
  words: readonly string[];
}

/** A filter by one of the given words, or by none. */
export function WordFilter({ label, name, words, value = '', onChoose }: WordProps): ReactNode {
  return (
    <SelectField
      label={label}
      name={name}
      value={value}
      onChange={({ target }) => onChoose({ [name]: target.value })}
    >
      <option value="">All</option>
      {words.map((word) => (
        <option key={word} value={word}>
          {asWords(word)}
        </option>
      ))}
    </SelectField>
  );
}

interface TextProps extends FilterProps {
  label: string;
  name: string;
  type?: 'text' | 'date';
}

const TYPED_MS = 400;

/** A filter by text. It applies when the person stops typing, so that not every letter causes a request. */
export function TextFilter({ label, name, value = '', type = 'text', onChoose }: TextProps): ReactNode {
  const [typed, setTyped] = useState(value);
  // Another filter may change while the timer runs. The text must be added to that state of the address.
  const latest = useRef(onChoose);
  latest.current = onChoose;
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return undefined;
    const timer = setTimeout(() => latest.current({ [name]: typed }), TYPED_MS);
    return () => clearTimeout(timer);
    // `onChoose` does the same at each rendering, so it is not a dependency. Only a change of the text restarts the timer.
  }, [typed, value, name]);
  return (
    <TextField
      label={label}
      name={name}
      type={type}
      value={typed}
      maxLength={200}
      onChange={({ target }) => setTyped(target.value)}
    />
  );
}

const MODELS = graphql(`
  query FilterModels {
    models {
      id
      name
    }
  }
`);

interface ChoiceProps extends FilterProps {
  label: string;
  name: string;
  choices: readonly { id: string; name: string }[];
}

/** A filter by one of several objects. A value that is not among them, such as a removed model, is kept unchanged. */
export function ChoiceFilter({ label, name, choices, value = '', onChoose }: ChoiceProps): ReactNode {
  const isKnown = value === '' || choices.some(({ id }) => id === value);
  return (
    <SelectField
      label={label}
      name={name}
      value={value}
      onChange={({ target }) => onChoose({ [name]: target.value })}
    >
      <option value="">All</option>
      {!isKnown && <option value={value}>{value}</option>}
      {choices.map(({ id, name: text }) => (
        <option key={id} value={id}>
          {text}
        </option>
      ))}
    </SelectField>
  );
}

export function ModelFilter(props: FilterProps): ReactNode {
  const { data } = useQuery(MODELS, {});
  return <ChoiceFilter label="Model" name="model" choices={data?.models ?? []} {...props} />;
}

/** A filter by key, shown only to people who may see the organisation's keys. */
export function KeyFilter(props: FilterProps): ReactNode {
  const keys = useKeyNames();
  return useRights().canManage ? <ChoiceFilter label="Key" name="key" choices={keys} {...props} /> : null;
}
