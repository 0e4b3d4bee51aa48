import type { Database } from '../database/database.types.js';
import type { BusMessage, EventEnvelope, StoredEvent, Topic } from './events.types.js';
import { TAKE_OUTBOX } from './event.queries.js';

interface TakenRow {
  id: string;
  topic: Topic;
  key: string;
  event_id: string;
  event_type: string;
  json: string;
}

/** A row of the outbox as a message. Its JSON is parsed only on demand. */
export class OutboxRow implements BusMessage {
  /** bigint as text. */
  readonly id: string;
  readonly topic: Topic;
  readonly key: string;
  readonly stored: StoredEvent;
  private read: EventEnvelope | null = null;

  constructor({ id, topic, key, event_id, event_type, json }: TakenRow) {
    this.id = id;
    this.topic = topic;
    this.key = key;
    this.stored = { id: event_id, type: event_type, json };
  }

  get event(): EventEnvelope {
    return (this.read ??= JSON.parse(this.stored.json) as EventEnvelope);
  }
}

/** The parameters of one round trip to the outbox. */
export interface OutboxBatchOptions {
  /** Most rows to take, oldest first; 0 gives the lease up. */
  limit: number;
  /** How long the lease lasts, during which no other relay publishes. */
  leaseMs: number;
  /** Published rows to delete. */
  published: string[];
  /** Rows that this relay has already taken; they are not returned again. */
  held: string[];
}

/** The outbox as one relay sees it. */
export interface Outbox {
  /** Empty also while another relay has the lease. */
  take(taking: OutboxBatchOptions): Promise<OutboxRow[]>;
}

/** An array literal written by hand: the driver's quoting of thousands of numbers takes longer than sending them. */
const arrayOf = (ids: string[]): string => `{${ids.join(',')}}`;

/** @param relayId unique for each relay */
export function createOutbox(database: Pick<Database, 'system'>, relayId: string): Outbox {
  return {
    async take({ limit, leaseMs, published, held }) {
      const values = [relayId, limit, leaseMs, arrayOf(published), arrayOf(held)];
      const rows = await database.system.query<TakenRow>(TAKE_OUTBOX, values);
      return rows.map((row) => new OutboxRow(row));
    },
  };
}
