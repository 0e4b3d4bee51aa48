import type { Hold } from '../../../jobs/index.js';
import type { ResponseWriter } from './moves.queries.js';

/** A batch closes after this time, or when it has this size (beyond 12.2). */
const CLOSE_MS = 50;
const CLOSE_CHARACTERS = 4096;
/** If more characters than this wait, their writer waits until they are stored, so that memory is bounded. */
const MOST_WAITING = 64 * 1024;

/** This worker no longer holds the response, so it writes nothing more. */
export class ResponseLost extends Error {
  constructor() {
    super('The response is not in these hands any more');
    this.name = 'ResponseLost';
  }
}

/** Stores the events of one response in batches. Readers get an event when its batch is committed. */
export class EventBatches {
  private waiting: string[] = [];
  private size = 0;
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private failure: Error | null = null;

  /**
   * @param sequence number of the last event that is stored
   * @param onCancelling called when a write of a batch returns that the caller has cancelled the response
   */
  constructor(
    private readonly options: { hold: Hold; writer: Pick<ResponseWriter, 'append'>; onCancelling(): void },
    private sequence: number,
  ) {}

  /** @throws ResponseLost, or an error of the database */
  take(events: readonly string[]): Promise<void> | undefined {
    if (this.failure !== null) throw this.failure;
    for (const event of events) {
      this.waiting.push(event);
      this.size += event.length;
    }
    if (this.size >= CLOSE_CHARACTERS) void this.close();
    else if (this.waiting.length > 0 && this.timer === null) {
      // Batches of all responses close at the same time, so that they share one statement, one commit and the following reads.
      const dueMs = CLOSE_MS - (performance.now() % CLOSE_MS);
      this.timer = setTimeout(() => void this.close(), dueMs);
    }
    return this.size >= MOST_WAITING ? this.flush() : undefined;
  }

  /** Resolves when all events are stored. @throws ResponseLost, or an error of the database */
  async flush(): Promise<void> {
    await this.close();
    if (this.failure !== null) throw this.failure;
  }

  /** Discards the events that are not stored yet. */
  drop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.waiting = [];
    this.size = 0;
  }

  /** One batch is written at a time; events that arrive meanwhile are in the next batch. */
  private close(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    return (this.writing = this.writing.then(() => this.write()));
  }

  private async write(): Promise<void> {
    const { waiting: events, options } = this;
    if (events.length === 0 || this.failure !== null) return;
    this.waiting = [];
    this.size = 0;
    try {
      const { hold, writer } = options;
      const appended = await writer.append({ hold, after: this.sequence, events });
      if (appended === null) throw new ResponseLost();
      this.sequence += events.length;
      if (appended.cancelling) options.onCancelling();
    } catch (error) {
      this.failure = error as Error;
    }
  }
}
