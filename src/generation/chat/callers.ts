import { ApiError } from '../../contract/errors.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import type { CallContext } from '../../metering/call-context.js';
import { SlotList } from '../../collections/slot-list.js';

/** The error for a chat that the process could not finish before it stopped. */
export const stoppingFault = (): ApiError =>
  new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 });

/** The caller of a running chat. Its signal fires when the caller disconnects, or when the process stops. */
export interface ChatCaller extends LightAbortSignal {
  /** Whether the signal fired because the process stops. */
  readonly stopped: boolean;
  /** Call it when the chat has ended. */
  leave(): void;
}

/** The callers of all running chats. */
export class ChatCallers {
  private readonly open = new SlotList<Caller>();
  private stopped = false;

  enter(call: CallContext): ChatCaller {
    // A call with an Idempotency-Key continues without its caller, so that it can be replayed.
    const own = call.idempotencyKey === null ? (call.gone ?? call.signal) : null;
    const caller = new Caller(own, () => this.open.remove(place));
    const place = this.open.insert(caller);
    if (this.stopped) caller.stop();
    return caller;
  }

  /** Ends all running chats, each with its settlement, because the process stops. */
  stop(): void {
    this.stopped = true;
    for (const caller of [...this.open]) caller.stop();
  }
}

class Caller implements ChatCaller {
  stopped = false;
  private listeners: (() => void)[] = [];
  private hasLeft = false;

  constructor(
    private readonly own: LightAbortSignal | null,
    private readonly forget: () => void,
  ) {}

  get aborted(): boolean {
    return this.stopped || this.own?.aborted === true;
  }

  addEventListener(type: 'abort', listener: () => void): void {
    this.listeners.push(listener);
    this.own?.addEventListener(type, listener);
  }

  removeEventListener(type: 'abort', listener: () => void): void {
    const at = this.listeners.indexOf(listener);
    if (at !== -1) this.listeners.splice(at, 1);
    this.own?.removeEventListener(type, listener);
  }

  stop(): void {
    this.stopped = true;
    for (const listener of this.listeners.splice(0)) listener();
  }

  leave(): void {
    if (!this.hasLeft) this.forget();
    this.hasLeft = true;
  }
}
