import type { Logger } from 'pino';
import type { Database } from '../database/index.js';
import { BEHIND, FOLD, GROUP } from './usage.queries.js';

/** A record is in the summaries at most a minute after its end (beyond 13.6). */
const EVERY_MS = 20_000;
/** Rows of one organisation in one statement: about a tenth of a second. */
const ROWS = 5_000;

/** Keeps the rollups behind the ledger. Any number of processes may do it: one organisation is folded by one at a time. */
export interface Folding {
  /** Folds now, and then every 20 seconds. */
  start(): void;
  /** Folds and groups all that there is; returns how many rows of ledgers were folded. */
  fold(): Promise<number>;
  close(): Promise<void>;
}

export function createFolding({
  database,
  logger,
}: {
  database: Pick<Database, 'system'>;
  logger: Logger;
}): Folding {
  const sql = database.system;
  let timer: NodeJS.Timeout | null = null;
  let closed = false;
  let running: Promise<unknown> | null = null;

  /** @returns whether there may be more */
  async function step(orgId: string, folds: boolean): Promise<{ folded: number; more: boolean }> {
    const [row] = folds ? await sql.query<{ count: number }>(FOLD, [orgId, ROWS]) : [];
    const folded = row?.count ?? 0;
    const [group] = await sql.query<{ found: boolean }>(GROUP, [orgId]);
    return { folded, more: folded === ROWS || group?.found === true };
  }

  /** Organisations take turns: a long ledger delays no short one. */
  async function fold(): Promise<number> {
    let total = 0;
    let left = await sql.query<{ org_id: string; folds: boolean }>(BEHIND);
    while (left.length > 0 && !closed) {
      const again: typeof left = [];
      for (const org of left) {
        if (closed) break;
        try {
          const { folded, more } = await step(org.org_id, org.folds);
          total += folded;
          if (more) again.push({ ...org, folds: org.folds && folded > 0 });
        } catch (error) {
          logger.warn(
            { err: error, orgId: org.org_id },
            'usage could not be folded; the next look tries again',
          );
        }
      }
      left = again;
    }
    return total;
  }

  const tick = (): void => {
    running ??= fold()
      .catch((error: unknown) =>
        logger.warn({ err: error }, 'usage could not be folded; the next look tries again'),
      )
      .finally(() => (running = null));
  };
  return {
    start() {
      tick();
      timer = setInterval(tick, EVERY_MS * (0.9 + Math.random() * 0.1));
    },
    fold,
    async close() {
      closed = true;
      if (timer) clearInterval(timer);
      await running;
    },
  };
}
