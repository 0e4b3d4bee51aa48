import type { ReactNode } from 'react';
import { graphql, type VariablesOf } from '../data/graphql.js';
import { useQuery } from '../data/hooks.js';
import { SelectField } from './field.js';
import { inDigits } from './format.js';

const MODEL_NAMES = graphql(`
  query ModelNames($type: ModelType) {
    models(type: $type, available: true) {
      id
      name
      tier
      multiplier
      default
    }
  }
`);

/** A kind of model. */
export type ModelType = NonNullable<VariablesOf<typeof MODEL_NAMES>['type']>;

interface ModelSelectProps {
  type: ModelType;
  value: string;
  onChange(id: string): void;
}

/** A field to choose an available model. An empty value means the default model. */
export function ModelSelect({ type, value, onChange }: ModelSelectProps): ReactNode {
  const { data, fault } = useQuery(MODEL_NAMES, { type });
  const models = data?.models ?? [];
  const standard = models.find((model) => model.default);
  // The default model can also be chosen by name. A chosen model that is unavailable or removed stays chosen.
  const isKnown = value === '' || data === undefined || models.some(({ id }) => id === value);
  return (
    <SelectField
      label="Model"
      name="model"
      value={value === standard?.id ? '' : value}
      hint={fault?.message}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">{standard === undefined ? 'Default' : `${standard.name} (default)`}</option>
      {!isKnown && <option value={value}>{value}</option>}
      {models
        .filter((model) => !model.default)
        .map(({ id, name, tier, multiplier }) => (
          <option key={id} value={id}>
            {name} – {tier}, ×{inDigits(multiplier)}
          </option>
        ))}
    </SelectField>
  );
}
