import type { JobContext, JobParts } from '../../jobs/jobs.types.js';

/** Shows coarser previews before the final pictures, in order, with the size and format of the final pictures. */
export class PartialPictures {
  private taken = 0;
  private last: Promise<void> = Promise.resolve();

  /** @param count maximum of previews of each picture */
  constructor(
    private readonly parts: Pick<JobParts, 'give'>,
    readonly count: number,
    private readonly pictures: number,
  ) {}

  /** @param make converts a preview to the final form. An unreadable preview is skipped; only the final picture decides whether the job fails */
  show(make: () => Promise<Uint8Array>): void {
    if (++this.taken > this.count * this.pictures) return;
    this.last = this.last
      .then(make)
      .then((bytes) => this.parts.give(bytes))
      .catch(() => undefined);
  }

  /** Resolves when all previews were published. */
  settled(): Promise<void> {
    return this.last;
  }
}

/** Null if the job's caller does not want previews. */
export function partialPictures({ parts }: Pick<JobContext, 'parts'>, pictures = 1): PartialPictures | null {
  const count = parts?.liveOptions.partials ?? 0;
  return parts === null || count === 0 ? null : new PartialPictures(parts, count, pictures);
}
