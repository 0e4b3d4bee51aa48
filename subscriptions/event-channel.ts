/** An event of an entity (a job, a run), numbered from 1 without gaps. */
export interface Sequenced {
  sequence: number;
}

const PAGE = 100;
/** Also the maximum lag of a subscriber: more than one page, so that a burst which is read at once stalls nobody. */
export const RECENT = 256;

type Listener<Event> = (event: Event) => void;

/**
 * One entity's events in one process. A notification wakes it, and one read of the database serves all subscribers. The last events stay in
 * memory, so that a subscriber that is a little behind needs no read of its own.
 */
export class EventChannel<Event extends Sequenced> {
  #recent: Event[] = [];
  #known: number;
  #last: number;
  #reading: Promise<void> | null = null;
  readonly #pages = new Map<number, Promise<Event[]>>();
  readonly #listeners = new Set<Listener<Event>>();

  /**
   * @param start the sequence after which the channel begins
   * @param read events after a sequence, in order
   */
  constructor(
    start: number,
    private readonly read: (after: number, limit: number) => Promise<Event[]>,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#last = start;
    this.#known = start;
  }

  /** Sequence of the last event that was read. */
  get last(): number {
    return this.#last;
  }

  listen(listener: Listener<Event>): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Notifies the channel of new events: up to `sequence`, or (without it) perhaps some. */
  wake(sequence?: number): void {
    if (sequence !== undefined && sequence <= this.#last) return;
    this.#known = Math.max(this.#known, sequence ?? this.#last + 1);
    this.#reading ??= this.#drain().finally(() => {
      this.#reading = null;
    });
  }

  /** Whether all events after `sequence` are in memory. */
  reaches(sequence: number): boolean {
    return sequence >= this.#last || sequence + 1 >= (this.#recent[0]?.sequence ?? this.#last + 1);
  }

  /** The events after `sequence` in memory, or null if some are no longer there. */
  since(sequence: number): Event[] | null {
    if (!this.reaches(sequence)) return null;
    return this.#recent.slice(sequence + 1 - (this.#recent[0]?.sequence ?? this.#last + 1));
  }

  /** The events after `sequence`, from memory if possible; subscribers at the same position share a read. Empty if there are none yet. */
  async page(sequence: number): Promise<Event[]> {
    const atHand = this.since(sequence);
    if (atHand) return atHand;
    let page = this.#pages.get(sequence);
    if (!page) {
      page = this.read(sequence, PAGE).finally(() => this.#pages.delete(sequence));
      this.#pages.set(sequence, page);
    }
    return [...(await page)];
  }

  /** Reads the events after `sequence`, up to those in memory or beyond. */
  async missing(sequence: number): Promise<Event[]> {
    const events: Event[] = [];
    let last = sequence;
    while (!this.reaches(last)) {
      const page = await this.page(last);
      // Sequences have no gaps, so the entity was deleted meanwhile.
      if (page.length === 0) break;
      events.push(...page);
      last = page.at(-1)?.sequence ?? last;
    }
    return events;
  }

  async #drain(): Promise<void> {
    try {
      while (this.#known > this.#last) {
        const events = await this.read(this.#last, PAGE);
        if (events.length === 0) this.#known = this.#last;
        for (const event of events) this.#take(event);
      }
    } catch (error) {
      this.#known = this.#last;
      this.onError(error);
    }
  }

  #take(event: Event): void {
    if (event.sequence <= this.#last) return;
    this.#last = event.sequence;
    this.#known = Math.max(this.#known, event.sequence);
    this.#recent.push(event);
    if (this.#recent.length > RECENT) this.#recent.shift();
    for (const listener of [...this.#listeners]) listener(event);
  }
}
