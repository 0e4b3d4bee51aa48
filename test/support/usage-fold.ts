import type { Installation } from './installation.js';

type Amounts = { bucket: string; amount: number }[];

/** An update of `usageUpdates` with {@link UPDATE_FIELDS}. */
export interface Update {
  sequence: number;
  type: string;
  periodStart: string;
  amounts: Amounts;
  granted: Amounts;
  opening: {
    periodStart: string;
    allowance: Amounts;
    topupStart: Amounts;
    topupAdded: Amounts;
    used: Amounts;
  } | null;
  record: { id: string; operation: string } | null;
}

const AMOUNT = '{ bucket amount }';
export const UPDATE_FIELDS = `sequence type periodStart amounts ${AMOUNT} granted ${AMOUNT} record { id operation }
  opening { periodStart allowance ${AMOUNT} topupStart ${AMOUNT} topupAdded ${AMOUNT} used ${AMOUNT} }`;

/** The balance of a period by bucket, in hundredths, because a sum of units with decimals would not be exact. */
export interface Period {
  used: Record<string, number>;
  allowance: Record<string, number>;
  topups: Record<string, number>;
}

const add = (into: Record<string, number>, amounts: Amounts): void => {
  for (const { bucket, amount } of amounts)
    into[bucket] = (into[bucket] ?? 0) + (amount === -1 ? -1 : Math.round(amount * 100));
};

const without = (amounts: Record<string, number>) =>
  Object.fromEntries(Object.entries(amounts).filter(([, amount]) => amount !== 0));

/** Sums the updates like a reader that knows nothing else. @throws Error if an update is missing or repeated */
export class Fold {
  readonly periods = new Map<string, Period>();
  last = 0;

  take(update: Update): void {
    const { sequence, opening, periodStart, amounts, granted } = update;
    if (sequence !== this.last + 1) throw new Error(`${sequence} came after ${this.last}`);
    this.last = sequence;
    if (opening !== null) {
      const period: Period = { used: {}, allowance: {}, topups: {} };
      add(period.used, opening.used);
      add(period.allowance, opening.allowance);
      add(period.topups, opening.topupStart);
      add(period.topups, opening.topupAdded);
      this.periods.set(opening.periodStart, period);
      return;
    }
    const period = this.periods.get(periodStart);
    if (period === undefined)
      throw new Error(`${sequence} is of a period that did not begin: ${periodStart}`);
    add(period.used, amounts);
    add(period.topups, granted);
  }

  /** Every period's balance, in the form of {@link balancesOf}. */
  balances(): Record<string, Period> {
    return Object.fromEntries(
      [...this.periods].map(([start, { used, allowance, topups }]) => [
        start,
        { used: without(used), allowance: without(allowance), topups: without(topups) },
      ]),
    );
  }
}

interface Row {
  start: Date;
  names: string[];
  used: string[];
  allowance: string[];
  topups: string[];
}

/** Every balance of an organisation in the database. */
export async function balancesOf(
  { sql }: Pick<Installation, 'sql'>,
  orgId: string,
): Promise<{ last: number; balances: Record<string, Period> }> {
  const rows = await sql<Row>(
    `SELECT period_start AS start, penstock_bucket_names() AS names, used, allowance,
       ARRAY(SELECT s + a FROM unnest(topup_start, topup_added) WITH ORDINALITY v (s, a, n) ORDER BY n) AS topups
     FROM balances WHERE org_id = $1`,
    [orgId],
  );
  const [position] = await sql<{ last: string }>(
    'SELECT sequence AS last FROM balances WHERE org_id = $1 AND NOT superseded',
    [orgId],
  );
  const byName = (names: string[], amounts: string[]) =>
    without(Object.fromEntries(names.map((name, index) => [name, Number(amounts[index])])));
  const periods = rows.map(({ start, names, used, allowance, topups }) => [
    start.toISOString(),
    { used: byName(names, used), allowance: byName(names, allowance), topups: byName(names, topups) },
  ]);
  return { last: Number(position?.last ?? 0), balances: Object.fromEntries(periods) };
}
