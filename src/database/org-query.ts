import pg from 'pg';
import type { SqlValue } from './database.types.js';

/** Yields no row, so that its answer is one CommandComplete and nothing else. */
const BIND_ORG = {
  name: 'penstock_bind_org',
  text: `SELECT 1 WHERE set_config('penstock.org_id', $1, true) IS NULL`,
};

/** What pg's connection offers to a query that speaks the protocol itself (pg/lib/connection.js). */
interface Wire {
  bind(message: { portal: string; statement: string; values: unknown[] }): void;
  execute(message: { portal: string }): void;
}

interface QueryInternals {
  prepare(connection: Wire): void;
  handleCommandComplete(message: unknown, connection: Wire): void;
}

const internals = pg.Query.prototype as unknown as QueryInternals;

/**
 * Binding the organisation and the statement itself are sent together before one Sync, which makes them one transaction, so that the
 * setting ends with it.
 */
class OrgQuery extends pg.Query {
  private readonly orgId: string;
  private bound = false;

  constructor(
    orgId: string,
    config: pg.QueryConfig,
    callback: (error: Error | undefined, result: unknown) => void,
  ) {
    super(config, config.values as unknown[], callback);
    this.orgId = orgId;
  }

  /** Overrides pg's: sends the first statement, then pg's own messages. */
  prepare(connection: Wire): void {
    connection.bind({ portal: '', statement: BIND_ORG.name, values: [this.orgId] });
    connection.execute({ portal: '' });
    internals.prepare.call(this, connection);
  }

  /** The first completion belongs to the binding. */
  handleCommandComplete(message: unknown, connection: Wire): void {
    if (this.bound) internals.handleCommandComplete.call(this, message, connection);
    this.bound = true;
  }

  /** Also without values: the simple protocol could not follow the binding. */
  requiresPreparation(): boolean {
    return true;
  }
}

const prepared = new WeakSet<pg.PoolClient>();

/** One statement as the tenant, in one round trip (two the first time on a connection). */
export async function queryAsOrg<Row>(
  client: pg.PoolClient,
  orgId: string,
  statement: { name?: string; text: string; values: SqlValue[] },
): Promise<Row[]> {
  if (!prepared.has(client)) {
    await client.query({ ...BIND_ORG, values: [orgId] });
    prepared.add(client);
  }
  return new Promise((resolve, reject) => {
    client.query(
      new OrgQuery(orgId, statement, (error, result) => {
        if (error) reject(error);
        else resolve((result as pg.QueryResult).rows as Row[]);
      }),
    );
  });
}

const MAX_NAMED = 500;

/** Gives each distinct text a name, so that it is prepared once for each connection; past the bound texts stay unnamed. */
export function createStatementNames(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => {
    const known = names.get(text);
    if (known !== undefined || names.size >= MAX_NAMED) return known;
    const name = `penstock_org_${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}
