/** Ends a run as failed, with a message that its caller may see. */
export class RunFault extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RunFault';
  }
}

/** The run is not this worker's any more (cancelled, lost), or the worker stops: nothing more is written. */
export class RunLeft extends Error {
  constructor() {
    super('The run is not in these hands any more');
    this.name = 'RunLeft';
  }
}
