/**
 * The bare proxy that keeps a durable charge, and nothing else: no key, window, plan, log, event or price. Before the upstream one ledger row
 * and the balance's reservation (asynchronous commit), after it the charge on the disk; callers of a turn share both statements. What a
 * gateway that meters as decisions.md 2 wants it costs at least. `PORT`, `UPSTREAM` and `DATA_DIR` from the environment.
 */
import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import pg from 'pg';
import { pino } from 'pino';
import { useEmbeddedPostgres } from '../src/database/index.js';
import { queryText } from '../src/database/text-query.js';
import { createCoalescer, type Coalescer } from '../src/metering/coalescer.js';
import { sendOn, serveProxy } from './proxy.js';

const { DATA_DIR = '' } = process.env;
const embedded = await useEmbeddedPostgres({ dataDir: DATA_DIR, logger: pino({ level: 'silent' }) });

const RESERVE = {
  name: 'floor_reserve',
  text: `WITH l AS (INSERT INTO floor.ledger (id, amount) SELECT id, 1 FROM unnest($1::text[]) id RETURNING amount)
    UPDATE floor.balances SET reserved = reserved + (SELECT sum(amount) FROM l) WHERE id = 1 RETURNING reserved::text`,
};
const CHARGE = {
  name: 'floor_charge',
  text: `WITH l AS (UPDATE floor.ledger l SET charged = l.amount FROM unnest($1::text[]) v (id) WHERE l.id = v.id RETURNING amount)
    UPDATE floor.balances SET reserved = reserved - (SELECT sum(amount) FROM l), used = used + (SELECT sum(amount) FROM l) WHERE id = 1
    RETURNING used::text`,
};

async function connect(settings: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: embedded.url, options: settings });
  await client.connect();
  return client;
}

function shared(client: pg.Client, statement: typeof RESERVE): Coalescer<string, void> {
  return createCoalescer({
    async run(ids) {
      await queryText(client, [statement, [`{${ids.join()}}`]]);
      return ids.map(() => undefined);
    },
  });
}

const [soon, durable] = [
  await connect('-c synchronous_commit=off -c plan_cache_mode=force_generic_plan -c enable_seqscan=off'),
  await connect('-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c enable_hashjoin=off'),
];
await soon.query(`CREATE SCHEMA floor; CREATE TABLE floor.ledger (id text PRIMARY KEY, amount bigint NOT NULL, charged bigint);
  CREATE TABLE floor.balances (id int PRIMARY KEY, used bigint NOT NULL, reserved bigint NOT NULL); INSERT INTO floor.balances VALUES (1, 0, 0)`);
const [reservations, charges] = [shared(soon, RESERVE), shared(durable, CHARGE)];

async function charge(id: string, response: ServerResponse, answer: Buffer[]): Promise<void> {
  await charges.add(id);
  response.end(answer.length === 1 ? answer[0] : Buffer.concat(answer));
}

async function forward(response: ServerResponse, body: Buffer): Promise<void> {
  const id = randomUUID();
  await reservations.add(id);
  const answer: Buffer[] = [];
  sendOn(response, body, {
    onResponseData: (_controller, data) => void answer.push(data),
    onResponseEnd: () => void charge(id, response, answer),
  });
}

serveProxy((response, body) => void forward(response, body));
process.on('SIGTERM', () => void embedded.release().finally(() => process.exit(0)));
