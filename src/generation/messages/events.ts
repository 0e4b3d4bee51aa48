import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { Fields } from '../dialects/checks.js';

/** An event of the convention. */
export type NewEvent = RawMessageStreamEvent | { type: 'ping' };

/** Writes the events of one message as JSON texts, each with its type first. */
export class MessageLog {
  /** Events that are written but not yet delivered. */
  readonly ready: string[] = [];
  /** Whether nobody reads the events. */
  readonly isSilent: boolean = false;

  push(event: NewEvent): void {
    this.ready.push(JSON.stringify(event));
  }

  /** An event with fields that Penstock may not know. */
  pushUnknown(event: Fields & { type: string }): void {
    this.ready.push(JSON.stringify(event));
  }

  /** Adds an event that was written elsewhere. */
  pushWritten(event: string): void {
    this.ready.push(event);
  }
}

/** Ignores events. A whole message is built with the code of streamed messages, and nobody reads its events. */
export class SilentLog extends MessageLog {
  override readonly isSilent = true;

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
