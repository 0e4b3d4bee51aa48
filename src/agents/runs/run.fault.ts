import { ApiError } from '../../contract/errors.js';

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

/** The database was away for longer than a call waits: no fault of the run's, which goes on from its stored steps. */
export function isDatabaseAway(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unavailable';
}
