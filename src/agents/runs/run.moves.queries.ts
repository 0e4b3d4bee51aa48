import type { ErrorCode } from '../../contract/errors.js';
import type { Sql } from '../../database/database.types.js';
import { createBatcher, wasRolledBack } from '../../jobs/index.js';
import type { Claiming, Hold } from '../../jobs/index.js';
import type { RunRow } from './run.row.js';
import type { NewStep, RunState } from './run.types.js';
import { storedJson } from '../../text/stored-json.js';

const named = (name: string, text: string) => ({ name: `agent_runs_${name}`, text });
const CLAIM = named('claim_fairly', 'SELECT * FROM penstock_runs_claim($1, $2, $3, $4, $5::bigint, $6)');
const ADVANCE = named('advance', 'SELECT * FROM penstock_runs_advance($1, $2::jsonb) AS moved');
const END = named('end', 'SELECT * FROM penstock_runs_end($1, $2::jsonb) AS moved');
const SWEEP_TEXT = `SELECT penstock_runs_sweep() AS moved,
  EXISTS (SELECT 1 FROM agent_runs WHERE status = 'running' AND worker_id IS NULL) AS waiting`;
const SWEEP = { ...named('sweep', SWEEP_TEXT), repeatable: true } as const;

/** A finished operation: its real amounts (hundredths in the order of BUCKETS), or null to give the reservation back. */
export interface EndedOperation {
  id: string;
  amounts: number[] | null;
  /** What its record says of its end: `p_outcome` in SQL. */
  outcome: Record<string, unknown>;
  /** Replaces a reservation that was lost with the database. */
  fallback?: object;
}

/** The rows that are written in one transaction at the end of a step. */
export interface Work {
  operations: EndedOperation[];
  steps: NewStep[];
  /** Tokens of the model calls among the operations. */
  tokens: number;
}

export interface RunClaim extends Claiming {
  limitMs: number;
}

export async function claimRuns(
  sql: Sql,
  { workerId, room: { free, reserve }, resting, leaseMs, limitMs }: RunClaim,
): Promise<RunRow[]> {
  return await sql.query<RunRow>(CLAIM, [workerId, free, reserve, leaseMs, limitMs, resting]);
}

/** The end of a step, with the state from which another worker could continue. */
export type Advance = Work & { state: RunState };
/** The last write of a run by its worker. */
export type End = Work & {
  status: 'completed' | 'failed';
  text: string;
  /** The error that the run's record shows; null if the run completed. */
  code: ErrorCode | null;
};

/** Writes for the runs that a worker holds. Simultaneous writes of many runs share a transaction. */
export interface RunWriter {
  /** @returns false where the run is not the worker's any more: nothing was changed */
  advance(hold: Hold, work: Advance): Promise<boolean>;
  /** Resolves when the write is on the disk. @returns false if the worker no longer holds the run */
  end(hold: Hold, end: End): Promise<boolean>;
}

const MAX_BATCH = 16;

interface Write {
  hold: Hold;
  json: string;
}

export function createRunWriter(sql: Sql): RunWriter {
  const advances = createWrites(sql, ADVANCE);
  const ends = createWrites(sql, END);
  return {
    advance: (hold, work) => advances.add({ hold, json: storedJson(work) }),
    end: (hold, end) => ends.add({ hold, json: storedJson(end) }),
  };
}

function createWrites(sql: Sql, statement: { name: string; text: string }) {
  return createBatcher<Write, boolean>({
    maxBatch: MAX_BATCH,
    retryable: wasRolledBack,
    async run(writes) {
      // Ordered by organisation in every process, so that two batches never deadlock on balances.
      const order = writes.map((_, index) => index).sort((a, b) => compare(writes[a], writes[b]));
      const items = order.map((index) => itemOf(writes[index] as Write));
      const rows = await sql.query<{ moved: boolean }>(statement, [
        writes[0]?.hold.workerId ?? '',
        `[${items.join(',')}]`,
      ]);
      const moved: boolean[] = [];
      order.forEach((index, at) => (moved[index] = rows[at]?.moved === true));
      return moved;
    },
  });
}

function compare(a: Write | undefined, b: Write | undefined): number {
  return `${a?.hold.orgId}${a?.hold.id}` < `${b?.hold.orgId}${b?.hold.id}` ? -1 : 1;
}

function itemOf({ hold, json }: Write): string {
  return `{"id":${JSON.stringify(hold.id)},"fence":${hold.fence},"work":${json}}`;
}

/** Fails runs whose worker was killed or whose time is over. @returns whether runs wait for a worker */
export async function sweepRuns(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ waiting: boolean }>(SWEEP);
  return row?.waiting ?? true;
}
