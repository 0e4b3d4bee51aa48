import { BUCKETS } from '../contract/words.js';
import type { Database, Sql } from '../database/index.js';
import { compareInvoice } from './invoice.js';
import { BEGIN_COMPARING, COUNTERS, FOLDED, NUMBERS, PERIODS, ROLLUPS } from './reconcile.queries.js';

/** Two that should say the same and do not. Amounts are hundredths of the bucket's unit, costs nano-dollars; an invoice's are USD. */
export interface Difference {
  what: string;
  /** A period, a bucket, a budget's counter, an upstream's id. */
  of: string;
  expected: string | number | null;
  found: string | number | null;
}

export interface Reconciliation {
  /** The last number of the ledger, and the last that is folded into rollups. */
  sequence: { last: number; folded: number };
  /** Numbers of rows that are deleted from the ledger; only rollups have their operations. */
  dropped: number;
  periods: number;
  differences: Difference[];
}

interface Numbers {
  folded: number;
  last: number | null;
  present: number;
  whole_from: number | null;
  whole_until: Date[];
}

interface Period {
  period_start: Date;
  used: string[];
  reserved: string[];
  folded: string[];
  unfolded: string[];
  open: string[];
  cells: string[];
}

type Compare = (what: string, of: string, pair: { expected: string; found: string }) => Difference[];

const compare: Compare = (what, of, { expected, found }) =>
  BigInt(expected) === BigInt(found) ? [] : [{ what, of, expected, found }];

function compareVectors(what: string, of: string, [expected, found]: [string[], string[]]): Difference[] {
  return BUCKETS.flatMap((bucket, at) =>
    compare(what, `${of} ${bucket}`, { expected: expected[at] ?? '0', found: found[at] ?? '0' }),
  );
}

const sumOf = (one: string[], other: string[]): string[] =>
  one.map((value, at) => String(BigInt(value) + BigInt(other[at] ?? 0)));

function compareNumbers({ folded, last, present, whole_from: wholeFrom }: Numbers): Difference[] {
  const given = last ?? 0;
  // A hole among numbers that were not folded is no dropped month.
  const hole =
    wholeFrom !== null && wholeFrom > folded + 1
      ? [{ what: 'ledger lacks numbers', of: `before ${wholeFrom}`, expected: given, found: present }]
      : [];
  const ahead =
    folded > given
      ? [{ what: 'rollups are ahead of the ledger', of: 'sequence', expected: given, found: folded }]
      : [];
  const missing =
    wholeFrom === null && present !== given
      ? [{ what: 'ledger lacks numbers', of: 'sequence', expected: given, found: present }]
      : [];
  return [...hole, ...ahead, ...missing];
}

async function comparePeriods(sql: Sql, orgId: string, { folded, whole_from: wholeFrom }: Numbers) {
  const periods = await sql.query<Period>(PERIODS, [orgId, folded]);
  const differences = periods.flatMap((period) => {
    const of = period.period_start.toISOString();
    return [
      ...compareVectors('balance used', of, [sumOf(period.cells, period.unfolded), period.used]),
      ...compareVectors('balance reserved', of, [period.open, period.reserved]),
      ...(wholeFrom === null
        ? compareVectors('rollups of the period', of, [period.folded, period.cells])
        : []),
    ];
  });
  return { count: periods.length, differences };
}

async function compareRollups(sql: Sql, orgId: string, numbers: Numbers): Promise<Difference[]> {
  const [sums] = await sql.query<
    Record<'ledger_requests' | 'ledger_cost' | 'cell_requests' | 'cell_cost', string>
  >(FOLDED, [orgId, numbers.folded]);
  const rollups = await sql.query<{
    level: number;
    dims: number;
    requests: string;
    cost: string;
    amounts: string[];
    cell_requests: string | null;
    cell_cost: string | null;
    cell_amounts: string[];
  }>(ROLLUPS, [orgId, numbers.whole_until.map((time) => time.toISOString())]);
  const cells =
    sums === undefined || numbers.whole_from !== null
      ? []
      : [
          ...compare('cells of rollups', 'requests', {
            expected: sums.ledger_requests,
            found: sums.cell_requests,
          }),
          ...compare('cells of rollups', 'cost', { expected: sums.ledger_cost, found: sums.cell_cost }),
        ];
  return [
    ...cells,
    ...rollups.flatMap((row) => {
      const of = `level ${row.level} dims ${row.dims}`;
      return [
        ...compare('rollups', `${of} requests`, { expected: row.cell_requests ?? '0', found: row.requests }),
        ...compare('rollups', `${of} cost`, { expected: row.cell_cost ?? '0', found: row.cost }),
        ...compareVectors('rollups', of, [row.cell_amounts, row.amounts]),
      ];
    }),
  ];
}

async function compareBudgets(sql: Sql, orgId: string): Promise<Difference[]> {
  const counters = await sql.query<
    { budget_id: string; subject: string; period_start: Date } & Record<
      'spent' | 'reserved' | 'ledger_spent' | 'ledger_reserved',
      string
    >
  >(COUNTERS, [orgId]);
  return counters.flatMap((row) => {
    const of = `${row.budget_id} ${row.subject} ${row.period_start.toISOString()}`;
    return [
      ...compare('budget spent', of, { expected: row.ledger_spent, found: row.spent }),
      ...compare('budget reserved', of, { expected: row.ledger_reserved, found: row.reserved }),
    ];
  });
}

/**
 * Adds ledger, balances, rollups and budgets up again, in one state of the database, and compares an invoice with the ledger.
 * Rollups replace deleted rows of the ledger.
 * @param invoice CSV
 */
export async function reconcile(
  database: Pick<Database, 'transaction'>,
  orgId: string,
  invoice: Uint8Array | null,
): Promise<Reconciliation> {
  return database.transaction(async (sql) => {
    await sql.query(BEGIN_COMPARING);
    const [numbers] = await sql.query<Numbers>(NUMBERS, [orgId]);
    if (numbers === undefined) throw new Error('PostgreSQL answered no row');
    const periods = await comparePeriods(sql, orgId, numbers);
    const differences = [
      ...compareNumbers(numbers),
      ...periods.differences,
      ...(await compareRollups(sql, orgId, numbers)),
      // Counters of budgets outlive months of the ledger.
      ...(numbers.whole_from === null ? await compareBudgets(sql, orgId) : []),
      ...(invoice === null ? [] : await compareInvoice(sql, orgId, invoice)),
    ];
    const last = numbers.last ?? 0;
    return {
      sequence: { last, folded: numbers.folded },
      dropped: Math.max(0, last - numbers.present),
      periods: periods.count,
      differences,
    };
  });
}
