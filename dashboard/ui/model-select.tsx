import type { ReactNode } from 'react';
import { graphql } from '../data/graphql.js';
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

interface ModelSelectProps {
  type: 'chat' | 'image';
  value: string;
  onChange(id: string): void;
}

/** One of the models that are ready to use; empty is the default one. */
export function ModelSelect({ type, value, onChange }: ModelSelectProps): ReactNode {
  const { data, fault } = useQuery(MODEL_NAMES, { type });
  const models = data?.models ?? [];
  const standard = models.find((model) => model.default);
  return (
    <SelectField
      label="Model"
      name="model"
      value={value}
      hint={fault?.message}
      onChange={({ target }) => onChange(target.value)}
    >
      <option value="">{standard === undefined ? 'Default' : `${standard.name} (default)`}</option>
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
