import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BusMessage } from './events.types.js';

/** A subscriber's function, as given to `Bus.subscribe`. */
export type BusHandler = (message: BusMessage) => Promise<void> | void;

/** The pauses before a failed handler is called again. Together they are longer than a restart of PostgreSQL. */
const RETRY_DELAYS_MS = [50, 250, 1_000, 3_000];

/** The result of a subscriber's last message. */
export interface RetryState {
  /**
   * The last message became a dead letter. Until one succeeds, each message is tried only once; otherwise a broken handler would block all later
   * messages.
   */
  exhausted: boolean;
}

/** One message on its way to one handler. */
export interface Delivery {
  message: BusMessage;
  handler: BusHandler;
  /** Named groups: stores a message that the handler could not handle. Its own error is passed to the caller. */
  deadLetter: (error: unknown) => Promise<void>;
  /** One for each subscriber. */
  retryState: RetryState;
  /** Called between attempts (Kafka's heartbeat). */
  beat?: () => Promise<void>;
}

/** Calls the handler until it succeeds, or hands the message to the dead letters after the last attempt. */
export async function deliver({ message, handler, deadLetter, retryState, beat }: Delivery): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await handler(message);
      retryState.exhausted = false;
      return;
    } catch (error) {
      const delay = retryState.exhausted ? undefined : RETRY_DELAYS_MS[attempt];
      if (delay === undefined) {
        await deadLetter(error);
        retryState.exhausted = true;
        return;
      }
      await sleep(delay);
      await beat?.();
    }
  }
}

/** Broadcasts are only hints: an error of a handler is logged, and nothing is retried. */
export async function deliverBroadcast(
  message: BusMessage,
  handler: BusHandler,
  logger: Logger,
): Promise<void> {
  try {
    await handler(message);
  } catch (error) {
    logger.error({ err: error, eventId: message.event.id }, 'a broadcast handler failed');
  }
}

/** The text of a handler's error that is stored. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, 2_000);
}
