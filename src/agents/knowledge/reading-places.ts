import { ApiError } from '../../errors.js';

/** Documents that a process has read at a time for runs, each in a process of its own with up to 440 MB; and of them one organisation's. */
const PLACES = 6;
const OF_ONE = 3;
/** What is given with a call is read within 30 s (decisions 1), or its caller tries again. */
const PATIENCE_MS = 30_000;

interface Waiting {
  orgId: string;
  enter(): void;
}

/** Places for work that takes a process: who finds none waits, and no organisation's crowd keeps the others out. */
export class ReadingPlaces {
  private taken = 0;
  private readonly byOrg = new Map<string, number>();
  private readonly waiting = new Set<Waiting>();

  /** @throws ApiError unavailable where no place became free in time, or its caller has gone */
  async use<T>(orgId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.hasRoom(orgId)) this.count(orgId, 1);
    else await this.wait(orgId, AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]));
    try {
      return await work();
    } finally {
      this.count(orgId, -1);
      this.letIn();
    }
  }

  private hasRoom(orgId: string): boolean {
    return this.taken < PLACES && (this.byOrg.get(orgId) ?? 0) < OF_ONE;
  }

  private count(orgId: string, by: 1 | -1): void {
    this.taken += by;
    const own = (this.byOrg.get(orgId) ?? 0) + by;
    if (own > 0) this.byOrg.set(orgId, own);
    else this.byOrg.delete(orgId);
  }

  private wait(orgId: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.waiting.delete(entry);
        reject(new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 }));
      };
      const enter = (): void => {
        this.waiting.delete(entry);
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const entry = { orgId, enter };
      if (signal.aborted) return leave();
      signal.addEventListener('abort', leave);
      this.waiting.add(entry);
    });
  }

  private letIn(): void {
    for (const { orgId, enter } of this.waiting) {
      if (!this.hasRoom(orgId)) continue;
      this.count(orgId, 1);
      enter();
    }
  }
}
