import { createHash } from 'node:crypto';
import { chown, lstat, mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../disk/make-folder.js';
import { canEnter, serverAccount, serverBinaries } from './account.js';
import type { Account } from './account.js';

/** Where one DATA_DIR's PostgreSQL lives. Equal for every process that uses the folder. */
export interface Layout {
  account: Account | null;
  /** Folder of `postgres` and `initdb`. */
  binaries: string;
  /** PGDATA. */
  cluster: string;
  /** How PostgreSQL is told of `cluster`: see {@link clusterArgument}. */
  clusterArgument: string;
  log: string;
  /** Holds the unix socket while the server runs; short, because a socket's path may have 107 bytes. */
  run: string;
  /** Every process that uses the server holds this FIFO open for writing; the kernel closes it even after a SIGKILL. */
  users: string;
}

/**
 * As root, PostgreSQL runs as another account, which may be unable to enter the folders above PGDATA (/root, a private temporary folder).
 * It only ever names PGDATA by this one path and inherits its working folder, so that on Linux `/proc/self/cwd` leads there without a walk.
 */
async function clusterArgument(dataDir: string, cluster: string, account: Account | null): Promise<string> {
  if (await canEnter(dataDir, account)) return cluster;
  if (process.platform === 'linux') return '/proc/self/cwd';
  throw new Error(
    `PostgreSQL does not run as root, and its own account cannot enter ${dataDir}: choose another DATA_DIR`,
  );
}

/** The keeper removes it when the server has stopped, so that every start makes it again. */
export async function makeRunFolder({ run, account }: Pick<Layout, 'run' | 'account'>): Promise<void> {
  const owner = account?.uid ?? process.getuid?.();
  await mkdir(run, { mode: 0o700 }).then(
    () => (account === null ? undefined : chown(run, account.uid, account.gid)),
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );
  const found = await lstat(run);
  const trusted =
    found.isDirectory() &&
    (found.uid === owner || found.uid === process.getuid?.()) &&
    (found.mode & 0o077) === 0;
  if (!trusted) throw new Error(`${run} belongs to somebody else: remove it`);
}

export async function prepareLayout(dataDir: string): Promise<Layout> {
  makeFolder(dataDir);
  const home = await realpath(dataDir);
  const account = await serverAccount();
  const cluster = join(home, 'postgres');
  const key = createHash('sha256')
    .update(`${account?.uid ?? process.getuid?.()}:${home}`)
    .digest('hex')
    .slice(0, 16);
  // Not os.tmpdir(): a server and a command line with different TMPDIR must meet.
  const run = `/tmp/penstock-${key}`;
  return {
    account,
    binaries: await serverBinaries(account),
    cluster,
    clusterArgument: await clusterArgument(home, cluster, account),
    log: join(home, 'postgres.log'),
    run,
    users: join(home, 'postgres.users'),
  };
}
