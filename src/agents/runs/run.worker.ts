import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Principal } from '../../access/access.types.js';
import { newId } from '../../contract/ids.js';
import { FairSemaphore } from '../../processes/index.js';
import type { Permit } from '../../processes/index.js';
import { RunExecution } from './run.execution.js';
import { isDatabaseAway } from './run.fault.js';
import type { ExecutionOptions, Workshop } from './run.execution.js';
import { claimRuns, createRunWriter, requeueRuns, renewRuns, sweepRuns } from './run.moves.queries.js';

/** Takes runs and executes them. */
export interface RunWorker {
  /** Runs in hand. */
  readonly size: number;
  start(): void;
  /** Runs stop at their next boundary, or after `graceMs`, and go on elsewhere from their stored steps. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

/** The times are settable for tests of faults. */
export interface RunWorkerOptions extends ExecutionOptions {
  /** Permits for runs, with half as many in reserve; default 32: they wait for models most of the time. */
  concurrency?: number;
  leaseMs?: number;
  heartbeatMs?: number;
  sweepMs?: number;
}

const GRACE_MS = 25_000;
/** A run that takes longer is failed. */
const TIME_LIMIT_MS = 1_800_000;
/** Who heard nothing of the database for this long does not judge leases before their holders had as long to renew them. */
const HEARTBEAT_TIMEOUT_MS = 10_000;
/** How many runs of one organisation may wait without a permit. Each of them is held in memory. */
const MAX_RESTING_PER_ORG = 32;
const GIVE_BACK_RETRY_MS = 300;

export function createRunWorker(options: RunWorkerOptions): RunWorker {
  return new Worker(options);
}

class Worker implements RunWorker {
  private readonly id = newId('wrk');
  private readonly running = new Map<string, RunExecution>();
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly offs: (() => void)[] = [];
  private readonly leaseMs: number;
  private readonly permits: FairSemaphore;
  private readonly workshop: Workshop;
  private stopping = false;
  private claiming: Promise<void> | null = null;
  private wanted = false;
  private renewedAt = 0;
  /** When the database last answered, and until when leases that ran out meanwhile are not judged. */
  private heardAt = performance.now();
  private judgesFrom = 0;

  constructor(private readonly options: RunWorkerOptions) {
    this.leaseMs = options.leaseMs ?? 30_000;
    this.permits = new FairSemaphore({
      permits: options.concurrency ?? 32,
      maxRestingPerOrg: MAX_RESTING_PER_ORG,
      onFree: () => this.wake(),
    });
    const writer = createRunWriter(options.database.system);
    const callerOf = shared((keyId) => options.authenticator.refresh({ keyId } as Principal));
    this.workshop = { workerId: this.id, writer, callerOf, turn: createTurns() };
  }

  get size(): number {
    return this.running.size;
  }

  start(): void {
    const { hints } = this.options.database;
    this.offs.push(
      hints.on('run_pending', () => this.wake()),
      hints.on('run_cancel', (id) => this.running.get(id)?.stop()),
    );
    const sweepMs = (this.options.sweepMs ?? 2_000) * (0.9 + Math.random() * 0.1);
    this.timers.push(
      setInterval(() => void this.sweep(), sweepMs),
      setInterval(() => void this.heartbeat(), this.options.heartbeatMs ?? 8_000),
    );
    void this.sweep();
  }

  async stop({ graceMs = GRACE_MS }: { graceMs?: number } = {}): Promise<void> {
    this.stopping = true;
    for (const off of this.offs.splice(0)) off();
    await this.claiming;
    for (const execution of this.running.values()) execution.drain();
    const grace = new AbortController();
    const over = sleep(graceMs, undefined, { signal: grace.signal }).catch(() => undefined);
    await Promise.race([this.allEnded(), over]);
    grace.abort();
    for (const execution of this.running.values()) execution.stop();
    await this.allEnded();
    for (const timer of this.timers.splice(0)) clearInterval(timer);
  }

