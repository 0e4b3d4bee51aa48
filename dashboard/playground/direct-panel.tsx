import { useState, type ReactNode } from 'react';
import type { Api } from '../data/api.js';
import { graphql } from '../data/graphql.js';
import { usePlace } from '../data/hooks.js';
import { Button, Card, Empty } from '../ui/basics.js';
import { FormFault, useForm } from '../ui/form.js';
import { asAmount, inDigits } from '../ui/format.js';
import { ModelSelect } from '../ui/model-select.js';
import { DataTable } from '../ui/table.js';
import { CodeView } from './code-view.js';
import type { Call } from './code.js';
import { EstimateLine } from './estimate.js';
import { FieldInputs } from './field-inputs.js';
import { inputOf, isComplete, type Field, type Values } from './fields.js';
import { useHistory } from './history.js';
import { Past } from './history-list.js';

const EMBED = graphql(`
  mutation PlayEmbeddings($input: CreateEmbeddingsInput!) {
    createEmbeddings(input: $input) {
      model
      data {
        index
        embedding
      }
      usage {
        totalTokens
        creditsUsed
      }
    }
  }
`);
const RERANK = graphql(`
  mutation PlayRerank($input: RerankInput!) {
    rerank(input: $input) {
      model
      results {
        index
        relevanceScore
      }
      usage {
        searchUnits
        creditsUsed
      }
    }
  }
`);

/** A row of the result. */
interface Line {
  place: string;
  text: string;
  value: string;
}

interface Answer {
  lines: Line[];
  /** The heading of the last column. */
  column: string;
  cost: string;
}

/** A kind of call that answers immediately, without a job. */
export interface DirectKind {
  name: 'embedding' | 'rerank';
  label: string;
  verb: string;
  fields: readonly Field[];
  estimate: 'embeddings' | 'rerank';
  call: Omit<Call, 'input'>;
  ask(api: Api, input: Record<string, unknown>): Promise<Answer>;
}

/** The cosine similarity of two vectors: 1 means the same direction. */
function likeness(a: readonly number[], b: readonly number[]): number {
  let [both, left, right] = [0, 0, 0];
  for (const [at, value] of a.entries()) {
    const other = b[at] ?? 0;
    both += value * other;
    left += value * value;
    right += other * other;
  }
  return both / Math.sqrt(left * right);
}

async function embed(api: Api, input: Record<string, unknown>): Promise<Answer> {
  const { createEmbeddings } = await api.request(EMBED, { input: input as never });
  const { model, data, usage } = createEmbeddings;
  const texts = input['input'] as string[];
  const vectors = data.map(({ embedding }) => embedding as number[]);
  const [first = []] = vectors;
  return {
    column: 'Likeness to the first',
    cost: `${model} · ${inDigits(first.length)} dimensions · ${inDigits(usage.totalTokens)} tokens · ${asAmount(usage.creditsUsed, 'credits')}`,
    lines: vectors.map((vector, at) => ({
      place: String(at + 1),
      text: texts[at] ?? '',
      value: likeness(first, vector).toFixed(3),
    })),
  };
}

async function rank(api: Api, input: Record<string, unknown>): Promise<Answer> {
  const { rerank } = await api.request(RERANK, { input: input as never });
  const texts = input['documents'] as string[];
  return {
    column: 'Score',
    cost: `${rerank.model} · ${asAmount(rerank.usage.creditsUsed, 'credits')}`,
    lines: rerank.results.map(({ index, relevanceScore }, at) => ({
      place: String(at + 1),
      text: texts[index] ?? '',
      value: relevanceScore.toFixed(3),
    })),
  };
}

