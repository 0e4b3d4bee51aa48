import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { Fields } from '../dialects/checks.js';

type WithoutSequence<E> = E extends unknown ? Omit<E, 'sequence_number'> : never;

/** An event of the convention before it has its number. */
export type NewEvent = WithoutSequence<ResponseStreamEvent>;

/** Writes the events of one response as JSON texts, numbered from 0 without a hole, each with its type first. */
export class EventLog {
  /** Written and not yet handed out. */
  readonly ready: string[] = [];

  /** @param sequence the number of its next event */
  constructor(private sequence = 0) {}

  /** Forgets what is ready: it was told before. @param sequence the number of the next event */
  rewind(sequence: number): void {
    this.ready.length = 0;
    this.sequence = sequence;
  }

  push(event: NewEvent): void {
    const { type, ...rest } = event;
    this.ready.push(JSON.stringify({ type, sequence_number: this.sequence++, ...rest }));
  }

  /** An event that nobody here knows, as it came. */
  pushUnknown({ type, sequence_number: _, ...rest }: Fields): void {
    this.ready.push(JSON.stringify({ type, sequence_number: this.sequence++, ...rest }));
  }

  /** An event that was written elsewhere but for its number. @param before its JSON up to the number */
  pushWritten(before: string, after: string): void {
    this.ready.push(`${before}${this.sequence++}${after}`);
  }
}

/** Takes events that nobody reads: an answer in one piece is put together as a streamed one is. */
export class SilentLog extends EventLog {
  override push(): void {
    // Not written.
  }

  override pushUnknown(): void {
    // Not written.
  }

  override pushWritten(): void {
    // Not written.
  }
}