  private async allEnded(): Promise<void> {
    await Promise.all([...this.running.values()].map(({ ended }) => ended));
  }

  private wake(): void {
    this.wanted = true;
    if (this.stopping || this.claiming) return;
    this.claiming = this.claim().finally(() => {
      this.claiming = null;
      // A hint that came while the last look ended is not lost.
      if (this.wanted && this.hasPermit()) this.wake();
    });
  }

  private hasPermit(): boolean {
    const { free, reserve } = this.permits.available;
    return free + reserve > 0;
  }

  private async claim(): Promise<void> {
    const { database, logger } = this.options;
    try {
      while (this.wanted && !this.stopping && this.hasPermit()) {
        this.wanted = false;
        const claimed = await claimRuns(database.system, {
          workerId: this.id,
          room: this.permits.available,
          resting: [...this.running.values()].filter(({ rests }) => rests).map(({ hold }) => hold.id),
          leaseMs: this.leaseMs,
          limitMs: TIME_LIMIT_MS,
        });
        for (const row of claimed) {
          const permit = this.permits.take(row.org_id);
          this.begin(new RunExecution(this.options, row, { ...this.workshop, permit }), permit);
        }
        if (claimed.length > 0 && this.permits.available.free > 0) this.wanted = true;
      }
    } catch (error) {
      this.wanted = false;
      logger.warn({ err: error }, 'claiming runs failed; the next sweep tries again');
    }
  }

  private begin(execution: RunExecution, permit: Permit): void {
    const { id } = execution.hold;
    if (this.running.size === 0) this.renewedAt = performance.now();
    this.running.set(id, execution);
    void execution.ended.then(async (outcome) => {
      if (outcome === 'left') await this.requeue(execution);
      if (this.running.get(id) === execution) this.running.delete(id);
      permit.release();
    });
  }

  /**
   * Tried until the database answers, since that may be what the run was left for; meanwhile its lease is renewed. A run that is another's
   * or over by now stays as it is: the fence says so.
   */
  private async requeue({ hold }: RunExecution): Promise<void> {
    for (;;) {
      try {
        return await requeueRuns(this.options.database.system, this.id, [hold]);
      } catch (error) {
        this.options.logger.error(
          { err: error, runId: hold.id },
          'a run could not be released to other workers',
        );
        if (this.stopping || !isDatabaseAway(error)) return;
        await sleep(GIVE_BACK_RETRY_MS);
      }
    }
  }

  private async sweep(): Promise<void> {
    try {
      const waits = (await this.mayJudge()) ? await sweepRuns(this.options.database.system) : true;
      this.heardAt = performance.now();
      if (waits) this.wake();
    } catch (error) {
      this.options.logger.warn({ err: error }, 'the sweep of runs failed; the next one tries again');
    }
  }

  /** Leases run out while the database is away, though nobody was killed: who held them renews them first. */
  private async mayJudge(): Promise<boolean> {
    if (performance.now() - this.heardAt > HEARTBEAT_TIMEOUT_MS) {
      await this.renew([...this.running.values()]);
      this.judgesFrom = performance.now() + HEARTBEAT_TIMEOUT_MS;
    }
    return performance.now() >= this.judgesFrom;
  }

  private async renew(executions: RunExecution[]): Promise<void> {
    const began = performance.now();
    const held = await renewRuns(this.options.database.system, this.id, {
      holds: executions.map(({ hold }) => hold),
      leaseMs: this.leaseMs,
    });
    this.renewedAt = began;
    for (const execution of executions) if (!held.has(execution.hold.id)) execution.stop();
  }

  private async heartbeat(): Promise<void> {
    const executions = [...this.running.values()];
    if (executions.length === 0) return;
    try {
      await this.renew(executions);
    } catch (error) {
      this.options.logger.warn({ err: error }, 'leases of runs could not be renewed');
      if (performance.now() - this.renewedAt < this.leaseMs) return;
      for (const execution of executions) execution.stop();
    }
  }
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
