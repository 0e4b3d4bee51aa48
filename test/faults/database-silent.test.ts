import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createCuttable } from '../support/cuttable.js';
import { createInstallation, type Installation } from '../support/installation.js';
import { spawnPenstock, type SpawnedServer } from '../support/spawned.js';
import { eventually } from '../support/wait.js';

let installation: Installation;
let wire: Awaited<ReturnType<typeof createCuttable>>;
let server: SpawnedServer;
beforeAll(async () => {
  installation = await createInstallation();
  wire = await createCuttable(installation.databaseUrl);
  server = await spawnPenstock(installation, { env: { DATABASE_URL: wire.url } });
});
afterAll(async () => {
  await server.close();
  await wire.close();
  await installation.close();
});

/** Longer than any caller waits for PostgreSQL. */
const SILENCE_MS = 7_000;

/** `hush`: PostgreSQL hears nothing either until it is over; `mute`: it does all that it is told. */
type Silence = 'hush' | 'mute';

/** A chat of an organisation of its own, which has its reservation. */
async function openChat({ idempotencyKey, stream = false }: { idempotencyKey?: string; stream?: boolean }) {
  const { key, orgId } = await installation.createOrg();
  const content = '@sandbox{"tokens":30,"delay_ms":2500}';
  const ask = async () => {
    const answer = await fetch(`${server.origin}/api/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify({ stream, messages: [{ role: 'user', content }] }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const ledger = async () =>
    (
      await installation.sql<{ state: string }>(
        `SELECT state FROM usage_ledger WHERE org_id = $1 AND kind = 'chat'`,
        [orgId],
      )
    ).map(({ state }) => state);
  const used = async (): Promise<number> => {
    const [row] = await installation.sql<{ used: string }>(
      'SELECT used[1]::text AS used FROM balances WHERE org_id = $1 AND NOT superseded',
      [orgId],
    );
    return Number(row?.used) / 100;
  };
  const asked = ask();
  await eventually(async () => (await ledger()).length === 1);
  return { ask, asked, ledger, used };
}

const isAnswered = ({ status, text }: { status: number; text: string }): boolean =>
  status === 200 && !text.includes('"error"');

test.each<Silence>(['hush', 'mute'])(
  'while PostgreSQL is silent (%s) nobody is charged for a 503, and who retries with an Idempotency-Key once',
  async (silence) => {
    const [plain, chat, stream] = await Promise.all([
      openChat({}),
      openChat({ idempotencyKey: 'chat' }),
      openChat({ idempotencyKey: 'stream', stream: true }),
    ]);
    wire[silence]();
    const over = sleep(SILENCE_MS);
    expect((await plain.asked).status).toBe(503);
    for (const { asked } of [chat, stream]) expect((await asked).text).toContain('unavailable');
    // Those that wait while PostgreSQL comes back, and those after them.
    const early = [chat.ask(), stream.ask()];
    await over;
    wire.mend();
    await Promise.all(early);
    for (const { ask, ledger, used } of [chat, stream]) {
      await eventually(async () => isAnswered(await ask()), { timeoutMs: 20_000 });
      await eventually(async () => !(await ledger()).includes('reserved'), { timeoutMs: 20_000 });
      expect((await ledger()).filter((state) => state === 'settled')).toHaveLength(1);
      expect(await used()).toBe(1);
    }
    await eventually(async () => (await plain.ledger()).join() === 'released', { timeoutMs: 20_000 });
    expect(await plain.used()).toBe(0);
  },
  60_000,
);
