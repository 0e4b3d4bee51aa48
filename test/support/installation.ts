import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { pino } from 'pino';
import { createPlanCatalogue } from '../../src/access/index.js';
import { actAs, OPERATOR } from '../../src/audit/index.js';
import { entities } from '../../src/boot/entities.js';
import { loadConfig } from '../../src/config/index.js';
import type { PlanCode, Scope } from '../../src/contract/words.js';
import { createDatabase } from '../../src/database/index.js';
import { cloneDatabase } from './database.js';
import { createOwners } from './owners.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

export interface InstallationOptions {
  /** Environment variables over the tests' own (quiet logs, short names). */
  env?: Record<string, string>;
  /** Content of PROVIDERS_FILE. */
  providers?: object;
  /** Content of PLANS_FILE. */
  plans?: object;
}

export interface TestOrg {
  orgId: string;
  name: string;
  /** A key with all scopes unless others are given. */
  key: string;
  keyId: string;
}

/** One database with its files folder: shared by several processes of one installation. */
export interface Installation {
  /** The environment of its processes, without `PORT`. */
  env: Record<string, string>;
  dataDir: string;
  databaseUrl: string;
  /** Runs a statement as the owner of the database (without row level security), on a separate connection; for data that no API shows. */
  sql<Row>(text: string, values?: unknown[]): Promise<Row[]>;
  /** Runs the command line in a separate process, and returns its JSON. @throws Error with its stderr and `code` if its exit code is not 0 */
  cli<Answer = Record<string, unknown>>(...args: string[]): Promise<Answer>;
  /** As the command line does, without a process for each. */
  createOrg(options?: { name?: string; plan?: PlanCode; scopes?: Scope[] }): Promise<TestOrg>;
  createKey(
    orgId: string,
    options?: { scopes?: Scope[]; expires?: Date },
  ): Promise<{ id: string; key: string }>;
  close(): Promise<void>;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

async function environment(
  folder: string,
  databaseUrl: string,
  options: InstallationOptions,
): Promise<Record<string, string>> {
  const [providersFile, plansFile] = [join(folder, 'providers.json'), join(folder, 'plans.json')];
  if (options.providers !== undefined) await writeFile(providersFile, JSON.stringify(options.providers));
  if (options.plans !== undefined) await writeFile(plansFile, JSON.stringify(options.plans));
  return {
    DATA_DIR: folder,
    DATABASE_URL: databaseUrl,
    PUBLIC_URL: 'http://127.0.0.1:4000',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
    ...(options.providers === undefined ? {} : { PROVIDERS_FILE: providersFile }),
    ...(options.plans === undefined ? {} : { PLANS_FILE: plansFile }),
    ...options.env,
  };
}

/** A child process gets the machine's environment and our variables, but not the variables of the test runner. */
export function childEnv(env: Record<string, string>): Record<string, string> {
  const kept = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'USER'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  // Tests do not read a developer's own .env.
  return { ...Object.fromEntries(kept), ENV_FILE: '', ...env };
}

async function query<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text, values)).rows as Row[];
  } finally {
    await client.end();
  }
}

/** Creates a database (a copy of the migrated template) and a folder; `close` removes both. */
export async function createInstallation(options: InstallationOptions = {}): Promise<Installation> {
  const database = await cloneDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'penstock-test-'));
  const env = await environment(dataDir, database.url, options);
  const cli = async <Answer>(...args: string[]): Promise<Answer> => {
    const { stdout } = await promisify(execFile)(process.execPath, [CLI, ...args], { env: childEnv(env) });
    return JSON.parse(stdout) as Answer;
  };
  const asOperator = async <Made>(make: (owners: ReturnType<typeof createOwners>) => Promise<Made>) => {
    const config = loadConfig(env);
    const plans = await createPlanCatalogue(config.plansFile);
    const own = await createDatabase({ config, logger: pino({ level: 'silent' }), entities });
    try {
      return await actAs(OPERATOR, () => make(createOwners({ database: own, plans })));
    } finally {
      await own.close();
    }
  };
  return {
    env,
    dataDir,
    databaseUrl: database.url,
    sql: (text, values) => query(database.url, text, values),
    cli,
    createKey: (orgId, given) => asOperator((owners) => owners.createKey(orgId, given)),
    createOrg: (given) => asOperator((owners) => owners.createOrg(given)),
    async close() {
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
