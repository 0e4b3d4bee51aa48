import type { Logger } from 'pino';
import type { Database } from '../database/index.js';
import { HEARTBEAT, SWEEP } from './metering.queries.js';

/** A process that has not renewed its lease for this long counts as dead, and its reservations are released. */
export const LEASE_MS = 15_000;
const HEARTBEAT_MS = 5_000;

export interface LeaseOptions {
  database: Pick<Database, 'system'>;
  processId: string;
  role: string;
  logger: Logger;
}

/** Renews this process's lease in `processes`, and sweeps processes whose lease expired. Errors are logged; the next heartbeat tries again. */
export function createLease({ database, processId, role, logger }: LeaseOptions) {
  let timer: NodeJS.Timeout | undefined;
  const running = new Set<Promise<void>>();

  const beat = async (leaseMs: number): Promise<void> => {
    await database.system.query(HEARTBEAT, [processId, role, leaseMs]);
  };
  const sweep = async (): Promise<void> => {
    const [row] = await database.system.query<{ released: number }>(SWEEP, [LEASE_MS]);
    if (row !== undefined && row.released > 0) {
      logger.warn({ released: row.released }, 'released the reservations of lost processes');
    }
  };
  const guarded = (work: () => Promise<void>, what: string) => (): void => {
    const run = work()
      .catch((error: unknown) => logger.warn({ err: error }, what))
      .finally(() => running.delete(run));
    running.add(run);
  };
  return {
    start(): void {
      if (timer !== undefined) return;
      const renew = () => beat(LEASE_MS);
      guarded(renew, 'the process could not renew its lease')();
      // First renew, then sweep: a process that was suspended would otherwise sweep its own reservations.
      const both = guarded(() => renew().then(sweep), 'the lease or the sweep of reservations failed');
      timer = setInterval(both, HEARTBEAT_MS).unref();
    },
    /** Ends the lease, so that other processes need not wait for its expiry. */
    async close(): Promise<void> {
      const started = timer !== undefined;
      clearInterval(timer);
      timer = undefined;
      await Promise.all(running);
      if (started)
        await beat(0).catch((error: unknown) => logger.debug({ err: error }, 'the lease runs out by itself'));
    },
  };
}
