import { expect, test } from 'vitest';
import type { Installation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { useSurvivor } from '../support/survivor.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
let other: SpawnedServer;
useSurvivor((surviving) => ({ installation, other } = surviving));

interface StreamedEvent {
  type: string;
  sequence_number: number;
  delta?: string;
  response?: { id: string; status: string; error: { message: string } | null };
}

/** Events of a stream, until it ends or has given `most`. */
async function eventsIn(answer: Response, most = Number.POSITIVE_INFINITY): Promise<StreamedEvent[]> {
  const events: StreamedEvent[] = [];
  let text = '';
  try {
    for await (const bytes of answer.body!.pipeThrough(new TextDecoderStream())) {
      text += bytes;
      for (let at = text.indexOf('\n\n'); at !== -1; at = text.indexOf('\n\n')) {
        const data = /^data: (.*)$/m.exec(text.slice(0, at))?.[1];
        text = text.slice(at + 2);
        if (data !== undefined && events.push(JSON.parse(data) as StreamedEvent) >= most) return events;
      }
    }
  } catch {
    // Its process was killed: what came until then counts.
  }
  return events;
}

const asleep = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`;

/** Holds charges, so that a process can be killed between an answer's save and its charge. */
async function holdCharges(): Promise<() => Promise<void>> {
  await installation.sql(`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(120); RETURN NEW; END $$`);
  await installation.sql(`CREATE TRIGGER hold BEFORE UPDATE ON usage_ledger FOR EACH ROW
    WHEN (NEW.state = 'settled') EXECUTE FUNCTION hold()`);
  return async () => {
    await installation.sql(`SELECT pg_terminate_backend(pid) ${asleep}`);
    await installation.sql('DROP TRIGGER hold ON usage_ledger');
    await installation.sql('DROP FUNCTION hold()');
  };
}

test('a response whose process died between its save and its charge is not there, and costs nothing', async () => {
  const doomed = await spawnPenstock(installation, { role: 'api' });
  const { key } = await installation.createOrg();
  const release = await holdCharges();
  const post = (server: SpawnedServer, body: object) =>
    fetch(`${server.origin}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/chat-basic', input: 'Hello', ...body }),
    });
  const statusOf = async (path: string) =>
    (await fetch(`${other.origin}/v1/responses/${path}`, { headers: { authorization: `Bearer ${key}` } }))
      .status;
  let id: string;
  try {
    const lost = post(doomed, {}).catch(() => 'lost');
    const [saved] = await eventually(async () => {
      const rows = await installation.sql<{ id: string }>('SELECT id FROM responses');
      const [held] = await installation.sql<{ n: string }>(`SELECT count(*) AS n ${asleep}`);
      return rows.length === 1 && Number(held?.n) === 1 && rows;
    });
    id = saved!.id;
    expect(await statusOf(id)).toBe(404);
    await doomed.signal('SIGKILL');
    expect(await lost).toBe('lost');
  } finally {
    await release();
    await doomed.close();
  }

  await installation.sql(`UPDATE processes SET lease_until = now() - interval '1 s' WHERE role = 'api'`);
  const state = await eventually(
    async () => {
      const [row] = await installation.sql<{ state: string }>(
        `SELECT state FROM usage_ledger WHERE kind = 'chat'`,
      );
      return row!.state !== 'reserved' && row!.state;
    },
    { timeoutMs: 60_000 },
  );
  expect(state).toBe('released');
  expect(await statusOf(id)).toBe(404);
  expect(await statusOf(`${id}/input_items`)).toBe(404);
  const chained = await post(other, { previous_response_id: id });
  expect(chained.status).toBe(400);
  expect(await chained.json()).toMatchObject({ error: { code: 'previous_response_not_found' } });
}, 120_000);

test('responses that end together are all kept, each whole and with the items that it names', async () => {
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const ask = async (n: number) => {
    const items = Array.from({ length: n % 3 }, (_, at) => ({ role: 'user', content: `${n}.${at}` }));
    const input = [...items, { role: 'user', content: `Number ${n}` }];
    const answer = await fetch(`${other.origin}/v1/responses`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ model: 'sandbox/chat-basic', input, max_output_tokens: 50 }),
    });
    return { made: (await answer.json()) as { id: string; output: { id: string }[] }, asked: input.length };
  };
  const all = await Promise.all(Array.from({ length: 12 }, (_, n) => ask(n)));
  for (const { made, asked } of all) {
    const read = await fetch(`${other.origin}/v1/responses/${made.id}`, { headers });
    expect(await read.json()).toEqual(made);
    const rows = await installation.sql<{ item_ids: string[] }>(
      'SELECT item_ids FROM responses WHERE id = $1',
      [made.id],
    );
    expect(rows[0]?.item_ids).toHaveLength(asked + made.output.length);
    expect(rows[0]?.item_ids.at(-1)).toBe(made.output.at(-1)?.id);
  }
}, 60_000);

