import type { Sql } from '../../database/database.types.js';
import type { RunRow } from './run.row.js';
import type { NewStep, RunState } from './run.types.js';
import { storedJson } from './stored-json.js';

const named = (name: string, text: string) => ({ name: `agent_runs_${name}`, text });
const CLAIM = named('claim', 'SELECT * FROM penstock_runs_claim($1, $2, $3, $4::bigint)');
const RENEW = named('renew', 'SELECT penstock_runs_renew($1, $2, $3, $4) AS id');
const GIVE_BACK = named('give_back', 'SELECT penstock_runs_give_back($1, $2, $3) AS id');
const ADVANCE = named('advance', 'SELECT penstock_run_advance($1, $2, $3, $4::jsonb) AS moved');
const END = named('end', 'SELECT penstock_run_end($1, $2, $3, $4::jsonb) AS moved');
const SWEEP = named('sweep', 'SELECT penstock_runs_sweep() AS moved');

/** The right to write: it holds while the row's worker and fence are these. */
export interface Hold {
  workerId: string;
  id: string;
  fence: number;
}

/** A finished operation: its real amounts (hundredths in the order of BUCKETS), or null to give the reservation back. */
export interface EndedOperation {
  id: string;
  amounts: number[] | null;
  /** Stands for a reservation that was lost with the database. */
  fallback?: object;
}

/** What a boundary of a step writes in one transaction. */
export interface Work {
  operations: EndedOperation[];
  steps: NewStep[];
  /** Tokens of the model calls among the operations. */
  tokens: number;
}

export async function claimRuns(
  sql: Sql,
  options: { workerId: string; slots: number; leaseMs: number; limitMs: number },
): Promise<RunRow[]> {
  const { workerId, slots, leaseMs, limitMs } = options;
  return await sql.query<RunRow>(CLAIM, [workerId, slots, leaseMs, limitMs]);
}

/** Prolongs leases. Answers the ids that are still the worker's. */
export async function renewRuns(
  sql: Sql,
  workerId: string,
  options: { holds: Hold[]; leaseMs: number },
): Promise<Set<string>> {
  const { holds, leaseMs } = options;
  const values = [workerId, holds.map(({ id }) => id), holds.map(({ fence }) => fence), leaseMs];
  return new Set((await sql.query<{ id: string }>(RENEW, values)).map(({ id }) => id));
}

/** Another worker goes on from the stored state. */
export async function giveBackRuns(sql: Sql, workerId: string, holds: Hold[]): Promise<void> {
  if (holds.length === 0) return;
  await sql.query(GIVE_BACK, [workerId, holds.map(({ id }) => id), holds.map(({ fence }) => fence)]);
}

/** @returns false where the run is not the worker's any more: nothing was changed */
export async function advanceRun(sql: Sql, hold: Hold, work: Work & { state: RunState }): Promise<boolean> {
  const [row] = await sql.query<{ moved: boolean }>(ADVANCE, [
    hold.workerId,
    hold.id,
    hold.fence,
    storedJson(work),
  ]);
  return row?.moved === true;
}

/** The last write of a run by its worker. @returns false where the run is not the worker's any more */
export async function endRun(
  sql: Sql,
  hold: Hold,
  end: Work & { status: 'completed' | 'failed'; text: string },
): Promise<boolean> {
  const values = [hold.workerId, hold.id, hold.fence, storedJson(end)];
  const [row] = await sql.query<{ moved: boolean }>(END, values);
  return row?.moved === true;
}

/** Fails runs whose worker was killed, and those whose time is over. */
export async function sweepRuns(sql: Sql): Promise<void> {
  await sql.query(SWEEP);
}
