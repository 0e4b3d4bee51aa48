/**
 * The minimum work of a durable charge: one ledger row and the balance's reservation before the work (asynchronous commit), and the charge on
 * the disk after it. Callers of one turn share both statements. It has no key, window, plan, event or price.
 */
import pg from 'pg';
import { pino } from 'pino';
import { useEmbeddedPostgres } from '../src/database/index.js';
import { queryText } from '../src/database/text-query.js';
import { createCoalescer, type Coalescer } from '../src/metering/coalescer.js';

/** A separate schema for each program, because the contenders share one database. */
const statements = (schema: string) => ({
  schema: `CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.ledger (id text PRIMARY KEY, amount bigint NOT NULL, charged bigint);
    CREATE TABLE ${schema}.balances (id int PRIMARY KEY, used bigint NOT NULL, reserved bigint NOT NULL);
    INSERT INTO ${schema}.balances VALUES (1, 0, 0)`,
  reserve: `WITH l AS (INSERT INTO ${schema}.ledger (id, amount) SELECT id, 1 FROM unnest($1::text[]) id RETURNING amount)
    UPDATE ${schema}.balances SET reserved = reserved + (SELECT sum(amount) FROM l) WHERE id = 1 RETURNING reserved::text`,
  charge: `WITH l AS (UPDATE ${schema}.ledger l SET charged = l.amount FROM unnest($1::text[]) v (id) WHERE l.id = v.id RETURNING amount)
    UPDATE ${schema}.balances SET reserved = reserved - (SELECT sum(amount) FROM l), used = used + (SELECT sum(amount) FROM l) WHERE id = 1
    RETURNING used::text`,
});

export interface Charges {
  reserve(id: string): Promise<void>;
  /** Resolves when the charge is on the disk. */
  charge(id: string): Promise<void>;
  close(): Promise<void>;
}

async function connect(url: string, settings: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, options: settings });
  await client.connect();
  return client;
}

function shared(client: pg.Client, statement: { name: string; text: string }): Coalescer<string, void> {
  return createCoalescer({
    async run(ids) {
      await queryText(client, [statement, [`{${ids.join()}}`]]);
      return ids.map(() => undefined);
    },
  });
}

/** Charges in the embedded database of `dataDir`, which must be running or is started. */
export async function openCharges(dataDir: string, schema: string): Promise<Charges> {
  const embedded = await useEmbeddedPostgres({ dataDir, logger: pino({ level: 'silent' }) });
  const [soon, durable] = [
    await connect(
      embedded.url,
      '-c synchronous_commit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off',
    ),
    await connect(
      embedded.url,
      '-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off',
    ),
  ];
  const sql = statements(schema);
  await soon.query(sql.schema);
  const reservations = shared(soon, { name: 'floor_reserve', text: sql.reserve });
  const charges = shared(durable, { name: 'floor_charge', text: sql.charge });
  return {
    reserve: (id) => reservations.add(id),
    charge: (id) => charges.add(id),
    close: () => embedded.release(),
  };
}
