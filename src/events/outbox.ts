import type { Database, Statement } from '../database/database.types.js';
import type { EventEnvelope, Topic } from './events.types.js';

/** A row of the outbox. */
export interface OutboxRow {
  /** bigint as text. */
  id: string;
  topic: Topic;
  key: string;
  event: EventEnvelope;
}

const TAKE: Statement = {
  name: 'outbox_take',
  // What it deletes was published, and what it answers stays in the table.
  repeatable: true,
  text: 'SELECT id::text, topic, key, event FROM penstock_outbox_take($1, $2, $3, $4::bigint[], $5::bigint[])',
};

/** What is asked of the outbox in one round trip. */
export interface Taking {
  /** Rows at most, oldest first; 0 gives the lease up. */
  limit: number;
  /** How long nobody else publishes. */
  leaseMs: number;
  /** Rows that leave the table. */
  published: string[];
  /** Rows in hand, which do not come again. */
  held: string[];
}

/** The outbox as one relay sees it. */
export interface Outbox {
  /** Empty also while another relay publishes. */
  take(taking: Taking): Promise<OutboxRow[]>;
}

/** PostgreSQL's own spelling: quoting each number of thousands cost more than sending them. */
const arrayOf = (ids: string[]): string => `{${ids.join(',')}}`;

/** @param relayId unique for each relay */
export function createOutbox(database: Pick<Database, 'system'>, relayId: string): Outbox {
  return {
    take: ({ limit, leaseMs, published, held }) =>
      database.system.query<OutboxRow>(TAKE, [relayId, limit, leaseMs, arrayOf(published), arrayOf(held)]),
  };
}
