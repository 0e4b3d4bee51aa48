import pg from 'pg';
import type { Logger } from 'pino';
import { MIGRATION_NAMES } from '../../migrations/names.js';
import { SYSTEM_ROLE, TENANT_ROLE } from './roles.js';
import { addVectors } from './vectors.js';

/** One number for all of Penstock's processes on a database: whoever holds it migrates, the others wait. */
const MIGRATION_LOCK = 7_265_001;
const ROLE_ATTEMPTS = 20;

/**
 * Roles belong to the cluster, which other databases of Penstock may share, so that no lock of this database covers them: losing a race
 * with another is met by looking again.
 */
async function ensureRole(client: pg.Client, role: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await client.query(`DO $$ BEGIN
        IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = '${role}') THEN
          CREATE ROLE ${role} NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS;
        END IF;
        IF NOT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
           AND NOT EXISTS (SELECT 1 FROM pg_auth_members m JOIN pg_roles g ON g.oid = m.roleid JOIN pg_roles u ON u.oid = m.member
                           WHERE g.rolname = '${role}' AND u.rolname = current_user AND COALESCE((to_jsonb(m) ->> 'set_option')::boolean, true)) THEN
          EXECUTE format('GRANT ${role} TO %I', current_user);
        END IF;
      END $$`);
      return;
    } catch (error) {
      const lostRace = ['42710', '23505', 'XX000'].includes((error as pg.DatabaseError).code ?? '');
      if (!lostRace || attempt === ROLE_ATTEMPTS) throw error;
    }
  }
}

async function appliedMigrations(client: pg.Client): Promise<Set<string>> {
  const known = await client.query(`SELECT to_regclass('mikro_orm_migrations') IS NOT NULL AS found`);
  if (!(known.rows[0] as { found: boolean }).found) return new Set();
  const { rows } = await client.query<{ name: string }>('SELECT name FROM mikro_orm_migrations');
  return new Set(rows.map((row) => row.name));
}

const pendingOf = (applied: Set<string>): string[] => MIGRATION_NAMES.filter((name) => !applied.has(name));

async function applyPending(
  client: pg.Client,
  { url, logger }: { url: string; logger: Logger },
): Promise<string[]> {
  if (pendingOf(await appliedMigrations(client)).length === 0) return [];
  await client.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
  const pending = pendingOf(await appliedMigrations(client));
  if (pending.length === 0) return [];
  for (const role of [TENANT_ROLE, SYSTEM_ROLE]) await ensureRole(client, role);
  const { runPending } = await import('./run-pending.js'); // an ORM to load, only where there is work
  await runPending(url, logger);
  return pending;
}

/**
 * Brings the database to this version's tables, under an advisory lock, as the owner of `url`. Where nothing is to do it costs three queries:
 * the ledger's months are looked at each time.
 * @returns names of the migrations that it applied
 */
export async function migrate(options: { url: string; logger: Logger }): Promise<string[]> {
  const client = new pg.Client({ connectionString: options.url, application_name: 'penstock-migrate' });
  client.on('error', (error) =>
    options.logger.debug({ err: error }, 'the connection for migrations was lost'),
  );
  await client.connect();
  try {
    const pending = await applyPending(client, options);
    await addVectors(client, options.logger);
    await client.query('SELECT penstock_ledger_months()');
    return pending;
  } finally {
    await client.end(); // releases the lock
  }
}
