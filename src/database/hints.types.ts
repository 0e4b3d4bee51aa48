/** Wake-ups between processes on one database (LISTEN/NOTIFY; ids only). Lost hints cost a sweep, never an event. */
export type HintChannel =
  | 'knowledge'
  | 'outbox'
  | 'job_pending'
  | 'job_event'
  | 'job_cancel'
  | 'job_part'
  | 'run_event'
  | 'run_pending'
  | 'run_cancel'
  | 'response_event'
  | 'response_pending'
  | 'response_cancel'
  | 'key_invalid'
  | 'key_changed'
  | 'org_changed'
  | 'webhook';

export interface Hints {
  /** Calls `listener` with the payload of each hint of the channel, own process's included. */
  on(channel: HintChannel, listener: (payload: string) => void): () => void;
  /** Calls `listener` after the listening connection was lost and is back: hints may have been missed, look again. */
  onReconnect(listener: () => void): () => void;
  /** Outside a transaction; inside one use SQL `pg_notify('penstock_<channel>', payload)`. */
  send(channel: HintChannel, payload: string): Promise<void>;
  close(): Promise<void>;
}
