import type { MeteringBench } from './metering.js';

/** A numbered row of the ledger. */
interface Numbered {
  sequence: number;
  period: string;
  kind: string;
  charged: number[] | null;
  granted: number[] | null;
  opening: Balance | null;
}

interface Balance {
  allowance: number[];
  topupStart: number[];
  topupAdded: number[];
  used: number[];
}

const plus = (a: readonly number[], b: readonly number[] | null): number[] =>
  a.map((value, i) => value + (b?.[i] ?? 0));

type Sql = MeteringBench['sql'];

/** The balance of each period that results from the numbered rows, by the period's start; and the numbers in order. */
export async function foldLedger(sql: Sql, orgId: string) {
  const rows = await sql<Numbered>(
    `SELECT sequence, period_start::text AS period, kind, to_json(charged) AS charged, to_json(granted) AS granted, opening
     FROM usage_ledger WHERE org_id = $1 AND sequence IS NOT NULL ORDER BY sequence`,
    [orgId],
  );
  const balances: Record<string, Balance> = {};
  for (const { period, charged, granted, opening } of rows) {
    if (opening !== null) {
      const { allowance, topupStart, topupAdded, used } = opening;
      balances[period] = { allowance, topupStart, topupAdded, used };
      continue;
    }
    const known = balances[period];
    if (known === undefined) throw new Error(`a row of ${period} comes before its period`);
    known.used = plus(known.used, charged);
    known.topupAdded = plus(known.topupAdded, granted);
  }
  return { balances, numbers: rows.map(({ sequence }) => sequence), rows };
}

/** The balance of each period in the table, and the last used number. */
export async function bucketTable(sql: Sql, orgId: string) {
  const rows = await sql<
    Balance & { period: string; superseded: boolean; sequence: number; reserved: number[] }
  >(
    `SELECT period_start::text AS period, to_json(allowance) AS allowance, to_json(topup_start) AS "topupStart",
       to_json(topup_added) AS "topupAdded", to_json(used) AS used, to_json(reserved) AS reserved, superseded, sequence
     FROM balances WHERE org_id = $1`,
    [orgId],
  );
  return {
    balances: Object.fromEntries(
      rows.map(({ period, allowance, topupStart, topupAdded, used }) => [
        period,
        { allowance, topupStart, topupAdded, used },
      ]),
    ),
    reserved: rows.map(({ reserved }) => reserved).flat(),
    last: rows.find(({ superseded }) => !superseded)?.sequence ?? 0,
  };
}
