import { useMemo, useState, type ReactNode } from 'react';
import type { ResultOf } from '../data/graphql.js';
import { useQuery } from '../data/hooks.js';
import { OPERATED_USAGE } from '../data/operator.js';
import { href } from '../route.js';
import { Card, Empty, FaultNotice, Loading } from '../ui/basics.js';
import { SelectField } from '../ui/field.js';
import { inDigits } from '../ui/format.js';
import { DataTable, type Column } from '../ui/table.js';
import { asDollars } from './operator-organizations.js';

type Row = ResultOf<typeof OPERATED_USAGE>['operatedUsage'][number];

const DAY_MS = 86_400_000;
const SPANS = [
  { value: '1', label: 'Today and yesterday' },
  { value: '7', label: 'Last 7 days' },
  { value: '30', label: 'Last 30 days' },
  { value: '365', label: 'Last 12 months' },
];

const DIMENSIONS = [
  { value: 'organization', label: 'Organisation', groupBy: ['organization'] },
  { value: 'model', label: 'Model', groupBy: ['model'] },
  { value: 'provider', label: 'Provider', groupBy: ['provider'] },
  { value: 'both', label: 'Organisation and model', groupBy: ['organization', 'model'] },
] as const;

function columnsOf(by: (typeof DIMENSIONS)[number]): Column<Row>[] {
  const has = (name: string): boolean => (by.groupBy as readonly string[]).includes(name);
  return [
    ...(has('organization')
      ? [
          {
            label: 'Organisation',
            cell: ({ organizationId, organizationName }: Row) =>
              organizationId === null ? (
                ''
              ) : (
                <a href={href('operator', 'organizations', organizationId)}>
                  {organizationName ?? organizationId}
                </a>
              ),
          },
        ]
      : []),
    ...(has('model')
      ? [{ label: 'Model', cell: ({ model }: Row) => <span className="code">{model ?? 'none'}</span> }]
      : []),
    ...(has('provider') ? [{ label: 'Provider', cell: ({ provider }: Row) => provider ?? 'none' }] : []),
    { label: 'Calls', isNumber: true, cell: ({ requests }) => inDigits(requests) },
    { label: 'Failed', isNumber: true, cell: ({ errors }) => inDigits(errors) },
    { label: 'Tokens in', isNumber: true, cell: ({ tokens }) => inDigits(tokens.input) },
    { label: 'Tokens out', isNumber: true, cell: ({ tokens }) => inDigits(tokens.output) },
    {
      label: 'Cost',
      isNumber: true,
      cell: ({ costUsd, unpriced }) => (
        <span title={unpriced === 0 ? undefined : `${unpriced} operations without a known cost`}>
          ${asDollars(costUsd)}
          {unpriced > 0 && '+'}
        </span>
      ),
    },
  ];
}

/** The usage of all organisations together. */
export function OperatedUsagePanel(): ReactNode {
  const [days, setDays] = useState('30');
  const [name, setName] = useState<string>('organization');
  const by = DIMENSIONS.find(({ value }) => value === name) ?? DIMENSIONS[0];
  const since = useMemo(() => new Date(Date.now() - Number(days) * DAY_MS).toISOString(), [days]);
  const { data, fault, isLoading, reload } = useQuery(OPERATED_USAGE, { since, groupBy: [...by.groupBy] });
  const rows = data?.operatedUsage;
  const sum = (count: (row: Row) => number): number => (rows ?? []).reduce((all, row) => all + count(row), 0);
  return (
    <>
      <div className="filters">
        <SelectField label="Time" name="days" value={days} onChange={({ target }) => setDays(target.value)}>
          {SPANS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
        <SelectField label="By" name="by" value={name} onChange={({ target }) => setName(target.value)}>
          {DIMENSIONS.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      </div>
      <Card>
        {rows === undefined && isLoading && <Loading rows={5} />}
        <FaultNotice fault={fault} retry={reload} />
        {rows?.length === 0 && <Empty title="Nothing used">Calls are summed up within a minute.</Empty>}
        {rows !== undefined && rows.length > 0 && (
          <>
            <p className="hint" role="status">
              {inDigits(sum(({ requests }) => requests))} calls, {inDigits(sum(({ errors }) => errors))}{' '}
              failed, ${asDollars(String(sum(({ costUsd }) => Number(costUsd))))}
            </p>
            <DataTable
              caption="Usage, the dearest first"
              columns={columnsOf(by)}
              items={rows}
              rowKey={(row) => [row.organizationId, row.model, row.provider].join(' ')}
            />
          </>
        )}
      </Card>
    </>
  );
}
