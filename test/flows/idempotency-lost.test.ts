import { afterAll, beforeAll, expect, test } from 'vitest';
import { createInstallation, type Installation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
let server: SpawnedServer;
beforeAll(async () => {
  installation = await createInstallation();
  server = await spawnPenstock(installation);
  // What is written waits until another process has the key, as where this one is frozen meanwhile.
  await installation.sql(`CREATE FUNCTION wait_for_another() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
    $$ BEGIN
      WHILE NOT EXISTS (SELECT 1 FROM idempotency_keys WHERE org_id = NEW.org_id AND process_id = 'another') LOOP
        PERFORM pg_sleep(0.02);
      END LOOP;
      RETURN NEW;
    END $$`);
});
afterAll(async () => {
  await server?.close();
  await installation?.close();
});

/** As a process takes a key over that found the lease of the one before out. */
const TAKE_OVER = `UPDATE idempotency_keys SET id = 'idem_' || key, process_id = 'another' WHERE org_id = $1 RETURNING id`;
const WAITING = `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;

const MADE = {
  agents: ['/agents', { name: 'Twice?', system_prompt: 'x' }],
  webhooks: ['/webhooks', { name: 'hook', url: 'https://example.com/', events: ['generation.completed'] }],
  jobs: ['/images/generations?async=true', { prompt: 'a weir', size: '512x512' }],
  agent_runs: ['run', { input: 'Hello' }],
  knowledge_files: ['knowledge', null],
} as const;

/** Operations that making one takes, newest first. */
const CHARGED: Record<string, string[]> = { jobs: ['image'], agent_runs: ['agent_model', 'agent_run'] };

test.each(Object.keys(MADE) as (keyof typeof MADE)[])(
  'of %s a process makes none whose Idempotency-Key another one has by now; the retry makes the one',
  async (table) => {
    const { key, orgId } = await installation.createOrg();
    const own = await server.rest<{ agent: { id: string } }>('POST', '/agents', {
      key,
      body: { name: 'Own', system_prompt: 'x' },
    });
    const [path, body] = MADE[table];
    const form = new FormData();
    form.append('file', new Blob(['The weir was finished in 1911.']), 'weir.txt');
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': table };
    const address = path.startsWith('/') ? path : `/agents/${own.body.agent.id}/${path}`;
    const make = async () => {
      const answer = await fetch(`${server.origin}/api/v1${address}`, {
        method: 'POST',
        headers: body === null ? headers : { ...headers, 'content-type': 'application/json' },
        body: body === null ? form : JSON.stringify(body),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const count = async () => {
      const [row] = await installation.sql<{ n: string }>(
        `SELECT count(*) AS n FROM ${table} WHERE org_id = $1`,
        [orgId],
      );
      return Number(row?.n);
    };
    const before = await count();

    await installation.sql(
      `CREATE TRIGGER waits BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION wait_for_another()`,
    );
    const lost = make();
    await eventually(async () => (await installation.sql(WAITING)).length === 1);
    expect(await installation.sql(TAKE_OVER, [orgId])).toHaveLength(1);
    expect(await lost).toMatchObject({
      status: 409,
      text: expect.stringContaining('A request with this Idempotency-Key is still in flight') as string,
    });
    expect(await count()).toBe(before);
    await installation.sql(`DROP TRIGGER waits ON ${table}`);

    expect((await make()).status).toBe(200);
    expect(await count()).toBe(before + 1);
    const records = await server.graphql<{ usageRecords: { nodes: { operation: string; state: string }[] } }>(
      '{ usageRecords(first: 10) { nodes { operation state } } }',
      { key },
    );
    const held = records.data?.usageRecords.nodes.filter(({ state }) => state !== 'released');
    expect(held?.map(({ operation }) => operation)).toEqual(CHARGED[table] ?? []);
  },
);

test('a process sees by the owner that it took a key over, and the row has the name that it brought', async () => {
  const { orgId } = await installation.createOrg();
  const begin = (id: string, processId: string) =>
    installation.sql<{ outcome: string; row_id: string; owner: string | null }>(
      "SELECT outcome, row_id, owner FROM penstock_idempotency_begin($1, $2, 'k', '\\x00', $3)",
      [id, orgId, processId],
    );
  expect(await begin('idem_a', 'gone')).toEqual([{ outcome: 'run', row_id: 'idem_a', owner: 'gone' }]);
  expect(await begin('idem_b', 'here')).toEqual([{ outcome: 'run', row_id: 'idem_b', owner: null }]);
});
