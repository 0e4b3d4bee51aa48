import { useState, type ReactNode } from 'react';
import type { Fault } from '../data/fault.js';
import { graphql, type ResultOf, type VariablesOf } from '../data/graphql.js';
import { usePlace, useQuery, useRights } from '../data/hooks.js';
import { BUCKET_UNITS } from '../data/words.generated.js';
import { Badge, Button, Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { ConfirmButton, Dialog } from '../ui/dialog.js';
import { SelectField, TextField, entered } from '../ui/field.js';
import { FormFault, useForm } from '../ui/form.js';
import { Time, asWords, inDigits } from '../ui/format.js';
import { Meter } from '../ui/meter.js';
import { DataTable, type Column } from '../ui/table.js';

const BUDGETS = graphql(`
  query Budgets {
    budgets(first: null) {
      nodes {
        id
        name
        scope
        subject
        unit
        limit
        period
        resetsAt
        spent
        reserved
        hard
      }
    }
  }
`);

const CREATE_BUDGET = graphql(`
  mutation CreateBudget($input: CreateBudgetInput!) {
    createBudget(input: $input) {
      id
    }
  }
`);

const DELETE_BUDGET = graphql(`
  mutation DeleteBudget($id: ID!) {
    deleteBudget(id: $id) {
      id
    }
  }
`);

type Budget = ResultOf<typeof BUDGETS>['budgets']['nodes'][number];
type Input = VariablesOf<typeof CREATE_BUDGET>['input'];

const SCOPES = [
  { value: 'organization', label: 'The organisation' },
  { value: 'key', label: 'A key' },
  { value: 'endUser', label: 'An end user' },
  { value: 'tag', label: 'A tag' },
] as const;
const PERIODS = ['month', 'week', 'day', 'total'] as const;
const UNITS = ['usd', ...Object.keys(BUCKET_UNITS)];

/** `$0.5`, `12 credits` */
function amountIn(unit: string, amount: unknown): string {
  if (unit === 'usd') return `$${String(amount)}`;
  return `${inDigits(Number(amount))} ${asWords(unit).toLowerCase()}`;
}

/** The limits of what calls may spend, with the amounts spent so far. */
export function BudgetsPanel(): ReactNode {
  const { canManage } = useRights();
  const { data, fault, isLoading, reload } = useQuery(BUDGETS, {});
  const [isCreating, setCreating] = useState(false);
  const budgets = data?.budgets.nodes;
  return (
    <Card
      note="A budget refuses calls that do not fit any more, or only counts them."
      actions={
        canManage && (
          <Button kind="primary" onClick={() => setCreating(true)}>
            New budget
          </Button>
        )
      }
    >
      {budgets === undefined && isLoading && <Loading />}
      <FaultNotice fault={fault} retry={reload} />
      {budgets?.length === 0 && (
        <Empty title="No budgets yet">
          Bound what a month costs, for everybody or for each key, end user or tag.
        </Empty>
      )}
      {budgets !== undefined && budgets.length > 0 && (
        <BudgetTable budgets={budgets} canManage={canManage} reload={reload} />
      )}
      {isCreating && (
        <CreateBudgetDialog
          onClose={() => setCreating(false)}
          onCreated={() => {
            setCreating(false);
            reload();
          }}
        />
      )}
    </Card>
  );
}

interface TableProps {
  budgets: Budget[];
  canManage: boolean;
  reload(): void;
}

function BudgetTable({ budgets, canManage, reload }: TableProps): ReactNode {
  const { api } = usePlace();
  const columns: Column<Budget>[] = [
    { label: 'Name', cell: ({ name }) => <strong>{name}</strong> },
    { label: 'Counts', cell: ({ scope, subject }) => subjectOf(scope, subject) },
    {
      label: 'Spent',
      cell: ({ name, subject, unit, spent, limit }) => (
        <>
          {amountIn(unit, spent)} of {amountIn(unit, limit)}
          {subject !== '*' && (
            <Meter label={`${name}, spent`} percent={(Number(spent) / Math.max(Number(limit), 1e-9)) * 100} />
          )}
        </>
      ),
    },
    {
      label: 'Begins anew',
      cell: ({ period, resetsAt }) => (resetsAt === null ? asWords(period) : <Time iso={resetsAt} />),
    },
    {
      label: 'Kind',
      cell: ({ hard }) => <Badge tone={hard ? 'good' : 'calm'}>{hard ? 'refuses' : 'only counts'}</Badge>,
    },
    {
      label: 'Actions',
      cell: ({ id, name }) =>
        canManage && (
          <ConfirmButton
            label="Delete"
            name={`Delete ${name}`}
            question={`Delete ${name}?`}
            work={() => api.request(DELETE_BUDGET, { id }).then(reload)}
          >
            Calls are no longer bound by it. What it has counted is gone; the records stay.
          </ConfirmButton>
        ),
    },
  ];
  return <DataTable caption="Budgets" columns={columns} items={budgets} rowKey={({ id }) => id} />;
}

function subjectOf(scope: Budget['scope'], subject: string | null): string {
  const { label } = SCOPES.find(({ value }) => value === scope) ?? SCOPES[0];
  if (subject === null) return label;
  return subject === '*' ? `Each ${label.replace(/^An? /, '')}` : `${label}: ${subject}`;
}

interface CreateProps {
  onClose(): void;
  onCreated(): void;
}

/** Reads the form. USD amounts stay text, so that no digit is lost. */
function inputOf(form: HTMLFormElement, scope: string): Input {
  const [unit, limit] = [entered(form, 'unit'), entered(form, 'limit')];
  return {
    name: entered(form, 'name'),
    scope,
    unit,
    limit: unit === 'usd' ? limit : Number(limit),
    period: entered(form, 'period'),
    hard: entered(form, 'hard') === 'true',
    ...(scope === 'organization' ? {} : { subject: entered(form, 'subject') }),
  } as Input;
}

function CreateBudgetDialog({ onClose, onCreated }: CreateProps): ReactNode {
  const { api } = usePlace();
  const [scope, setScope] = useState<string>('organization');
  const { fault, isBusy, onSubmit } = useForm(async (form) => {
    const input = inputOf(form, scope);
    await api.request(CREATE_BUDGET, { input });
    onCreated();
  });
  return (
    <Dialog title="New budget" onClose={onClose}>
      <form className="form" onSubmit={onSubmit}>
        <TextField label="Name" name="name" maxLength={200} placeholder="July" fault={fault} required />
        <SelectField
          label="Counts the calls of"
          name="scope"
          value={scope}
          onChange={({ target }) => setScope(target.value)}
        >
          {SCOPES.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        {scope !== 'organization' && (
          <TextField
            label="Whose"
            name="subject"
            defaultValue="*"
            hint="An id of a key, the name of an end user or a tag; * for each by itself."
            fault={fault}
            required
          />
        )}
        <Bounds fault={fault} />
        <FormFault fault={fault} fields={['name', 'subject', 'limit']} />
        <div className="dialog-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={isBusy}>
            Create budget
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** The fields for a budget's amount, unit and period, and whether calls beyond it are refused. */
function Bounds({ fault }: { fault: Fault | undefined }): ReactNode {
  return (
    <>
      <SelectField label="Unit" name="unit" defaultValue="usd">
        {UNITS.map((unit) => (
          <option key={unit} value={unit}>
            {unit === 'usd' ? 'USD of upstream cost' : asWords(unit)}
          </option>
        ))}
      </SelectField>
      <TextField label="Limit" name="limit" inputMode="decimal" placeholder="50" fault={fault} required />
      <SelectField label="Period" name="period" defaultValue="month">
        {PERIODS.map((period) => (
          <option key={period} value={period}>
            {period === 'total' ? 'For ever' : `Each ${period}`}
          </option>
        ))}
      </SelectField>
      <SelectField label="Beyond the limit" name="hard" defaultValue="true">
        <option value="true">Calls are refused</option>
        <option value="false">Calls are counted</option>
      </SelectField>
    </>
  );
}
