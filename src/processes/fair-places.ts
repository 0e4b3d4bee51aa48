import { ApiError } from '../contract/errors.js';

/** How many places there are, and what an organisation may have of them. */
export interface FairPlacesOptions {
  /** For whoever asks first: an organisation alone may have them all. */
  places: number;
  /** Beyond them, one for each organisation that has none: so long work of others keeps nobody out. Default: half as many, rounded up. */
  reserve?: number;
  /** How many of an organisation may wait; the next is refused. Default 1,000. */
  waitingOfOne?: number;
  /** How many of an organisation may rest; the next keeps its place while it waits. Default 1,000. */
  restingOfOne?: number;
  /** A place came free, and nobody here waits for it. */
  onFree?: () => void;
}

/** A place that was given to an organisation. */
export interface Place {
  /** Not while its work rests, nor once it was released. */
  readonly held: boolean;
  /** Whoever waits gets it at once. Again: nothing. */
  release(): void;
  /**
   * Waits without the place, and takes one again, in turn, when the waiting is over. What `wait` throws is thrown, without a place.
   * @throws the signal's reason
   */
  rest<T>(wait: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

interface Waiting {
  enter(): void;
  refuse(reason: Error): void;
}

/** What an organisation has and waits for. */
interface Share {
  readonly orgId: string;
  held: number;
  resting: number;
  waiting: Set<Waiting>;
}

const NONE: ReadonlySet<Share> = new Set<Share>();

/**
 * Places for work, shared fairly between organisations. Who finds one free takes it; a place that comes free goes to the organisation that has
 * the fewest, of those the one that has waited longest for its turn, and within it to whoever came first. Work cannot be interrupted, so when
 * all places are taken the organisations that have none share a reserve. Choosing takes the same time however many wait.
 */
export class FairPlaces {
  private readonly shares = new Map<string, Share>();
  /** Of the shares with waiting work, by how many places they hold; in each set in the order of their turns. */
  private readonly lines = new Map<number, Set<Share>>();
  private readonly reserve: number;
  private taken = 0;
  private closedBy: Error | null = null;

  constructor(private readonly options: FairPlacesOptions) {
    this.reserve = options.reserve ?? reserveOf(options.places);
  }

  /** Most places that can be taken at once. */
  get most(): number {
    return this.options.places + this.reserve;
  }

  /** What is free: for everybody, and beyond that for organisations without a place. */
  get room(): { free: number; reserve: number } {
    const free = Math.max(0, this.options.places - this.taken);
    return { free, reserve: Math.max(0, this.most - this.taken - free) };
  }

  held(orgId: string): number {
    return this.shares.get(orgId)?.held ?? 0;
  }

  /** @throws the signal's reason; ApiError unavailable where too many of the organisation wait */
  async acquire(orgId: string, signal?: AbortSignal): Promise<Place> {
    if (this.closedBy !== null) throw this.closedBy;
    signal?.throwIfAborted();
    const share = this.shareOf(orgId);
    // Who waits already comes first.
    if (share.waiting.size === 0 && this.hasRoom(share)) return this.take(orgId);
    if (share.waiting.size >= (this.options.waitingOfOne ?? 1000)) throw tooMany();
    await this.wait(share, signal);
    return this.placeOf(share);
  }

  /** A place for work that was chosen elsewhere by the same rules (a claim in the database), whether or not there is room. */
  take(orgId: string): Place {
    const share = this.shareOf(orgId);
    this.count(share, 1);
    return this.placeOf(share);
  }

  /** Refuses all that wait, and whoever comes later. */
  close(reason: Error): void {
    this.closedBy = reason;
    for (const { waiting } of this.shares.values()) for (const { refuse } of [...waiting]) refuse(reason);
  }

  private hasRoom({ held }: Share): boolean {
    return this.taken < this.options.places || (held === 0 && this.taken < this.most);
  }

  private shareOf(orgId: string): Share {
    const known = this.shares.get(orgId);
    if (known !== undefined) return known;
    const share = { orgId, held: 0, resting: 0, waiting: new Set<Waiting>() };
    this.shares.set(orgId, share);
    return share;
  }

  private placeOf(share: Share): Place {
    let holds = true;
    let ended = false;
    const giveUp = (): void => {
      if (!holds) return;
      holds = false;
      this.count(share, -1);
      this.letIn();
      this.forget(share);
    };
    const rest: Place['rest'] = async (wait, signal) => {
      if (!holds || share.resting >= (this.options.restingOfOne ?? 1000)) return await wait();
      share.resting++;
      try {
        giveUp();
        const value = await wait();
        await this.acquireAgain(share, signal);
        holds = true;
        return value;
      } finally {
        share.resting--;
        if (ended) giveUp();
        this.forget(share);
      }
    };
    const release = (): void => {
      ended = true;
      giveUp();
    };
    return {
      get held() {
        return holds;
      },
      release,
      rest,
    };
  }

  /** As {@link acquire}; work that is under way is not refused for the number of those that wait. */
  private async acquireAgain(share: Share, signal: AbortSignal | undefined): Promise<void> {
    if (this.closedBy !== null) throw this.closedBy;
    signal?.throwIfAborted();
    if (share.waiting.size === 0 && this.hasRoom(share)) this.count(share, 1);
    else await this.wait(share, signal);
  }

  private wait(share: Share, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        share.waiting.delete(entry);
        this.line(share);
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
      this.line(share);
      signal?.addEventListener('abort', aborted, { once: true });
    });
  }

  private letIn(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      const [first] = next.waiting;
      this.count(next, 1);
      first?.enter();
    }
    if (this.taken < this.most) this.options.onFree?.();
  }

  /** Whose turn it is, where there is room for it. */
  private next(): Share | undefined {
    if (this.taken >= this.most) return undefined;
    const mostHeld = this.taken < this.options.places ? this.taken : 0;
    for (let held = 0; held <= mostHeld; held++) {
      const [first] = this.lines.get(held) ?? NONE;
      if (first !== undefined) return first;
    }
    return undefined;
  }

  private count(share: Share, by: 1 | -1): void {
    this.unline(share);
    this.taken += by;
    share.held += by;
    this.line(share);
  }

  /** Puts a share with waiting work at the end of the line of those that hold as many; one that stands in it keeps its turn. */
  private line(share: Share): void {
    if (share.waiting.size === 0) return this.unline(share);
    const line = this.lines.get(share.held);
    if (line === undefined) this.lines.set(share.held, new Set([share]));
    else line.add(share);
  }

  private unline(share: Share): void {
    const line = this.lines.get(share.held);
    line?.delete(share);
    if (line?.size === 0) this.lines.delete(share.held);
  }

  private forget({ orgId, held, resting, waiting }: Share): void {
    if (held === 0 && resting === 0 && waiting.size === 0) this.shares.delete(orgId);
  }
}

function reserveOf(places: number): number {
  return Math.ceil(places / 2);
}

function tooMany(): ApiError {
  return new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 });
}
