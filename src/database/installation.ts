import { createHash, randomBytes } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config/index.js';
import type { Database, Sql } from './database.types.js';
import { InstallationEntity } from './installation.entity.js';

/** The values that all processes of an installation share (decisions 9). */
export interface Installation {
  /** Also stands in the file store; a process whose store lacks it refuses to start. */
  id: string;
  /** Signs file URLs and encrypts stored webhook secrets. */
  signingSecret: string;
  /** Still accepted for verification. */
  previousSecret: string | null;
  /** False while another live process signs with a secret that we do not accept, nor it ours: then neither is ready. */
  agrees(): Promise<boolean>;
  /** False while another live process does not accept the secret that we sign with: it could not open what we seal. */
  isUnderstood(): Promise<boolean>;
  close(): Promise<void>;
}

/** Classes of the advisory locks: the secret that a process signs with, and each one that it accepts. */
const SIGNS = 7_265_002;
const ACCEPTS = 7_265_004;
const HOLD_MS = 10_000;

const secretPath = (dataDir: string): string => join(dataDir, 'signing-secret');

interface Opening {
  config: Config;
  database: Database;
}

const newSecret = (): string => randomBytes(32).toString('hex');

/** Written aside and linked into place: of several first starts one wins, and all read the winner's. */
async function makeInFolder(dataDir: string, made: string): Promise<void> {
  const path = secretPath(dataDir);
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, made, { mode: 0o600 });
  try {
    await link(draft, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/** Null: none was made yet. */
async function keptInFolder(dataDir: string): Promise<string | null> {
  const path = secretPath(dataDir);
  try {
    const secret = (await readFile(path, 'utf8')).trim();
    if (secret === '') throw new Error(`${path} is empty: remove it, or set SIGNING_SECRET`);
    return secret;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Null: none was made yet. */
async function keptInDatabase(database: Database): Promise<string | null> {
  const { signingSecret } = await database.allTenants((em) =>
    em.findOneOrFail(InstallationEntity, { onlyOne: true }, { populate: ['signingSecret'] }),
  );
  return signingSecret ?? null;
}

/** Of several first starts one wins. */
const MAKE_SECRET = 'UPDATE installation SET signing_secret = COALESCE(signing_secret, $1)';

/** The configured secret, else the one made at the first start. Null: neither. */
async function knownSecret({ config, database }: Opening): Promise<string | null> {
  if (config.signing.secret !== null) return config.signing.secret;
  return config.database.url === null ? keptInFolder(config.dataDir) : keptInDatabase(database);
}

/** The secret in force; made where there is none yet. */
async function resolveSigningSecret(opening: Opening): Promise<string> {
  const { config, database } = opening;
  const known = await knownSecret(opening);
  if (known !== null) return known;
  const made = newSecret();
  if (config.database.url === null) await makeInFolder(config.dataDir, made);
  else await database.system.query(MAKE_SECRET, [made]);
  return (await knownSecret(opening)) ?? made;
}

async function installationId(database: Database): Promise<string> {
  const row = await database.allTenants((em) => em.findOne(InstallationEntity, { onlyOne: true }));
  if (row === null) throw new Error('The database names no installation: run the migrations first');
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

type Accepted = [own: number, ...older: number[]];

/** The fingerprints of a secret and, where there is one, of the previous one that is still accepted. */
function fingerprints(secret: string, { signing: { previous } }: Config): Accepted {
  return previous === null ? [fingerprint(secret)] : [fingerprint(secret), fingerprint(previous)];
}

async function agree(sql: Sql, accepted: Accepted): Promise<boolean> {
  return (await sql.query(STRANGERS, [SIGNS, ACCEPTS, accepted, accepted[0]])).length === 0;
}

/** Strangers are also those whose secret we accept, where they do not take ours. */
async function understand(sql: Sql, [own]: Accepted): Promise<boolean> {
  return (await sql.query(STRANGERS, [SIGNS, ACCEPTS, [], own])).length === 0;
}

/** Live processes show the fingerprints of what they sign with and accept as shared advisory locks, which end with the process. */
async function showFingerprints(database: Database, accepted: Accepted) {
  const connection = await database.dedicated();
  const classes = [SIGNS, ...accepted.map(() => ACCEPTS)];
  const hold = () => connection.query(HOLD, [classes, [accepted[0], ...accepted]]);
  const agrees = async (): Promise<boolean> => {
    await hold();
    return await agree(connection, accepted);
  };
  await agrees();
  // Shows them again after the connection was lost; a failure is seen by whoever asks for readiness.
  const timer = setInterval(() => void hold().catch(() => undefined), HOLD_MS);
  timer.unref();
  return {
    agrees,
    isUnderstood: () => understand(connection, accepted),
    async close(): Promise<void> {
      clearInterval(timer);
      await connection.close();
    },
  };
}

/** What callers are told, for who does not serve them: the environment's, else that of the server that started last. */
export async function publicUrlOf(database: Database, { http }: Config): Promise<string> {
  if (http.isPublicUrlSet) return http.publicUrl;
  const row = await database.allTenants((em) => em.findOne(InstallationEntity, { onlyOne: true }));
  return row?.publicUrl ?? http.publicUrl;
}

/** From now on, and for good, every event is written for processes with Kafka. */
export async function noteKafka(database: Database): Promise<void> {
  await database.allTenants((em) => em.nativeUpdate(InstallationEntity, { kafka: false }, { kafka: true }));
}

async function keepPublicUrl(database: Database, publicUrl: string): Promise<void> {
  await database.allTenants(async (em) => {
    (await em.findOneOrFail(InstallationEntity, { onlyOne: true })).publicUrl = publicUrl;
  });
}

/** Opens what all processes of an installation share; servers and workers do, the command line need not. */
export async function openInstallation(opening: Opening): Promise<Installation> {
  const { config, database } = opening;
  const id = await installationId(database);
  const signingSecret = await resolveSigningSecret(opening);
  if (config.role !== 'worker') await keepPublicUrl(database, config.http.publicUrl);
  const shown = await showFingerprints(database, fingerprints(signingSecret, config));
  return { id, signingSecret, previousSecret: config.signing.previous, ...shown };
}

/**
 * What {@link openInstallation} would find, for who only looks: it signs nothing, so that it shows no secret to the processes that run and
 * makes none. Where none was made yet the secret is one that nobody else has.
 */
export async function lookAtInstallation(
  opening: Opening,
): Promise<Omit<Installation, 'isUnderstood' | 'close'>> {
  const { config, database } = opening;
  const id = await installationId(database);
  const signingSecret = (await knownSecret(opening)) ?? newSecret();
  const accepted = fingerprints(signingSecret, config);
  return {
    id,
    signingSecret,
    previousSecret: config.signing.previous,
    agrees: () => agree(database.system, accepted),
  };
}
