import { ApiError } from '../contract/errors.js';

/** How many permits there are, and how many of them an organisation may hold or wait for. */
export interface FairSemaphoreOptions {
  /** Permits that any organisation may take; one organisation alone may hold all of them. */
  permits: number;
  /** Further permits for organisations that hold none, so that long work of others does not keep them out. Default: half of `permits`, rounded up. */
  reserve?: number;
  /** How many calls of one organisation may wait for a permit; the next call is refused. Default 1,000. */
  maxWaitingPerOrg?: number;
  /** How many works of one organisation may rest; the next keeps its permit while it rests. Default 1,000. */
  maxRestingPerOrg?: number;
  /** Called when a permit is released and no call waits for it. */
  onFree?: () => void;
}

/** A permit that an organisation holds. */
export interface Permit {
  /** False while its work rests and after the release. */
  readonly held: boolean;
  /** Gives the permit back; the next waiting call gets it at once. A second call does nothing. */
  release(): void;
  /**
   * Releases the permit while `wait` runs and acquires one again afterwards. If `wait` throws, no permit is acquired.
   * @throws the signal's reason
   */
  rest<T>(wait: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Waiting {
  enter(): void;
  refuse(reason: Error): void;
}

/** The permits that an organisation holds and waits for. */
interface Share {
  readonly orgId: string;
  held: number;
  resting: number;
  waiting: Set<Waiting>;
}

const NONE: ReadonlySet<Share> = new Set<Share>();

/**
 * A semaphore whose permits are shared fairly between organisations. A call takes a free permit at once. A released permit goes to the
 * organisation that holds the fewest; among those to the one that has waited longest, and within it to its oldest call. Running work is never
 * interrupted, so there is a reserve for organisations that hold no permit while all others are taken. The choice takes constant time.
 */
export class FairSemaphore {
  private readonly shares = new Map<string, Share>();
  /** Shares with waiting calls, by the number of permits that they hold; each set is a queue. */
  private readonly queues = new Map<number, Set<Share>>();
  private readonly reserve: number;
  private taken = 0;
  private closedBy: Error | null = null;

  constructor(private readonly options: FairSemaphoreOptions) {
    this.reserve = options.reserve ?? reserveOf(options.permits);
  }

  /** The maximum number of permits that can be held at once. */
  get most(): number {
    return this.options.permits + this.reserve;
  }

  /** `free`: permits for any organisation. `reserve`: further permits for organisations that hold none. */
  get available(): { free: number; reserve: number } {
    const free = Math.max(0, this.options.permits - this.taken);
    return { free, reserve: Math.max(0, this.most - this.taken - free) };
  }

  held(orgId: string): number {
    return this.shares.get(orgId)?.held ?? 0;
  }

  /** @throws the signal's reason; ApiError unavailable if too many calls of the organisation wait */
  async acquire(orgId: string, signal?: AbortSignal): Promise<Permit> {
    if (this.closedBy !== null) throw this.closedBy;
    signal?.throwIfAborted();
    const share = this.shareOf(orgId);
    // Calls that wait already come first.
    if (share.waiting.size === 0 && this.hasPermit(share)) return this.take(orgId);
    if (share.waiting.size >= (this.options.maxWaitingPerOrg ?? 1000)) throw busy();
    await this.wait(share, signal);
    return this.permitOf(share);
  }

  /** Takes a permit without waiting, even if none is free: for work that a claim in the database chose by the same rules. */
  take(orgId: string): Permit {
    const share = this.shareOf(orgId);
    this.count(share, 1);
    return this.permitOf(share);
  }

  /** Refuses all waiting and all later calls. */
  close(reason: Error): void {
    this.closedBy = reason;
    for (const { waiting } of this.shares.values()) for (const { refuse } of [...waiting]) refuse(reason);
  }

  private hasPermit({ held }: Share): boolean {
    return this.taken < this.options.permits || (held === 0 && this.taken < this.most);
  }

  private shareOf(orgId: string): Share {
    const known = this.shares.get(orgId);
    if (known !== undefined) return known;
    const share = { orgId, held: 0, resting: 0, waiting: new Set<Waiting>() };
    this.shares.set(orgId, share);
    return share;
  }

  private permitOf(share: Share): Permit {
    let holds = true;
    let ended = false;
    const giveBack = (): void => {
      if (!holds) return;
      holds = false;
      this.count(share, -1);
      this.grantNext();
      this.forget(share);
    };
    const rest: Permit['rest'] = async (wait, signal) => {
      if (!holds || share.resting >= (this.options.maxRestingPerOrg ?? 1000)) return await wait();
      share.resting++;
      try {
        giveBack();
        const value = await wait();
        await this.acquireAgain(share, signal);
        holds = true;
        return value;
      } finally {
        share.resting--;
        if (ended) giveBack();
        this.forget(share);
      }
    };
    const release = (): void => {
      ended = true;
      giveBack();
    };
    return {
      get held() {
        return holds;
      },
      release,
      rest,
    };
  }

  /** Like {@link acquire}, but running work is never refused because too many calls wait. */
  private async acquireAgain(share: Share, signal: AbortSignal | undefined): Promise<void> {
    if (this.closedBy !== null) throw this.closedBy;
    signal?.throwIfAborted();
    if (share.waiting.size === 0 && this.hasPermit(share)) this.count(share, 1);
    else await this.wait(share, signal);
  }

  private wait(share: Share, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        share.waiting.delete(entry);
        this.enqueue(share);
        signal?.removeEventListener('abort', aborted);
      };
      const refuse = (reason: Error): void => {
        leave();
        this.forget(share);
        reject(reason);
      };
      const aborted = (): void => refuse(signal?.reason as Error);
      const enter = (): void => {
        leave();
        resolve();
      };
      const entry = { enter, refuse };
      share.waiting.add(entry);
      this.enqueue(share);
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }

  private grantNext(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      const [first] = next.waiting;
      this.count(next, 1);
      first?.enter();
    }
    if (this.taken < this.most) this.options.onFree?.();
  }

  /** The next share that may take a permit, if there is one. */
  private next(): Share | undefined {
    if (this.taken >= this.most) return undefined;
    const mostHeld = this.taken < this.options.permits ? this.taken : 0;
    for (let held = 0; held <= mostHeld; held++) {
      const [first] = this.queues.get(held) ?? NONE;
      if (first !== undefined) return first;
    }
    return undefined;
  }

  private count(share: Share, by: 1 | -1): void {
    this.dequeue(share);
    this.taken += by;
    share.held += by;
    this.enqueue(share);
  }

  /** Puts a share with waiting calls at the end of the queue of shares that hold as many permits, unless it stands there already. */
  private enqueue(share: Share): void {
    if (share.waiting.size === 0) return this.dequeue(share);
    const queue = this.queues.get(share.held);
    if (queue === undefined) this.queues.set(share.held, new Set([share]));
    else queue.add(share);
  }

  private dequeue(share: Share): void {
    const queue = this.queues.get(share.held);
    queue?.delete(share);
    if (queue?.size === 0) this.queues.delete(share.held);
  }

  private forget({ orgId, held, resting, waiting }: Share): void {
    if (held === 0 && resting === 0 && waiting.size === 0) this.shares.delete(orgId);
  }
}

function reserveOf(permits: number): number {
  return Math.ceil(permits / 2);
}

/** The work is refused for now; the caller may try again. */
export function busy(): ApiError {
  return new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 });
}
