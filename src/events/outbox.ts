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

/** A row of the outbox, as a message: its event is read only where somebody asks for it. */
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
    async take({ limit, leaseMs, published, held }) {
      const values = [relayId, limit, leaseMs, arrayOf(published), arrayOf(held)];
      const rows = await database.system.query<TakenRow>(TAKE_OUTBOX, values);
      return rows.map((row) => new OutboxRow(row));
    },
  };
}
