import type { Hold } from '../../../jobs/index.js';
import type { ResponseWriter } from './moves.queries.js';

/** A batch closes after this long, or once it is this large (beyond 12.2). */
const CLOSE_MS = 50;
const CLOSE_CHARACTERS = 4096;
/** Who writes events faster than they are stored waits. */
const MOST_WAITING = 64 * 1024;

/** The response is not this worker's any more: nothing more is written. */
export class ResponseLost extends Error {
  constructor() {
    super('The response is not in these hands any more');
    this.name = 'ResponseLost';
  }
}

/** The events of one response on their way to whoever reads along: each is shown once its batch is committed. */
export class EventBatches {
  private waiting: string[] = [];
  private size = 0;
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> = Promise.resolve();
  private failure: Error | null = null;

  /**
   * @param sequence number of the last event that is stored
   * @param onCancelling called when a batch finds that its caller wants the response to end
   */
  constructor(
    private readonly options: { hold: Hold; writer: Pick<ResponseWriter, 'append'>; onCancelling(): void },
    private sequence: number,
  ) {}

  /** @throws ResponseLost, or what the database threw */
  take(events: readonly string[]): Promise<void> | undefined {
    if (this.failure !== null) throw this.failure;
    for (const event of events) {
      this.waiting.push(event);
      this.size += event.length;
    }
    if (this.size >= CLOSE_CHARACTERS) void this.close();
    else if (this.waiting.length > 0 && this.timer === null) {
      // Those of all responses close together, so that they share a statement, a commit and the reads that follow.
      const dueMs = CLOSE_MS - (performance.now() % CLOSE_MS);
      this.timer = setTimeout(() => void this.close(), dueMs);
    }
    return this.size >= MOST_WAITING ? this.flush() : undefined;
  }

  /** Resolves once all of them are stored. @throws ResponseLost, or what the database threw */
  async flush(): Promise<void> {
    await this.close();
    if (this.failure !== null) throw this.failure;
  }

  /** What was not stored yet is left out. */
  drop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.waiting = [];
    this.size = 0;
  }

  /** One batch is written at a time; what comes meanwhile is the next. */
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
