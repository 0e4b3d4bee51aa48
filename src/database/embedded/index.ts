import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { awaitStopping, hasKeeper, join, leave } from './keeper.js';
import { prepareLayout } from './layout.js';
import type { Layout } from './layout.js';
import { awaitStopped, ensureCluster, ensureServer, SERVER_USER } from './postmaster.js';

const KEEPER_CHECK_MS = 5000;
const STOP_TIMEOUT_MS = 30_000;
/** So often nobody's keeper leaves in the middle of a start; where none can be started, the server is there without. */
const MOST_ROUNDS = 5;

/** This process's share in a DATA_DIR's PostgreSQL. */
export interface EmbeddedPostgres {
  /** Connection string over the unix socket, as the cluster's owner. */
  readonly url: string;
  /** Starts the server again where it has died or another process has just stopped it. Concurrent calls share one attempt. */
  ensure(): Promise<void>;
  /** Gives the share back; the last user's call returns when PostgreSQL has stopped. */
  release(): Promise<void>;
}

async function awaitKeeperGone(layout: Layout): Promise<void> {
  for (const deadline = performance.now() + 2000; hasKeeper(layout) && performance.now() < deadline;)
    await sleep(20);
}

/**
 * Starts or adopts the embedded PostgreSQL of a DATA_DIR (decisions 9). One server serves every process that uses the folder; the last
 * one to leave, or to die, stops it.
 * @param settings further `name=value` settings, for a server that this call starts
 */
export async function useEmbeddedPostgres(options: {
  dataDir: string;
  logger: Logger;
  settings?: string[];
}): Promise<EmbeddedPostgres> {
  const { dataDir, logger, settings = [] } = options;
  const layout = await prepareLayout(dataDir);
  let attempt: Promise<void> | null = null;
  let descriptor: number | null = null;

  const guard = async (): Promise<void> => {
    if (descriptor !== null && hasKeeper(layout)) return;
    const next = await join(layout);
    if (descriptor !== null) leave(layout, descriptor);
    descriptor = next;
  };
  const ensure = (): Promise<void> => {
    attempt ??= (async () => {
      await ensureCluster(layout);
      for (let round = 0; round < MOST_ROUNDS; round++) {
        await guard();
        await awaitStopping(layout, STOP_TIMEOUT_MS);
        await ensureServer(layout, settings);
        if (hasKeeper(layout)) break;
        // It has left since: what was found running is being stopped.
      }
    })().finally(() => (attempt = null));
    return attempt;
  };

  await ensure();
  const check = setInterval(() => {
    guard().catch((error: unknown) =>
      logger.warn({ err: error }, 'the embedded PostgreSQL has no keeper process that would stop it'),
    );
  }, KEEPER_CHECK_MS);
  check.unref();

  return {
    url: `postgresql://${SERVER_USER}@localhost/postgres?host=${layout.run}`,
    ensure,
    async release() {
      clearInterval(check);
      if (descriptor === null) return;
      await guard();
      const mine = descriptor;
      descriptor = null;
      if (!leave(layout, mine)) return;
      if (!(await awaitStopped(layout, STOP_TIMEOUT_MS)))
        logger.error('the embedded PostgreSQL has not stopped');
      await awaitKeeperGone(layout);
    },
  };
}
