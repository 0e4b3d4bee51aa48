import type { BoundedExchange } from './bounded-exchange.js';

/** Connections to one origin that are being made at a time: a sender short of CPU would else time out in its own handshakes. */
const MAKING = 8;

interface Making {
  count: number;
  waiting: (() => void)[];
}

/** Gives exchanges that wait too long for a shared connection one of their own, a few at a time for each origin. */
export class OwnConnections {
  private readonly making = new Map<string, Making>();

  /** @param dispatch is called once, or not at all where the exchange has begun or ended before its turn */
  make(origin: string, exchange: BoundedExchange, dispatch: () => void): void {
    const making = this.making.get(origin) ?? { count: 0, waiting: [] };
    this.making.set(origin, making);
    const begin = (): void => {
      if (!exchange.waits) return this.next(origin, making);
      exchange.onStart(() => this.next(origin, making));
      dispatch();
    };
    if (making.count >= MAKING) return void making.waiting.push(begin);
    making.count += 1;
    begin();
  }

  private next(origin: string, making: Making): void {
    const begin = making.waiting.shift();
    if (begin !== undefined) return begin();
    making.count -= 1;
    if (making.count === 0) this.making.delete(origin);
  }
}
