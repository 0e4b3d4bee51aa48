import type { FieldGuard } from './guard.js';
import type { CallContext } from '../src/metering/call-context.js';
import type { Services } from '../src/services.js';

/** What every resolver gets, whichever face the operation came by: made by the face for each operation. */
export interface GraphqlContext {
  /** The guard that the call passed before its document runs: REST checks it before it reads a body. */
  passed?: FieldGuard;
  call: CallContext;
  services: Services;
  /**
   * A REST body as it was sent. It stands in the place of the argument `input`: REST checks the plan before the fields (decisions 1),
   * so its bodies reach the service uncoerced and are refused there, in that order, with the contract's messages.
   */
  body?: Record<string, unknown>;
  /** A file that came with a multipart body. */
  upload?: { filename: string; bytes: Buffer };
  /** A file of a multipart body that was written to the disk as it came; its bytes may be moved away. */
  spooled?: { filename: string; path: string; sizeBytes: number };
  /** Told of each job that a generation of this operation made or resumed: the header `X-Job-Id` names the first. */
  onJob?(jobId: string): void;
}
