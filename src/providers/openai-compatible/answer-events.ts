import { isFields } from '../convention/answer-text.js';
import { isEndMarker } from './event-texts.js';
import { SseParser } from './sse-parser.js';
import { brokenAnswer, kindOfError } from './upstream-errors.js';

/** How JSON begins, and an event stream never does. */
const OPENINGS: ReadonlySet<number | undefined> = new Set([...Buffer.from('{[')]);

/**
 * Reads the events of an answer that was asked for as a stream, as its bytes come. An upstream that does not stream answers in one piece, which is
 * not read here.
 */
export class AnswerEvents {
  private readonly parser: SseParser;
  private isWhole: boolean | null = null;
  private fault: Error | null = null;
  private hasSeenEndMarker = false;

  /** @param onEvent gets each event's object; it returns whether that says that all has come */
  constructor(onEvent: (event: Record<string, unknown>) => boolean) {
    this.parser = new SseParser((data) => {
      if (isEndMarker(data)) this.hasSeenEndMarker = true;
      else if (this.fault === null) this.read(data, onEvent);
    });
  }

  readonly push = (bytes: Buffer): void => {
    this.isWhole ??= OPENINGS.has(bytes.toString('latin1', 0, 100).trimStart().charCodeAt(0));
    if (this.isWhole || this.fault !== null) return;
    try {
      this.parser.push(bytes);
    } catch (error) {
      this.fault = brokenAnswer('an event that is too long', error);
    }
  };

  /** @returns whether the answer was a stream. @throws UpstreamError for one that is not whole */
  end(): boolean {
    if (this.isWhole !== false) return false;
    if (this.fault === null) this.parser.end();
    if (this.fault !== null) throw this.fault;
    if (!this.hasSeenEndMarker) throw brokenAnswer('a stream without its end');
    return true;
  }

  private read(data: string, onEvent: (event: Record<string, unknown>) => boolean): void {
    let event: unknown;
    try {
      event = JSON.parse(data);
    } catch {
      event = null;
    }
    if (!isFields(event)) this.fault = brokenAnswer('broken JSON');
    else if (event['error'] != null)
      this.fault = brokenAnswer(`an error with status 200${kindOfError(event['error'])}`);
    else if (onEvent(event)) this.hasSeenEndMarker = true;
  }
}
