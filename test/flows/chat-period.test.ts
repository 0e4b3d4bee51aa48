import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPenstock } from '../support/server.js';
import type { TestServer } from '../support/server.js';

let penstock: TestServer;

beforeAll(async () => {
  penstock = await startPenstock();
});
afterAll(() => penstock?.close());

interface Usage {
  credits_used: number;
  tokens_remaining_estimate: number;
}

interface Quota {
  quotas: { credits: { limit: number; remaining: number; used: number } };
}

const content = 'Hi @sandbox{"delay_ms":1500}';

async function whole(key: string): Promise<Usage> {
  const body = { messages: [{ role: 'user', content }] };
  const answer = await penstock.rest<{ usage: Usage }>('POST', '/chat/completions', { key, body });
  expect(answer.status).toBe(200);
  return answer.body.usage;
}

async function streamed(key: string): Promise<Usage> {
  const body = {
    messages: [{ role: 'user', content }],
    stream: true,
    stream_options: { include_usage: true },
  };
  const { events } = await penstock.events('POST', '/chat/completions', { key, body });
  let usage: Usage | null = null;
  for await (const { data } of events)
    if (data !== '[DONE]') usage = (JSON.parse(data) as { usage?: Usage }).usage ?? usage;
  if (usage === null) throw new Error('the stream told no usage');
  return usage;
}

/** The period is over from now on, and with it a subscription that was cancelled. */
async function endPeriod(orgId: string, cancelled: boolean): Promise<void> {
  const { sql } = penstock.installation;
  const ending = `UPDATE balances SET period_start = period_start - interval '1 month', period_end = clock_timestamp() WHERE org_id = $1`;
  await sql(
    `WITH b AS (${ending} RETURNING org_id, period_start)
    UPDATE usage_ledger l SET period_start = b.period_start FROM b WHERE l.org_id = b.org_id`,
    [orgId],
  );
  const ended = `subscription_status = 'cancelled', subscription_ends_at = clock_timestamp(), version = version + 1`;
  if (cancelled) await sql(`UPDATE organizations SET ${ended} WHERE id = $1`, [orgId]);
}

test.each([
  ['an answer', true, whole, 100],
  ['a stream', true, streamed, 100],
  ['an answer', false, whole, 800],
])(
  '%s that ends after its period tells what is left as GET /quota does (its subscription ended, too: %s)',
  async (_form, cancelled, chat, limit) => {
    const { key, orgId } = await penstock.createOrg({ plan: 'business_monthly' });
    const call = chat(key);
    await sleep(500);
    await endPeriod(orgId, cancelled);
    const { credits_used: used, tokens_remaining_estimate: left } = await call;
    const { body } = await penstock.rest<Quota>('GET', '/quota', { key });
    expect(body.quotas.credits).toMatchObject({ limit, remaining: limit, used: 0 });
    expect({ used, left }).toEqual({ used: 1, left: limit * 1000 });
  },
);
