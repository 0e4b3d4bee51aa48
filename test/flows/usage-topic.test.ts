import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createUsagePublishing } from '../../src/usage/index.js';
import type { BusMessage } from '../../src/events/index.js';
import { startPenstock, type TestServer } from '../support/server.js';
import { balancesOf, Fold } from '../support/usage-fold.js';
import type { Update } from '../support/usage-fold.js';

let server: TestServer;
beforeAll(async () => {
  server = await startPenstock();
});
afterAll(() => server.close());

const logger = pino({ level: 'silent' });

const listed = (amounts: Record<string, number>) =>
  Object.entries(amounts).map(([bucket, amount]) => ({ bucket, amount }));

type Units = Record<string, number>;
interface Data {
  periodStart: string;
  amounts: Units;
  granted: Units;
  opening: {
    periodStart: string;
    allowance: Units;
    topupStart: Units;
    topupAdded: Units;
    used: Units;
  } | null;
}

/** What a consumer reads of a message. */
function updateOf({ event }: BusMessage): Update {
  const { periodStart, amounts, granted, opening } = event.data as unknown as Data;
  return {
    sequence: event.sequence!,
    type: event.type,
    periodStart,
    amounts: listed(amounts),
    granted: listed(granted),
    opening: opening && {
      periodStart: opening.periodStart,
      allowance: listed(opening.allowance),
      topupStart: listed(opening.topupStart),
      topupAdded: listed(opening.topupAdded),
      used: listed(opening.used),
    },
    record: null,
  };
}

test('the topic has every row of every ledger in its order, although publications fail and two workers publish', async () => {
  const orgs = [await server.createOrg({ plan: 'pro_monthly' }), await server.createOrg()];
  const work = async () => {
    for (const { key, orgId } of orgs) {
      await server.rest('POST', '/chat/completions', {
        key,
        body: { messages: [{ role: 'user', content: 'Hello' }] },
      });
      await server.services.metering.topUp(orgId, 'credits', 100);
    }
  };
  await work();
  const taken: BusMessage[] = [];
  let refusals = 2;
  const bus = {
    publish(messages: BusMessage[]) {
      // A broker may have taken some of what it refuses.
      taken.push(...(refusals > 0 ? messages.slice(0, 2) : messages));
      return refusals-- > 0 ? Promise.reject(new Error('the broker is away')) : Promise.resolve();
    },
  };
  const { database } = server.services;
  const publishers = [0, 1].map(() => createUsagePublishing({ database, bus, logger }));
  for (const publisher of publishers) await expect(publisher.publish()).rejects.toThrow('the broker is away');
  await Promise.all(publishers.map((publisher) => publisher.publish()));
  await work();
  await Promise.all(publishers.map((publisher) => publisher.publish()));
  for (const publisher of publishers) await publisher.close();
  for (const { orgId } of orgs) {
    const fold = new Fold();
    const seen = new Set<string>();
    for (const message of taken) {
      expect(message.topic).toBe('usage');
      if (message.key !== orgId || seen.has(message.event.id)) continue;
      seen.add(message.event.id);
      expect(message.event).toMatchObject({ orgId, id: expect.stringMatching(/^evt_/) });
      fold.take(updateOf(message));
    }
    const { last, balances } = await balancesOf(server.installation, orgId);
    expect(fold.last).toBe(last);
    expect(fold.balances()).toEqual(balances);
  }
});
