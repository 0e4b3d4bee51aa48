import type { FieldGuard } from './guard.js';
import type { CallContext } from '../src/metering/call-context.js';
import type { Services } from '../src/services.js';

/** The data that every resolver gets. Each API creates it for each operation. */
export interface GraphqlContext {
  /** The guard that the call passed before its document runs: REST checks it before it reads a body. */
  passed?: FieldGuard;
  call: CallContext;
  services: Services;
  /**
   * An unchanged REST body. It replaces the argument `input`: REST checks the plan before the fields (decisions 1),
   * so the service gets its bodies uncoerced, and refuses them in that order with the contract's messages.
   */
  body?: Record<string, unknown>;
  /** A file of a multipart body. */
  upload?: { filename: string; bytes: Buffer };
  /** A file of a multipart body that was written to the disk during the upload; its reader may move it. */
  spooled?: { filename: string; path: string; sizeBytes: number };
  /** Called with each job that a generation of this operation created or resumed. The header `X-Job-Id` has the first id. */
  onJob?(jobId: string): void;
}
