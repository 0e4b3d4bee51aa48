/** Ends a run as failed, with a message that its caller may see. */
export class RunFault extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RunFault';
  }
}

/** The worker no longer holds the run (cancelled, lost), or the worker stops. It writes nothing more. */
export class RunAbandonedError extends Error {
  constructor() {
    super('The run is not in these hands any more');
    this.name = 'RunAbandonedError';
  }
}
