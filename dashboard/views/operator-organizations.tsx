import { useDeferredValue, useState, type ReactNode } from 'react';
import {
  ORGANIZATIONS,
  PLANS,
  planLabel,
  type OperatedOrganization,
  type PlanCode,
} from '../data/operator.js';
import { usePages } from '../data/pages.js';
import { href } from '../route.js';
import { Badge, Card, Empty } from '../ui/basics.js';
import { SelectField, TextField } from '../ui/field.js';
import { Time, inDigits } from '../ui/format.js';
import { Meter } from '../ui/meter.js';
import { PagedTable, type Column } from '../ui/table.js';

const PAGE = 25;
const UNLIMITED = -1;

/** The bucket with the highest used share. */
function Tightest({ organization: { quotas } }: { organization: OperatedOrganization }): ReactNode {
  const [worst] = quotas.filter(({ limit }) => limit > 0).toSorted((a, b) => b.usagePercent - a.usagePercent);
  if (worst === undefined)
    return (
      <span className="muted">{quotas.some(({ limit }) => limit === UNLIMITED) ? 'unlimited' : 'none'}</span>
    );
  const name = worst.bucket.replaceAll('_', ' ');
  return (
    <div className="tight">
      <Meter label={`${name} used`} percent={worst.usagePercent} />
      <span className="muted">
        {inDigits(Math.round(worst.usagePercent))} % of {name}
      </span>
    </div>
  );
}

const COLUMNS: Column<OperatedOrganization>[] = [
  {
    label: 'Organisation',
    cell: ({ id, name }) => (
      <>
        <a href={href('operator', 'organizations', id)}>{name}</a>
        <br />
        <span className="code muted">{id}</span>
      </>
    ),
  },
  {
    label: 'Plan',
    cell: ({ planCode, entitled }) => (
      <>
        {planLabel(planCode)} {!entitled && <Badge tone="bad">ended</Badge>}
      </>
    ),
  },
  { label: 'Made', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  { label: 'People', isNumber: true, cell: ({ members }) => inDigits(members) },
  { label: 'Keys', isNumber: true, cell: ({ keys }) => inDigits(keys) },
  { label: 'Quota', cell: (organization) => <Tightest organization={organization} /> },
  { label: 'Calls, 30 days', isNumber: true, cell: ({ usage }) => inDigits(usage?.requests ?? 0) },
  { label: 'Cost', isNumber: true, cell: ({ usage }) => `$${asDollars(usage?.costUsd ?? '0')}` },
];

/** An exact sum in USD, rounded to cents. A sum of less than a cent is shown exactly. */
export function asDollars(exact: string): string {
  const value = Number(exact);
  if (value === 0) return '0';
  return value < 0.01 ? exact : value.toLocaleString('en', { maximumFractionDigits: 2 });
}

/** All organisations, newest first. */
export function OrganizationsPanel(): ReactNode {
  const [text, setText] = useState('');
  const [planCode, setPlanCode] = useState('');
  const search = useDeferredValue(text.trim());
  const pages = usePages({
    operation: ORGANIZATIONS,
    variables: {
      first: PAGE,
      ...(search === '' ? {} : { search }),
      ...(planCode === '' ? {} : { planCode: planCode as PlanCode }),
    },
    page: ({ operatedOrganizations }) => operatedOrganizations,
  });
  return (
    <>
      <search className="filters">
        <TextField
          label="Search"
          name="search"
          type="search"
          maxLength={254}
          placeholder="Name, id, or a member’s e-mail"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <SelectField
          label="Plan"
          name="planCode"
          value={planCode}
          onChange={({ target }) => setPlanCode(target.value)}
        >
          <option value="">All plans</option>
          {PLANS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      </search>
      <Card>
        <PagedTable
          caption="Organisations, newest first"
          columns={COLUMNS}
          pages={pages}
          rowKey={({ id }) => id}
          empty={<Empty title="No such organisation">Change the search or the plan.</Empty>}
        />
      </Card>
    </>
  );
}
