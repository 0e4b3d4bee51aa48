import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ApiError } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import type { HintChannel, Hints } from '../database/hints.types.js';
import { FairSemaphore } from '../processes/index.js';
import type { Permit } from '../processes/index.js';

/** The right to write a row: valid while the row has this worker and this fence. */
export interface Hold {
  workerId: string;
  orgId: string;
  id: string;
  fence: number;
}

/** Work that a worker has claimed, until it ends or is returned to the queue. */
export interface LeasedWork {
  readonly hold: Hold;
  /** Resolves when it no longer runs; `left` if another worker must continue it. Never rejects. */
  readonly ended: Promise<'done' | 'left'>;
  /** Whether it waits without a permit. */
  readonly rests: boolean;
  /** Called when the worker stops soon. */
  drain(): void;
  /** Called when the work was cancelled. */
  cancel(): void;
  /** Called when the worker has lost the lease, or has no time left. */
  stop(): void;
}

export interface Claiming {
  workerId: string;
  /** Free permits: `free` for every organisation, `reserve` for organisations that have nothing in progress. */
  room: { free: number; reserve: number };
  /** Ids of the worker's work that waits without a permit. It does not count as in progress. */
  resting: string[];
  leaseMs: number;
}

/** How one kind of work is claimed, kept and returned. */
export interface LeaseMoves<Row> {
  claim(claiming: Claiming): Promise<Row[]>;
  /** @returns the ids that the worker still holds */
  renew(workerId: string, options: { holds: Hold[]; leaseMs: number }): Promise<Set<string>>;
  requeue(workerId: string, holds: Hold[]): Promise<void>;
  /** Frees or ends the work of lost workers. @returns whether any work waits */
  sweep(): Promise<boolean>;
}

export interface LeaseWorker {
  /** How many pieces of work it holds. */
  readonly size: number;
  start(): void;
  /** Stops. Work in progress may end for up to `graceMs`; the rest is returned to other workers. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

/** The times can be set for fault tests. */
export interface LeaseTimes {
  /** The number of permits; half as many more are in reserve. Default 32, because most of the time is spent waiting for models. */
  concurrency?: number;
  leaseMs?: number;
  heartbeatMs?: number;
  sweepMs?: number;
}

export interface LeaseWorkerOptions<Row extends { org_id: string }> extends LeaseTimes {
  /** The log's words for the work: `a run`, `runs`. */
  noun: { one: string; many: string };
  hints: Pick<Hints, 'on'>;
  pending: HintChannel;
  cancelled: HintChannel;
  moves: LeaseMoves<Row>;
  begin(row: Row, parts: { workerId: string; permit: Permit }): LeasedWork;
  logger: Logger;
}

const GRACE_MS = 25_000;
/** If the database did not answer for this long, a worker waits the same time again before it takes over leases, so that their holders can renew them first. */
const HEARTBEAT_TIMEOUT_MS = 10_000;
/** The maximum of one organisation's work that waits without a permit, all of which is in memory. */
const MAX_RESTING_PER_ORG = 32;
const GIVE_BACK_RETRY_MS = 300;

/** Whether an error means that the database was away for longer than a call waits. */
export function isDatabaseAway(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unavailable';
}

/** Claims work under leases, in fair shares between organisations, and renews the leases while the work runs. */
export function createLeaseWorker<Row extends { org_id: string }>(
  options: LeaseWorkerOptions<Row>,
): LeaseWorker {
  return new Worker(options);
}

class Worker<Row extends { org_id: string }> implements LeaseWorker {
  private readonly id = newId('wrk');
  private readonly running = new Map<string, LeasedWork>();
  private readonly timers: NodeJS.Timeout[] = [];
  private readonly offs: (() => void)[] = [];
  private readonly leaseMs: number;
  private readonly permits: FairSemaphore;
  private stopping = false;
  private claiming: Promise<void> | null = null;
  private wanted = false;
  private renewedAt = 0;
  /** When the database last answered, and the time before which no expired lease is taken over. */
  private heardAt = performance.now();
  private judgesFrom = 0;

  constructor(private readonly options: LeaseWorkerOptions<Row>) {
    this.leaseMs = options.leaseMs ?? 30_000;
    this.permits = new FairSemaphore({
      permits: options.concurrency ?? 32,
      maxRestingPerOrg: MAX_RESTING_PER_ORG,
      onFree: () => this.wake(),
    });
  }

  get size(): number {
    return this.running.size;
  }

  start(): void {
    const { hints, pending, cancelled } = this.options;
    this.offs.push(
      hints.on(pending, () => this.wake()),
      hints.on(cancelled, (id) => this.running.get(id)?.cancel()),
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
      // A notification that arrived at the end of the last claim is not lost.
      if (this.wanted && this.hasPermit()) this.wake();
    });
  }

  private hasPermit(): boolean {
    const { free, reserve } = this.permits.available;
    return free + reserve > 0;
  }

  private async claim(): Promise<void> {
    const { moves, noun, logger } = this.options;
    try {
      while (this.wanted && !this.stopping && this.hasPermit()) {
        this.wanted = false;
        const claimed = await moves.claim({
          workerId: this.id,
          room: this.permits.available,
          resting: [...this.running.values()].filter(({ rests }) => rests).map(({ hold }) => hold.id),
          leaseMs: this.leaseMs,
        });
        for (const row of claimed) {
          const permit = this.permits.take(row.org_id);
          this.begin(this.options.begin(row, { workerId: this.id, permit }), permit);
        }
        if (claimed.length > 0 && this.permits.available.free > 0) this.wanted = true;
      }
    } catch (error) {
      this.wanted = false;
      logger.warn({ err: error }, `claiming ${noun.many} failed; the next sweep tries again`);
    }
  }

  private begin(execution: LeasedWork, permit: Permit): void {
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
   * Repeats until the database answers, because work is often released while the database is away. Its lease is renewed meanwhile. The fence protects
   * work that another worker has taken or ended by now.
   */
  private async requeue({ hold }: LeasedWork): Promise<void> {
    for (;;) {
      try {
        return await this.options.moves.requeue(this.id, [hold]);
      } catch (error) {
        this.options.logger.error(
          { err: error, id: hold.id },
          `${this.options.noun.one} could not be released to other workers`,
        );
        if (this.stopping || !isDatabaseAway(error)) return;
        await sleep(GIVE_BACK_RETRY_MS);
      }
    }
  }

  private async sweep(): Promise<void> {
    try {
      const waits = (await this.mayJudge()) ? await this.options.moves.sweep() : true;
      this.heardAt = performance.now();
      if (waits) this.wake();
    } catch (error) {
      this.options.logger.warn(
        { err: error },
        `the sweep of ${this.options.noun.many} failed; the next one tries again`,
      );
    }
  }

  /** While the database is away leases expire although no worker died. Their holders must be able to renew them first. */
  private async mayJudge(): Promise<boolean> {
    if (performance.now() - this.heardAt > HEARTBEAT_TIMEOUT_MS) {
      await this.renew([...this.running.values()]);
      this.judgesFrom = performance.now() + HEARTBEAT_TIMEOUT_MS;
    }
    return performance.now() >= this.judgesFrom;
  }

  private async renew(executions: LeasedWork[]): Promise<void> {
    const began = performance.now();
    const held = await this.options.moves.renew(this.id, {
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
      this.options.logger.warn({ err: error }, `leases of ${this.options.noun.many} could not be renewed`);
      if (performance.now() - this.renewedAt < this.leaseMs) return;
      for (const execution of executions) execution.stop();
    }
  }
}
