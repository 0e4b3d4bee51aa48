import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Principal } from '../../access/access.types.js';
import { createLeaseWorker, releaseLeases, renewLeases } from '../../jobs/index.js';
import type { LeaseTimes, LeaseWorker } from '../../jobs/index.js';
import { RunExecution } from './run.execution.js';
import type { ExecutionOptions } from './run.execution.js';
import { claimRuns, createRunWriter, sweepRuns } from './run.moves.queries.js';
import type { RunRow } from './run.row.js';

/** Takes runs and executes them. A run that its worker stops ends at its next boundary, and goes on elsewhere from its stored steps. */
export type RunWorker = LeaseWorker;

export type RunWorkerOptions = ExecutionOptions & LeaseTimes;

/** A run that takes longer is failed. */
const TIME_LIMIT_MS = 1_800_000;

export function createRunWorker(options: RunWorkerOptions): RunWorker {
  const { system: sql, hints } = options.database;
  const writer = createRunWriter(sql);
  const callerOf = shared((keyId) => options.authenticator.refresh({ keyId } as Principal));
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

/** Hands out the turns of the event loop, one to each who asks, in order. */
function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(() => nextTurn()));
}

/** Runs that begin together look their key up once; who comes after the answer looks again. */
function shared<Value>(look: (key: string) => Promise<Value>): (key: string) => Promise<Value> {
  const under = new Map<string, Promise<Value>>();
  return (key) => {
    const known = under.get(key) ?? look(key).finally(() => under.delete(key));
    under.set(key, known);
    return known;
  };
}