export const EMBEDDINGS: DirectKind = {
  name: 'embedding',
  label: 'Embeddings',
  verb: 'Embed',
  estimate: 'embeddings',
  ask: embed,
  fields: [
    {
      kind: 'lines',
      name: 'input',
      label: 'Texts, one in each line',
      rows: 6,
      placeholder: 'The river is high\nThe water level rises\nBread is baked at night',
      isRequired: true,
    },
    {
      kind: 'number',
      name: 'dimensions',
      label: 'Dimensions',
      min: 1,
      max: 4096,
      placeholder: 'The model’s own',
    },
  ],
  call: {
    path: 'api/v1/embeddings',
    openai: 'embeddings.create',
    graphql: {
      kind: 'mutation',
      field: 'createEmbeddings',
      inputType: 'CreateEmbeddingsInput',
      selection: '{ data { index embedding } usage { creditsUsed } }',
    },
  },
};

export const RERANKING: DirectKind = {
  name: 'rerank',
  label: 'Rerank',
  verb: 'Rank',
  estimate: 'rerank',
  ask: rank,
  fields: [
    {
      kind: 'text',
      name: 'query',
      label: 'Question',
      placeholder: 'When is the river high?',
      isRequired: true,
    },
    {
      kind: 'lines',
      name: 'documents',
      label: 'Texts, one in each line',
      rows: 6,
      placeholder: 'Snow melts in April\nBread is baked at night',
      isRequired: true,
    },
    { kind: 'number', name: 'topN', label: 'Only the best', min: 1, max: 1000, placeholder: 'All' },
  ],
  call: {
    path: 'v1/rerank',
    graphql: {
      kind: 'mutation',
      field: 'rerank',
      inputType: 'RerankInput',
      selection: '{ results { index relevanceScore } usage { creditsUsed } }',
    },
  },
};

/** A form for a kind of call that answers immediately, and its results. */
export function DirectPanel({ kind, initial = {} }: { kind: DirectKind; initial?: Values }): ReactNode {
  const { api } = usePlace();
  const { fields } = kind;
  const [values, setValues] = useState(initial);
  const [answer, setAnswer] = useState<Answer>();
  const { works, add, clear } = useHistory(kind.name);
  const { model = '' } = values;
  const whole = { ...inputOf(fields, values), ...(model === '' ? {} : { model }) };
  const input = isComplete(fields, values) ? whole : null;
  const { fault, isBusy, onSubmit } = useForm(async () => {
    if (input === null) return;
    setAnswer(await kind.ask(api, input));
    const at = new Date().toISOString();
    add({ id: at, at, title: values['query'] ?? values['input']?.split('\n')[0] ?? '', values });
  });
  const set = (name: string, value: string): void => setValues({ ...values, [name]: value });
  return (
    <div className="play">
      <Card title={kind.label}>
        <form className="form" onSubmit={onSubmit}>
          <FieldInputs fields={fields} values={values} fault={fault} onChange={set} />
          <ModelSelect type={kind.name} value={model} onChange={(id) => set('model', id)} />
          <FormFault fault={fault} fields={fields.map(({ name }) => name)} />
          <EstimateLine input={input === null ? null : { [kind.estimate]: input }} />
          <Button type="submit" kind="primary" isBusy={isBusy} disabled={input === null}>
            {kind.verb}
          </Button>
          <CodeView call={{ ...kind.call, input: whole }} />
        </form>
      </Card>
      <div className="works">
        <AnswerCard label={kind.label} answer={answer} />
        <Past works={works} onChosen={({ values: before }) => setValues(before)} onClear={clear} />
      </div>
    </div>
  );
}

function AnswerCard({ label, answer }: { label: string; answer: Answer | undefined }): ReactNode {
  return (
    <Card title="Answer">
      {answer === undefined ? (
        <Empty title="Nothing asked yet">The answer comes at once.</Empty>
      ) : (
        <>
          <DataTable
            caption={label}
            columns={[
              { label: '#', cell: ({ place }: Line) => place },
              { label: 'Text', cell: ({ text }: Line) => text },
              { label: answer.column, isNumber: true, cell: ({ value }: Line) => value },
            ]}
            items={answer.lines}
            rowKey={({ place }) => place}
          />
          <p className="hint">{answer.cost}</p>
        </>
      )}
    </Card>
  );
}
