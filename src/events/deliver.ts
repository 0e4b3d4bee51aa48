import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { BusMessage } from './events.types.js';

/** A subscriber's function, as given to `Bus.subscribe`. */
export type BusHandler = (message: BusMessage) => Promise<void> | void;

/** How often and after which pauses a handler that threw is called again: it rides out a restart of PostgreSQL. */
const RETRY_DELAYS_MS = [50, 250, 1_000, 3_000];

/** What a subscriber's last message came to. */
export interface RetryState {
  /** The last message ended among the dead letters: until one is taken, no other is tried more than once, else a broken handler
   * would hold up everything behind it. */
  exhausted: boolean;
}

/** One message on its way to one handler. */
export interface Delivery {
  message: BusMessage;
  handler: BusHandler;
  /** Named groups: keeps what the handler could not take. Its own fault is the caller's. */
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

/** Broadcasts are hints: what a handler throws is logged, nothing is retried. */
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

/** What is kept of a handler's fault. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, 2_000);
}
