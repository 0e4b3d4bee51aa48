import { createHash, randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';
import type { Database } from './database.types.js';

/** What is one for all processes of an installation (decisions.md 9). */
export interface Installation {
  /** Also stands in the file store; a process whose store lacks it refuses to start. */
  id: string;
  /** Signs file URLs and encrypts stored webhook secrets. */
  signingSecret: string;
  /** Still accepted for verification. */
  previousSecret: string | null;
  /** False while another live process runs with a secret that is neither of ours: then neither is ready. */
  agrees(): Promise<boolean>;
  close(): Promise<void>;
}

const LOCK_CLASS = 7_265_002;
const HOLD_MS = 5000;

/** Written aside and linked into place: of several first starts one wins, and all read the winner's. */
async function keptInFolder(dataDir: string): Promise<string> {
  const path = join(dataDir, 'signing-secret');
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, randomBytes(32).toString('hex'), { mode: 0o600 });
  try {
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
  const secret = (await readFile(path, 'utf8')).trim();
  if (secret === '') throw new Error(`${path} is empty: remove it, or set SIGNING_SECRET`);
  return secret;
}

async function keptInDatabase(database: Database): Promise<string> {
  const made = randomBytes(32).toString('hex');
  const rows = await database.system.query<{ signing_secret: string }>(
    'UPDATE installation SET signing_secret = COALESCE(signing_secret, $1) RETURNING signing_secret',
    [made],
  );
  return rows[0]?.signing_secret ?? made;
}

/** The secret in force: the configured one, else the one made at the first start. */
async function resolveSigningSecret(config: Config, database: Database): Promise<string> {
  if (config.signing.secret !== null) return config.signing.secret;
  return config.database.url === null ? keptInFolder(config.dataDir) : keptInDatabase(database);
}

async function installationId(database: Database): Promise<string> {
  const [row] = await database.system.query<{ id: string }>('SELECT id FROM installation');
  if (row === undefined) throw new Error('The database names no installation: run the migrations first');
  return row.id;
}

/** 31 bits: enough to notice a difference, too few to tell anything of the secret. */
const fingerprint = (secret: string): number =>
  createHash('sha256').update(`penstock signing secret\n${secret}`).digest().readUInt32BE(0) >>> 1;

/** Live processes show their secrets' fingerprints as shared advisory locks, which end with the process. */
async function showFingerprint(database: Database, own: number, accepted: number[]) {
  const connection = await database.dedicated();
  const agrees = async (): Promise<boolean> => {
    await connection.query(
      `SELECT pg_advisory_lock_shared($1::int, $2::int) WHERE NOT EXISTS (
         SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid::bigint = $1 AND objid::bigint = $2 AND pid = pg_backend_pid())`,
      [LOCK_CLASS, own],
    );
    const others = await connection.query(
      `SELECT 1 FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database AND datname = current_database()
       WHERE locktype = 'advisory' AND classid::bigint = $1 AND objid::bigint <> ALL ($2::bigint[]) LIMIT 1`,
      [LOCK_CLASS, accepted],
    );
    return others.length === 0;
  };
  await agrees();
  // Shows it again after the connection was lost; a failure is seen by whoever asks for readiness.
  const timer = setInterval(() => void agrees().catch(() => undefined), HOLD_MS);
  timer.unref();
  return {
    agrees,
    async close(): Promise<void> {
      clearInterval(timer);
      await connection.close();
    },
  };
}

/** Opens what all processes of an installation share; servers and workers do, the command line need not. */
export async function openInstallation(options: {
  config: Config;
  database: Database;
}): Promise<Installation> {
  const { config, database } = options;
  const id = await installationId(database);
  const signingSecret = await resolveSigningSecret(config, database);
  const own = fingerprint(signingSecret);
  const previous = config.signing.previous;
  const accepted = previous === null ? [own] : [own, fingerprint(previous)];
  const shown = await showFingerprint(database, own, accepted);
  return { id, signingSecret, previousSecret: previous, ...shown };
}
