import type { OperationOutcome } from './metering.types.js';

/** The end of an operation that no upstream answered and that cost nothing. */
export function zeroCostOutcome(
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

/** An outcome in the form of the SQL functions' `p_outcome`. A cost is a decimal text, because JSON parsers round large numbers. */
export function recordJson({ costNano, ...outcome }: OperationOutcome): Record<string, unknown> {
  return { ...outcome, costNano: costNano === null ? null : `${costNano}` };
}
