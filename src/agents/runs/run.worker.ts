import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Principal } from '../../access/access.types.js';
import { createLeaseWorker, releaseLeases, renewLeases } from '../../jobs/index.js';
import type { LeaseTimes, LeaseWorker } from '../../jobs/index.js';
import { RunExecution } from './run.execution.js';
import type { ExecutionOptions } from './run.execution.js';
import { claimRuns, createRunWriter, sweepRuns } from './run.moves.queries.js';
import type { RunRow } from './run.row.js';

/** Claims runs and executes them. When the worker stops, a run ends at its next step, and another worker continues from the stored steps. */
export type RunWorker = LeaseWorker;

export type RunWorkerOptions = ExecutionOptions & LeaseTimes;

/** A run that takes longer fails. */
const TIME_LIMIT_MS = 1_800_000;

export function createRunWorker(options: RunWorkerOptions): RunWorker {
  const { system: sql, hints } = options.database;
  const writer = createRunWriter(sql);
  const callerOf = shared((run) => options.authenticator.refresh(callerIn(run)));
  const turn = createTurns();
  return createLeaseWorker<RunRow>({
    ...options,
    noun: { one: 'a run', many: 'runs' },
    hints,
    pending: 'run_pending',
    cancelled: 'run_cancel',
    moves: {
      claim: (claiming) => claimRuns(sql, { ...claiming, limitMs: TIME_LIMIT_MS }),
      renew: (workerId, leases) => renewLeases(sql, 'agent_runs', { workerId, ...leases }),
      requeue: (workerId, holds) => releaseLeases(sql, 'agent_runs', { workerId, holds }),
      sweep: () => sweepRuns(sql),
    },
    begin: (row, parts) => new RunExecution(options, row, { ...parts, writer, callerOf, turn }),
  });
}

/** Gives each caller a turn of the event loop of its own, in order. */
function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(() => nextTurn()));
}

type Caller = Pick<RunRow, 'key_id' | 'token_id'>;

const callerIn = ({ key_id: keyId, token_id: cappedBy }: Caller) =>
  ({ keyId, ...(cappedBy === null ? {} : { cappedBy }) }) as Principal;

/** Runs that begin at the same time share one look-up of their key. A run that begins after its answer looks the key up again. */
function shared<Value>(look: (run: Caller) => Promise<Value>): (run: Caller) => Promise<Value> {
  const under = new Map<string, Promise<Value>>();
  return (run) => {
    const key = `${run.key_id} ${run.token_id ?? ''}`;
    const known = under.get(key) ?? look(run).finally(() => under.delete(key));
    under.set(key, known);
    return known;
  };
}
