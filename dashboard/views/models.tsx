import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { graphql, type ResultOf } from '../data/graphql.js';
import { useQuery, useRights } from '../data/hooks.js';
import { readModelFilter, type ModelSearch } from '../data/model-filter.js';
import { MODEL_TYPES, TIERS } from '../data/words.generated.js';
import { href } from '../route.js';
import { Badge, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { ChoiceFilter, Filters, TextFilter, WordFilter } from '../ui/filters.js';
import { asAmount, asWords, inDigits } from '../ui/format.js';
import { PageFrame } from '../ui/page.js';
import { DataTable, type Column } from '../ui/table.js';

const MODELS = graphql(`
  query Models {
    models {
      id
      name
      provider
      ownedBy
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
      modalities {
        input
        output
      }
      default
      available
    }
  }
`);

type Model = ResultOf<typeof MODELS>['models'][number];

const UNITS: Record<string, string> = { '1k_tokens': '1,000 tokens', '100_documents': '100 documents' };
/** The playground's tab for each type of model. */
const TABS: Record<Model['type'], string> = {
  chat: 'chat',
  embedding: 'embeddings',
  rerank: 'rerank',
  image: 'images',
  image_edit: 'edits',
  video: 'video',
  music: 'music',
  tts: 'speech',
  stt: 'transcription',
};

function matches({ id, name, type, provider, tier, available }: Model, search: ModelSearch): boolean {
  const words = (search.text ?? '').toLowerCase().split(/\s+/);
  return (
    (search.type ?? type) === type &&
    (search.provider ?? provider) === provider &&
    (search.tier ?? tier) === tier &&
    (search.show === 'all' || available) &&
    words.every((word) => `${id} ${name}`.toLowerCase().includes(word))
  );
}

const COLUMNS: Column<Model>[] = [
  {
    label: 'Model',
    cell: (model) => (
      <>
        <strong>{model.name}</strong> {model.default && <Badge tone="good">default</Badge>}{' '}
        {!model.available && <Badge tone="calm">not configured</Badge>}
        <br />
        <span className="code muted">{model.id}</span>
      </>
    ),
  },
  {
    label: 'Provider',
    cell: ({ provider, ownedBy }) => (
      <>
        {provider}
        {ownedBy !== provider && (
          <>
            <br />
            <span className="muted whole">{ownedBy}</span>
          </>
        )}
      </>
    ),
  },
  {
    label: 'Does',
    cell: ({ type, modalities: { input, output } }) => (
      <>
        {asWords(type)}
        <br />
        <span className="muted">
          {input.join(', ')} → {output.join(', ')}
        </span>
      </>
    ),
  },
  { label: 'Tier', cell: ({ tier }) => tier },
  {
    label: 'Price',
    cell: (model) => <Price model={model} />,
  },
  {
    label: 'Context',
    isNumber: true,
    cell: ({ contextWindow }) => (contextWindow === null ? '–' : inDigits(contextWindow)),
  },
];

/** The column that opens the playground, for people who may call models. */
const TRY: Column<Model> = {
  label: 'Try',
  cell: ({ id, name, type, available }) =>
    available ? (
      <a
        className="button button-quiet"
        href={`${href('playground', TABS[type])}?model=${encodeURIComponent(id)}`}
        aria-label={`Try ${name}`}
      >
        Try
      </a>
    ) : null,
};

/**
 * The price of a call, including the multiplier. For images and videos the multiplier changes only the credits, not the amount of their own bucket.
 */
function Price({ model: { pricing, multiplier } }: { model: Model }): ReactNode {
  const { unit, bucket, amount, credits } = pricing;
  const parts = [
    ...(bucket === 'credits' ? [] : [asAmount(credits === 0 ? amount * multiplier : amount, bucket)]),
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

/** The catalogue: all models with their prices. */
export function ModelsView(): ReactNode {
  const { data, fault, isLoading, reload } = useQuery(MODELS, {});
  const { canWork } = useRights();
  const search = useSearch({ from: '/models' });
  const navigate = useNavigate({ from: '/models' });
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  const choose = (changed: Record<string, string>): void =>
    void navigate({ search: readModelFilter({ ...search, ...changed }) });
  const found = data?.models.filter((model) => matches(model, search)) ?? [];
  const providers = [...new Set(data?.models.map(({ provider }) => provider))].toSorted();
  return (
    <PageFrame title="Models" note="Prices include the model’s multiplier.">
      <Filters isFiltered={isFiltered} to="/models">
        <TextFilter label="Search" name="text" value={search.text} onChoose={choose} />
        <WordFilter label="Type" name="type" words={MODEL_TYPES} value={search.type} onChoose={choose} />
        <ChoiceFilter
          label="Provider"
          name="provider"
          choices={providers.map((name) => ({ id: name, name }))}
          value={search.provider}
          onChoose={choose}
        />
        <WordFilter label="Tier" name="tier" words={TIERS} value={search.tier} onChoose={choose} />
        <label className="check">
          <input
            type="checkbox"
            checked={search.show !== 'all'}
            onChange={({ target }) => choose({ show: target.checked ? '' : 'all' })}
          />
          Ready to use only
        </label>
      </Filters>
      <Card>
        {data === undefined && isLoading && <Loading rows={6} />}
        <FaultNotice fault={fault} retry={reload} />
        {data && (
          <p className="hint" role="status">
            {found.length} of {data.models.length} models
          </p>
        )}
        {data && found.length === 0 && <Empty title="No such model">Change the search or the filters.</Empty>}
        {found.length > 0 && (
          <DataTable
            caption="Models"
            columns={canWork ? [...COLUMNS, TRY] : COLUMNS}
            items={found}
            rowKey={({ id, type }) => `${id} ${type}`}
          />
        )}
      </Card>
    </PageFrame>
  );
}
