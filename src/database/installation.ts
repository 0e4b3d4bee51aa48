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
  /** False while another live process signs with a secret that we do not accept, nor it ours: then neither is ready. */
  agrees(): Promise<boolean>;
  close(): Promise<void>;
}

/** Classes of the advisory locks: the secret that a process signs with, and each one that it accepts. */
const SIGNS = 7_265_002;
const ACCEPTS = 7_265_004;
const HOLD_MS = 10_000;

/** Written aside and linked into place: of several first starts one wins, and all read the winner's. */
async function keptInFolder(dataDir: string): Promise<string> {
  const path = join(dataDir, 'signing-secret');
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
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

const HOLD = `
SELECT pg_advisory_lock_shared(w.class, w.fingerprint) FROM unnest($1::int[], $2::int[]) AS w (class, fingerprint)
WHERE NOT EXISTS (
  SELECT 1 FROM pg_locks l WHERE l.locktype = 'advisory' AND l.classid::bigint = w.class AND l.objid::bigint = w.fingerprint
    AND l.pid = pg_backend_pid())`;

/** Others whose secret is none of ours, and who do not take ours either. */
const STRANGERS = `
SELECT 1 FROM pg_locks o JOIN pg_database d ON d.oid = o.database AND d.datname = current_database()
WHERE o.locktype = 'advisory' AND o.classid::bigint = $1 AND o.objid::bigint <> ALL ($3::bigint[])
  AND NOT EXISTS (
    SELECT 1 FROM pg_locks a WHERE a.locktype = 'advisory' AND a.classid::bigint = $2 AND a.objid::bigint = $4 AND a.pid = o.pid)
LIMIT 1`;

/** Live processes show the fingerprints of what they sign with and accept as shared advisory locks, which end with the process. */
async function showFingerprints(database: Database, own: number, previous: number | null) {
  const connection = await database.dedicated();
  const accepted = previous === null ? [own] : [own, previous];
  const classes = [SIGNS, ...accepted.map(() => ACCEPTS)];
  const hold = () => connection.query(HOLD, [classes, [own, ...accepted]]);
  const agrees = async (): Promise<boolean> => {
    await hold();
    return (await connection.query(STRANGERS, [SIGNS, ACCEPTS, accepted, own])).length === 0;
  };
  await agrees();
  // Shows them again after the connection was lost; a failure is seen by whoever asks for readiness.
  const timer = setInterval(() => void hold().catch(() => undefined), HOLD_MS);
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
  const shown = await showFingerprints(database, own, previous === null ? null : fingerprint(previous));
  return { id, signingSecret, previousSecret: previous, ...shown };
}
