/** What a {@link PenstockError} says beside its message. */
export interface FaultDetails {
  /** The word of the error, such as `quota_exceeded`. `connection_lost` where the server could not be reached. */
  code: string;
  /** The HTTP status that the error has over REST; 0 where there was no answer. */
  status: number;
  /** The field that is at fault. */
  param?: string | undefined;
  /** Seconds after which the same call may succeed. */
  retryAfter?: number | undefined;
  /** What is left of the bucket or budget that is exhausted: a number, or USD as a string. */
  remaining?: number | string | undefined;
}

/** A refusal of the server, or the loss of the connection to it. */
export class PenstockError extends Error {
  readonly code: string;
  readonly status: number;
  readonly param: string | undefined;
  readonly retryAfter: number | undefined;
  readonly remaining: number | string | undefined;

  constructor(message: string, { code, status, param, retryAfter, remaining }: FaultDetails) {
    super(message);
    this.name = 'PenstockError';
    this.code = code;
    this.status = status;
    this.param = param;
    this.retryAfter = retryAfter;
    this.remaining = remaining;
  }

  /** Whether the same call may succeed later: the server is away, starts, stops, or asks to wait. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

interface GraphqlFault {
  message: string;
  extensions?: {
    code?: string;
    httpStatus?: number;
    param?: string;
    retryAfter?: number;
    remaining?: number | string;
  };
}

export const connectionLost = (message = 'The server cannot be reached'): PenstockError =>
  new PenstockError(message, { code: 'connection_lost', status: 0 });

/** The error that a list of GraphQL errors tells first. @param status of the response */
export function refusal(faults: readonly unknown[], status: number): PenstockError {
  const { message, extensions = {} } = faults[0] as GraphqlFault;
  const { code = 'server_error', httpStatus = status, ...details } = extensions;
  return new PenstockError(message, { ...details, code, status: httpStatus });
}

/** The codes with which the server closes a socket (docs/graphql.md). */
const CLOSED: Record<number, { code: string; status: number }> = {
  1013: { code: 'unavailable', status: 503 },
  4400: { code: 'invalid_request', status: 400 },
  4401: { code: 'unauthorized', status: 401 },
  4403: { code: 'unauthorized', status: 401 },
  4429: { code: 'rate_limited', status: 429 },
};

/** Any failure of a request or a socket as an error of ours. */
export function toFault(thrown: unknown): PenstockError {
  if (thrown instanceof PenstockError) return thrown;
  if (Array.isArray(thrown) && thrown.length > 0) return refusal(thrown, 0);
  if (typeof thrown !== 'object' || thrown === null || !('code' in thrown) || !('reason' in thrown))
    return connectionLost();
  const { code, reason } = thrown as { code: number; reason: string };
  const known = CLOSED[code];
  return known === undefined
    ? connectionLost(reason === '' ? undefined : reason)
    : new PenstockError(reason === '' ? 'The connection was refused' : reason, known);
}
