import type { OperationOutcome } from './metering.types.js';

/** The end of an operation that no upstream answered and that cost nothing. */
export function bareOutcome(
  status: OperationOutcome['status'],
  errorCode: string | null = null,
): OperationOutcome {
  return {
    status,
    errorCode,
    provider: null,
    answeredModel: null,
    upstreamId: null,
    firstTokenMs: null,
    tokens: null,
    costNano: 0n,
    costVersion: null,
  };
}
