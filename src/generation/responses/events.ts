import type { ResponseStreamEvent } from 'openai/resources/responses/responses';
import type { Fields } from '../dialects/checks.js';

type WithoutSequence<E> = E extends unknown ? Omit<E, 'sequence_number'> : never;

/** An event of the convention before it has its number. */
export type NewEvent = WithoutSequence<ResponseStreamEvent>;

/** Writes the events of one response as JSON texts, numbered from 0 without gaps, each with its type first. */
export class EventLog {
  /** Events that are written but not yet delivered. */
  readonly ready: string[] = [];
  /** Whether nobody reads the events. */
  readonly isSilent: boolean = false;

  /** @param sequence the number of its next event */
  constructor(private sequence = 0) {}

  /** The number of the next event. */
  get next(): number {
    return this.sequence;
  }

  /** Removes the ready events, because they must not be delivered. @param sequence the number of the next event */
  rewind(sequence: number): void {
    this.ready.length = 0;
    this.sequence = sequence;
  }

  push(event: NewEvent): void {
    const { type, ...rest } = event;
    this.ready.push(JSON.stringify({ type, sequence_number: this.sequence++, ...rest }));
  }

  /** An event with fields that Penstock may not know. */
  pushUnknown({ type, sequence_number: _, ...rest }: Fields): void {
    this.ready.push(JSON.stringify({ type, sequence_number: this.sequence++, ...rest }));
  }

  /** Adds an event that was written elsewhere without a number. @param before its JSON before the number */
  pushWritten(before: string, after: string): void {
    this.ready.push(`${before}${this.sequence++}${after}`);
  }

  /** Counts an event that is not written. */
  protected pass(): void {
    this.sequence++;
  }
}

/** Only counts events. A whole answer is built with the code of streamed answers, and nobody reads its events. */
export class SilentLog extends EventLog {
  override readonly isSilent = true;

  override push(): void {
    this.pass();
  }

  override pushUnknown(): void {
    this.pass();
  }

  override pushWritten(): void {
    this.pass();
  }
}
