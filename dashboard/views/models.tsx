import { useState, type ReactNode } from 'react';
import { graphql, type ResultOf } from '../data/graphql.js';
import { useQuery } from '../data/hooks.js';
import { MODEL_TYPES, TIERS } from '../data/words.generated.js';
import { Badge, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { SelectField, TextField } from '../ui/field.js';
import { asAmount, asWords, inDigits } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { DataTable, type Column } from '../ui/table.js';

const MODELS = graphql(`
  query Models {
    models {
      id
      name
      type
      tier
      multiplier
      pricing {
        unit
        bucket
        amount
        credits
      }
      contextWindow
      maxOutputTokens
      default
      available
    }
  }
`);

type Model = ResultOf<typeof MODELS>['models'][number];

const UNITS: Record<string, string> = { '1k_tokens': '1,000 tokens' };
/** A catalogue may name hundreds: what nobody scrolls to is not drawn. */
const SHOWN = 100;

interface Filter {
  text: string;
  type: string;
  tier: string;
  isReady: boolean;
}

const EVERYTHING: Filter = { text: '', type: '', tier: '', isReady: true };

function matches({ id, name, type, tier, available }: Model, filter: Filter): boolean {
  const words = filter.text.toLowerCase().split(/\s+/);
  return (
    (filter.type === '' || filter.type === type) &&
    (filter.tier === '' || filter.tier === tier) &&
    (!filter.isReady || available) &&
    words.every((word) => `${id} ${name}`.toLowerCase().includes(word))
  );
}

const COLUMNS: Column<Model>[] = [
  {
    label: 'Model',
    cell: (model) => (
      <>
        <strong>{model.name}</strong> {model.default && <Badge tone="good">default</Badge>}
        <br />
        <span className="code muted">{model.id}</span>
      </>
    ),
  },
  { label: 'Type', cell: ({ type }) => asWords(type) },
  { label: 'Tier', cell: ({ tier }) => tier },
  { label: 'Price', cell: (model) => <Price model={model} /> },
  {
    label: 'Context',
    isNumber: true,
    cell: ({ contextWindow }) => (contextWindow === null ? '–' : inDigits(contextWindow)),
  },
  {
    label: 'State',
    cell: ({ available }) =>
      available ? <Badge tone="good">ready</Badge> : <Badge tone="calm">not configured</Badge>,
  },
];

/** With the multiplier: what a call really costs. */
function Price({ model: { pricing, multiplier } }: { model: Model }): ReactNode {
  const { unit, bucket, amount, credits } = pricing;
  const parts = [
    ...(bucket === 'credits' ? [] : [asAmount(amount * multiplier, bucket)]),
    ...(credits === 0 ? [] : [asAmount(credits * multiplier, 'credits')]),
  ];
  return (
    <>
      {parts.join(' and ')}
      <br />
      <span className="muted">
        per {UNITS[unit] ?? unit}, ×{inDigits(multiplier)}
      </span>
    </>
  );
}

/** The catalogue: what can be called, at what price. */
export function ModelsView(): ReactNode {
  const { data, fault, isLoading, reload } = useQuery(MODELS, {});
  const [filter, setFilter] = useState(EVERYTHING);
  const found = data?.models.filter((model) => matches(model, filter)) ?? [];
  return (
    <PageFrame title="Models" note="Prices include the model’s multiplier.">
      <Filters filter={filter} onChange={setFilter} />
      <Card>
        {data === undefined && isLoading && <Loading rows={6} />}
        <FaultNotice fault={fault} retry={reload} />
        {data && (
          <p className="hint" role="status">
            {found.length} of {data.models.length} models
            {found.length > SHOWN && `, the first ${SHOWN} shown`}
          </p>
        )}
        {data && found.length === 0 && <Empty title="No such model">Change the search or the filters.</Empty>}
        {found.length > 0 && (
          <DataTable
            caption="Models"
            columns={COLUMNS}
            items={found.slice(0, SHOWN)}
            rowKey={({ id, type }) => `${id} ${type}`}
          />
        )}
      </Card>
    </PageFrame>
  );
}

function Filters({ filter, onChange }: { filter: Filter; onChange(filter: Filter): void }): ReactNode {
  const options = (all: string, values: readonly string[]): ReactNode => (
    <>
      <option value="">{all}</option>
      {values.map((value) => (
        <option key={value} value={value}>
          {asWords(value)}
        </option>
      ))}
    </>
  );
  return (
    <search className="filters">
      <TextField
        label="Search"
        name="text"
        type="search"
        placeholder="Name or id"
        value={filter.text}
        onChange={({ target }) => onChange({ ...filter, text: target.value })}
      />
      <SelectField
        label="Type"
        name="type"
        value={filter.type}
        onChange={({ target }) => onChange({ ...filter, type: target.value })}
      >
        {options('All types', MODEL_TYPES)}
      </SelectField>
      <SelectField
        label="Tier"
        name="tier"
        value={filter.tier}
        onChange={({ target }) => onChange({ ...filter, tier: target.value })}
      >
        {options('All tiers', TIERS)}
      </SelectField>
      <label className="check">
        <input
          type="checkbox"
          checked={filter.isReady}
          onChange={({ target }) => onChange({ ...filter, isReady: target.checked })}
        />
        Ready to use only
      </label>
    </search>
  );
}
