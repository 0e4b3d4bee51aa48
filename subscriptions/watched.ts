import type { Logger } from 'pino';

export interface WatchedOptions {
  /** The interval of reads, in milliseconds. */
  everyMs: number;
  /** Reads all watched organisations in one statement. */
  look(orgIds: string[]): Promise<void>;
  logger: Logger;
}

/** Organisations with subscribers. One statement reads all of them at an interval; without subscribers there is no statement. */
export class WatchedOrganizations {
  readonly #orgIds = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;

  constructor(private readonly options: WatchedOptions) {}

  add(orgId: string): void {
    this.#orgIds.set(orgId, (this.#orgIds.get(orgId) ?? 0) + 1);
    this.#timer ??= setInterval(() => void this.#look(), this.options.everyMs).unref();
  }

  /** @returns whether the organisation has no subscribers any more */
  remove(orgId: string): boolean {
    const left = (this.#orgIds.get(orgId) ?? 0) - 1;
    if (left > 0) this.#orgIds.set(orgId, left);
    else this.#orgIds.delete(orgId);
    if (this.#orgIds.size === 0) this.#stop();
    return left <= 0;
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#looking;
  }

  #stop(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** If a read takes longer than its interval, no second read starts. */
  #look(): Promise<void> {
    this.#looking ??= this.options
      .look([...this.#orgIds.keys()])
      .catch((error: unknown) =>
        this.options.logger.warn(
          { err: error },
          'reading watched organisations failed; the next read tries again',
        ),
      )
      .finally(() => (this.#looking = null));
    return this.#looking;
  }
}
