/** The properties of a {@link PenstockError} besides its message. */
export interface FaultDetails {
  /** The code of the error, such as `quota_exceeded`. It is `connection_lost` if the server could not be reached. */
  code: string;
  /** The HTTP status that the error has over REST; 0 if there was no answer. */
  status: number;
  /** The field that is at fault. */
  param?: string | undefined;
  /** Seconds after which the same call may succeed. */
  retryAfter?: number | undefined;
  /** How much is left of the exhausted bucket or budget: a number, or USD as a string. */
  remaining?: number | string | undefined;
}

const AWAY: ReadonlySet<number> = new Set([0, 502, 503, 504]);

/** The server refused a call, or the connection to it was lost. */
export class PenstockError extends Error {
  /** The code of the error, such as `quota_exceeded`: `extensions.code` of GraphQL. It is `connection_lost` if the server could not be reached. */
  readonly code: string;
  /** The HTTP status that the error has over REST; 0 if there was no answer. */
  readonly status: number;
  /** The field that is at fault, in GraphQL's spelling. */
  readonly param: string | undefined;
  /** Seconds after which the same call may succeed. */
  readonly retryAfter: number | undefined;
  /** How much is left of the exhausted bucket or budget: a number, or USD as a string. */
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

  /** Whether the same call may succeed later: the server is away, is starting or stopping, or asks the client to wait. */
  get isTemporary(): boolean {
    return this.status === 429 || this.isAway || this.isInFlight;
  }

  /** Whether an earlier attempt of the same call, with the same idempotency key, is still running. */
  get isInFlight(): boolean {
    return this.status === 409 && this.retryAfter !== undefined;
  }

  /** Whether the server, or a proxy in front of it, is away, starting or stopping. */
  get isAway(): boolean {
    return AWAY.has(this.status);
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

/** Converts a list of GraphQL errors to one error, which describes the first of them. @param status of the response */
export function refusal(faults: readonly unknown[], status: number): PenstockError {
  const { message, extensions = {} } = faults[0] as GraphqlFault;
  const { code = 'server_error', httpStatus = status, ...details } = extensions;
  return new PenstockError(message, { ...details, code, status: httpStatus });
}

/** Converts a response that is not a GraphQL result to an error. @param answer its JSON, or null */
export function httpFault(answer: unknown, response: Response): PenstockError {
  const { error, code, param, retryAfter } = (answer ?? {}) as Record<string, unknown>;
  const message = typeof error === 'string' ? error : `The server answered ${response.status}`;
  const seconds = Number(retryAfter ?? response.headers.get('retry-after') ?? Number.NaN);
  return new PenstockError(message, {
    code: typeof code === 'string' ? code : 'server_error',
    status: response.status === 200 ? 500 : response.status,
    ...(typeof param === 'string' ? { param } : {}),
    ...(Number.isNaN(seconds) ? {} : { retryAfter: seconds }),
  });
}

/** The codes with which the server closes a WebSocket (docs/graphql.md). */
const CLOSED: Record<number, { code: string; status: number }> = {
  1013: { code: 'unavailable', status: 503 },
  4400: { code: 'invalid_request', status: 400 },
  4401: { code: 'unauthorized', status: 401 },
  4403: { code: 'unauthorized', status: 401 },
  4429: { code: 'rate_limited', status: 429 },
};

/** Converts any failure of a request or a socket to a PenstockError. */
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
