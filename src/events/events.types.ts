/** Topics without their prefix (`KAFKA_PREFIX`, default `penstock`): ADR 8. */
export type Topic = 'jobs' | 'agents' | 'responses' | 'events' | 'usage';

/** One message on a topic; the value of its Kafka message is this as JSON (decisions 6, "Kafka messages"). */
export interface EventEnvelope {
  /** `evt_…`, unique; consumers deduplicate by it. */
  id: string;
  /** `job.progress`, `run.step`, `generation.completed` … */
  type: string;
  /** Counts from 1 for each key, without gaps; absent on `events`. */
  sequence?: number;
  orgId: string;
  /** ISO 8601. */
  timestamp: string;
  data: Record<string, unknown>;
}

export interface StoredEvent {
  id: string;
  type: string;
  /** The whole event. */
  json: string;
}

export interface BusMessage {
  topic: Topic;
  /** Id of the job, the run, the response or the organisation: order holds within a key. */
  key: string;
  event: EventEnvelope;
  /** The same event as stored JSON text, if it is published unchanged. */
  stored?: StoredEvent;
  /** Further headers of the Kafka message (`traceparent`). */
  headers?: Record<string, string>;
}

export interface BusSubscription {
  close(): Promise<void>;
}

/**
 * Carries events from the outbox relay to consumers: in process, or Kafka. At least once; handlers are idempotent and never throw
 * (what they throw goes to the dead-letter topic or the log).
 */
export interface Bus {
  publish(messages: BusMessage[]): Promise<void>;
  /**
   * `group` null: broadcast, every process sees every message (subscription hubs).
   * `group` named: each message is handled by one process of the group.
   */
  subscribe(
    options: { topics: Topic[]; group: string | null },
    handler: (message: BusMessage) => Promise<void> | void,
  ): Promise<BusSubscription>;
  close(): Promise<void>;
}
