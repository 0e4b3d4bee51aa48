import type { Database, Statement } from '../database/database.types.js';
import type { EventEnvelope, Topic } from './events.types.js';

/** A claimed row of the outbox. */
export interface OutboxRow {
  /** bigint as text. */
  id: string;
  topic: Topic;
  key: string;
  event: EventEnvelope;
}

const CLAIM: Statement = {
  name: 'outbox_claim',
  text: 'SELECT id::text, topic, key, event FROM penstock_outbox_claim($1, $2, $3, $4::bigint[])',
};

const RELEASE: Statement = {
  name: 'outbox_release',
  text: 'UPDATE outbox SET claimed_until = NULL, claimed_by = NULL WHERE id = ANY ($1::bigint[]) AND claimed_by = $2',
};

/** The outbox as one relay sees it. */
export interface Outbox {
  /** One round trip: removes the rows that were published, claims up to `limit` others, oldest first. */
  claim(options: { limit: number; claimMs: number; published: string[] }): Promise<OutboxRow[]>;
  /** Gives claimed rows back, so that they can be tried at once by anyone. */
  release(ids: string[]): Promise<void>;
}

/** @param relayId unique for each relay; stands in `claimed_by`. */
export function createOutbox(database: Pick<Database, 'system'>, relayId: string): Outbox {
  return {
    claim: ({ limit, claimMs, published }) =>
      database.system.query<OutboxRow>(CLAIM, [relayId, limit, claimMs, published]),
    async release(ids) {
      if (ids.length > 0) await database.system.query(RELEASE, [ids, relayId]);
    },
  };
}
