import type pg from 'pg';
import type { Attempt } from './pool.js';
import { queryInternals, TrackedQuery } from './tracked-query.js';
import type { Wire } from './tracked-query.js';

/** Yields no row, so that its answer is one CommandComplete and nothing else. */
const BIND_ORG = {
  name: 'penstock_bind_org',
  text: `SELECT 1 WHERE set_config('penstock.org_id', $1, true) IS NULL`,
};

/**
 * Binding the organisation and the statement itself are sent together before one Sync, which makes them one transaction, so that the
 * setting ends with it.
 */
class OrgQuery extends TrackedQuery {
  private readonly orgId: string;
  private bound = false;

  constructor(orgId: string, ...query: ConstructorParameters<typeof TrackedQuery>) {
    super(...query);
    this.orgId = orgId;
  }

  /** Overrides pg's: sends the first statement, then pg's own messages. */
  prepare(connection: Wire): void {
    connection.bind({ portal: '', statement: BIND_ORG.name, values: [this.orgId] });
    connection.execute({ portal: '' });
    queryInternals.prepare.call(this, connection);
  }

  /** The first completion belongs to the binding. */
  override handleCommandComplete(message: unknown, connection: Wire): void {
    if (this.bound) super.handleCommandComplete(message, connection);
    this.bound = true;
  }

  /** Also without values: the simple protocol could not follow the binding. */
  override requiresPreparation(): boolean {
    super.requiresPreparation();
    return (this.extended = true);
  }
}

const prepared = new WeakSet<pg.PoolClient>();

/** One statement as the tenant, in one round trip (two the first time on a connection). */
export async function queryAsOrg<Row>(
  { client, send }: Attempt,
  orgId: string,
  statement: pg.QueryConfig,
): Promise<Row[]> {
  if (!prepared.has(client)) {
    await client.query({ ...BIND_ORG, values: [orgId] });
    prepared.add(client);
  }
  return send((callback) => new OrgQuery(orgId, statement, callback));
}
