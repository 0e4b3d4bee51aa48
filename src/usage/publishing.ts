import type { Logger } from 'pino';
import { BUCKETS } from '../contract/words.js';
import type { Amounts } from '../contract/words.js';
import type { Database } from '../database/index.js';
import type { Bus, BusMessage } from '../events/events.types.js';
import { toUpdate } from './stream-source.js';
import type { UpdateRow } from './stream-source.js';
import { ON_DISK, PUBLISH_NEW, PUBLISH_NEXT, PUBLISHED } from './usage.queries.js';
import type { PeriodOpening, UsageUpdate } from './stream.types.js';

const EVERY_MS = 1_000;
const ORGANIZATIONS = 50;
/** Of one organisation in one publication. */
const ROWS = 200;

/** Publishes the ledger on the topic `usage`, at least once, in order within an organisation. */
export interface UsagePublishing {
  start(): void;
  /** Publishes all that there is. @throws Error where the bus or the database does not take it */
  publish(): Promise<void>;
  close(): Promise<void>;
}

interface UsagePublishingOptions {
  database: Pick<Database, 'transaction' | 'system'>;
  bus: Pick<Bus, 'publish'>;
  logger: Logger;
}

const units = (amounts: Amounts) =>
  Object.fromEntries(Object.entries(amounts).map(([bucket, amount]) => [bucket, amount / 100]));

const unitsOf = (vector: readonly number[]) =>
  Object.fromEntries(
    BUCKETS.flatMap((bucket, index) => {
      const amount = vector[index] ?? 0;
      return amount === 0 ? [] : [[bucket, amount === -1 ? -1 : amount / 100]];
    }),
  );

function openingOf({ allowance, topupStart, topupAdded, used, ...period }: PeriodOpening) {
  return {
    ...period,
    allowance: unitsOf(allowance),
    topupStart: unitsOf(topupStart),
    topupAdded: unitsOf(topupAdded),
    used: unitsOf(used),
  };
}

/** The event of a row, whose id is always the same. */
function toMessage(update: UsageUpdate, operationId: string): BusMessage {
  const { orgId, sequence, type, at, periodStart, amounts, granted, opening, record } = update;
  const { id: _id, orgId: _org, state: _state, sequence: _number, ...rest } = record ?? {};
  return {
    topic: 'usage',
    key: orgId,
    event: {
      id: operationId.replace(/^op_/, 'evt_'),
      type: `usage.${type}`,
      sequence,
      orgId,
      timestamp: at.toISOString(),
      data: {
        ...rest,
        operationId,
        periodStart: periodStart.toISOString(),
        amounts: units(amounts),
        granted: units(granted),
        opening: opening && openingOf(opening),
      },
    },
  };
}

/** @see UsagePublishing */
export function createUsagePublishing({ database, bus, logger }: UsagePublishingOptions): UsagePublishing {
  let timer: NodeJS.Timeout | null = null;
  let running: Promise<void> | null = null;
  let closed = false;
  let isAway = false;

  /** @returns how many rows were published */
  const step = (): Promise<number> =>
    database.transaction(async (sql) => {
      await sql.query(PUBLISH_NEW);
      const rows = await sql.query<UpdateRow>(PUBLISH_NEXT, [ORGANIZATIONS, ROWS]);
      if (rows.length === 0) return 0;
      await database.system.query(ON_DISK);
      await bus.publish(rows.map((row) => toMessage(toUpdate(row), row.operation_id)));
      const last = new Map(rows.map(({ org_id: orgId, sequence }) => [orgId, sequence]));
      await sql.query(PUBLISHED, [[...last.keys()], [...last.values()]]);
      return rows.length;
    });
  async function publish(): Promise<void> {
    while (!closed && (await step()) > 0);
  }
  const tick = (): void => {
    running ??= publish()
      .then(() => void (isAway = false))
      .catch((error: unknown) => {
        if (!isAway) logger.warn({ err: error }, 'usage waits in the ledger: publishing failed');
        isAway = true;
      })
      .finally(() => (running = null));
  };
  return {
    publish,
    start: () => void (timer ??= setInterval(tick, EVERY_MS)),
    async close() {
      closed = true;
      if (timer) clearInterval(timer);
      await running;
    },
  };
}