test('a response in the background whose worker is killed loses and repeats no event, keeps what was delivered and charges that', async () => {
  const doomed = await spawnPenstock(installation, { role: 'all' });
  // Only the one that is killed takes it.
  other.pause();
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const input = 'Of weirs @sandbox{"tokens":60,"chunk_ms":40}';
  const body = JSON.stringify({ model: 'sandbox/chat-basic', input, background: true, stream: true });
  const reading = await fetch(`${doomed.origin}/v1/responses`, { method: 'POST', headers, body });
  const first = await eventsIn(reading, 12);
  other.resume();
  await doomed.signal('SIGKILL');
  await doomed.close();
  const id = first[0]!.response!.id;
  await installation.sql(`UPDATE responses SET lease_until = now() - interval '1 s' WHERE id = $1`, [id]);
  const at = `${other.origin}/v1/responses/${id}`;
  const after = first.at(-1)!.sequence_number;
  const rest = await eventsIn(await fetch(`${at}?stream=true&starting_after=${after}`, { headers }));
  const events = [...first, ...rest];
  expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, nth) => nth));
  const last = events.at(-1)!;
  expect(last.type).toBe('response.failed');
  expect(last.response!.error!.message).toBe('Interrupted');
  const said = events.flatMap(({ type, delta }) => (type === 'response.output_text.delta' ? [delta] : []));
  const kept = (await (await fetch(at, { headers })).json()) as {
    status: string;
    output: { content: { text: string }[] }[];
  };
  expect(kept.status).toBe('failed');
  expect(kept.output[0]!.content[0]!.text).toBe(said.join(''));
  const rows = await installation.sql<{ state: string; charged: string[] }>(
    `SELECT state, charged FROM usage_ledger WHERE operation_id = 'op_' || substr($1, 6)`,
    [id],
  );
  expect(rows).toHaveLength(1);
  expect(rows[0]!.state).toBe('settled');
  expect(Number(rows[0]!.charged[0])).toBeGreaterThan(0);
}, 120_000);

test('a response in the background goes on where the process that its caller reads from is killed', async () => {
  const doomed = await spawnPenstock(installation, { role: 'api' });
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const input = 'Of weirs @sandbox{"tokens":60,"chunk_ms":40}';
  const body = JSON.stringify({ model: 'sandbox/chat-basic', input, background: true, stream: true });
  const reading = await fetch(`${doomed.origin}/v1/responses`, { method: 'POST', headers, body });
  const first = await eventsIn(reading, 12);
  await doomed.signal('SIGKILL');
  await doomed.close();
  const at = `${other.origin}/v1/responses/${first[0]!.response!.id}`;
  const after = first.at(-1)!.sequence_number;
  const rest = await eventsIn(await fetch(`${at}?stream=true&starting_after=${after}`, { headers }));
  const events = [...first, ...rest];
  expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_, nth) => nth));
  expect(events.at(-1)!.type).toBe('response.completed');
  const rows = await installation.sql<{ state: string }>(
    `SELECT state FROM usage_ledger WHERE kind = 'chat' AND org_id IN (SELECT org_id FROM responses WHERE id = $1)`,
    [first[0]!.response!.id],
  );
  expect(rows).toEqual([{ state: 'settled' }]);
}, 120_000);

test('a stored answer whose caller waited at a process that is killed ends as interrupted, with what is kept of it charged', async () => {
  const doomed = await spawnPenstock(installation, { role: 'api' });
  const { key } = await installation.createOrg({ plan: 'business_monthly' });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const input = 'Of weirs @sandbox{"tokens":90,"chunk_ms":40}';
  const body = JSON.stringify({ model: 'sandbox/chat-basic', input, stream: true });
  const reading = await fetch(`${doomed.origin}/v1/responses`, { method: 'POST', headers, body });
  const first = await eventsIn(reading, 30);
  await doomed.signal('SIGKILL');
  await doomed.close();
  const id = first[0]!.response!.id;
  await installation.sql(`UPDATE responses SET lease_until = now() - interval '1 s' WHERE id = $1`, [id]);
  const at = `${other.origin}/v1/responses/${id}`;
  const kept = await eventsIn(await fetch(`${at}?stream=true`, { headers }));
  const last = kept.pop()!;
  expect(last).toMatchObject({ type: 'response.failed', sequence_number: kept.length });
  expect(last.response!.error!.message).toBe('Interrupted');
  const common = Math.min(kept.length, first.length);
  expect(common).toBeGreaterThan(4);
  expect(kept.slice(0, common)).toEqual(first.slice(0, common));
  const rows = await installation.sql<{ state: string; charged: string[] }>(
    `SELECT state, charged FROM usage_ledger WHERE operation_id = 'op_' || substr($1, 6)`,
    [id],
  );
  expect(rows).toMatchObject([{ state: 'settled' }]);
  expect(Number(rows[0]!.charged[0])).toBeGreaterThan(0);
}, 120_000);
