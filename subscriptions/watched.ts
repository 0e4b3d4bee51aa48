import type { Logger } from 'pino';

export interface WatchedOptions {
  /** Between two looks. */
  everyMs: number;
  /** Looks at all of them, in one statement. */
  look(orgIds: string[]): Promise<void>;
  logger: Logger;
}

/** Organisations that somebody watches: one statement looks at all of them, again and again, and none where nobody watches. */
export class WatchedOrganizations {
  readonly #orgIds = new Map<string, number>();
  #timer: NodeJS.Timeout | null = null;
  #looking: Promise<void> | null = null;

  constructor(private readonly options: WatchedOptions) {}

  add(orgId: string): void {
    this.#orgIds.set(orgId, (this.#orgIds.get(orgId) ?? 0) + 1);
    this.#timer ??= setInterval(() => void this.#look(), this.options.everyMs).unref();
  }

  /** @returns whether nobody watches the organisation any more */
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

  /** A look that takes longer than its interval is not joined by another. */
  #look(): Promise<void> {
    this.#looking ??= this.options
      .look([...this.#orgIds.keys()])
      .catch((error: unknown) =>
        this.options.logger.warn({ err: error }, 'watching organisations failed; the next look tries again'),
      )
      .finally(() => (this.#looking = null));
    return this.#looking;
  }
}
