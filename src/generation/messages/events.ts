import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { Fields } from '../dialects/checks.js';

/** An event of the convention. */
export type NewEvent = RawMessageStreamEvent | { type: 'ping' };

/** Writes the events of one message as JSON texts, each with its type first. */
export class MessageLog {
  /** Written and not yet handed out. */
  readonly ready: string[] = [];

  push(event: NewEvent): void {
    this.ready.push(JSON.stringify(event));
  }

  /** An event of which not all is known here. */
  pushUnknown(event: Fields & { type: string }): void {
    this.ready.push(JSON.stringify(event));
  }

  /** One that was written elsewhere. */
  pushWritten(event: string): void {
    this.ready.push(event);
  }
}

/** Takes events that nobody reads: a message in one piece is put together as a streamed one is. */
export class SilentLog extends MessageLog {
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
