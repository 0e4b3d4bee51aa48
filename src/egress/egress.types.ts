import type { Readable } from 'node:stream';

export interface OutboundRequest {
  method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Redirects to follow, each target checked as the first was; default 0. Only for GET and HEAD. */
  maxRedirects?: number;
  /** Refuse plain http, also in redirects. */
  httpsOnly?: boolean;
  /** Bytes of the body to read, without the encoding that a server puts on it unasked; the limit holds while reading, whatever `content-length` says. */
  maxBytes: number;
  /** What a longer or slower body means: a fault, or an answer whose body is cut (`truncated: true`). Default `fault`. */
  onLimit?: 'fault' | 'cut';
  /** Until the status line and headers; default 10,000. */
  headersTimeoutMs?: number;
  /** For the whole exchange, redirects and body included; default 30,000. */
  totalTimeoutMs?: number;
  /** For the body alone, from its headers; default: what is left of the total. */
  bodyTimeoutMs?: number;
  signal?: AbortSignal;
}

export interface OutboundAnswer {
  status: number;
  /** Lower-case names; repeated ones joined by `, `. `content-encoding` stands there only where it could not be taken off the body. */
  headers: Record<string, string>;
  body: Buffer;
  /** True where the body was longer or slower than the limits (`onLimit: 'cut'`). */
  truncated: boolean;
  /** The address that answered, after redirects. */
  url: string;
}

/** Why an exchange with the outside failed. */
export type EgressFault = 'forbidden' | 'too_large' | 'timeout' | 'connect' | 'redirect' | 'aborted';

/** A failed exchange; `fault` says why, the message never holds more than the kind and the network's own word. */
export class EgressError extends Error {
  constructor(
    readonly fault: EgressFault,
    message: string,
    cause?: unknown,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'EgressError';
  }
}

/** The one way to addresses that callers name (trust 2). The operator's own addresses use {@link createOperatorAgent}. */
export interface Egress {
  /**
   * Refuses forbidden forms and literal addresses before any connection (trust 2).
   * @throws ApiError invalid_request `Invalid URL` with `param` where a field is given
   */
  checkUrl(value: string, options?: { httpsOnly?: boolean; field?: string }): URL;
  /** @throws EgressError */
  request(url: string, options: OutboundRequest): Promise<OutboundAnswer>;
  /** As `request`, with the body still to be read (no size limit; destroy it when done). @throws EgressError */
  open(url: string, options: Omit<OutboundRequest, 'maxBytes' | 'onLimit'>): Promise<OutboundStream>;
  close(): Promise<void>;
}

export interface OutboundStream {
  status: number;
  headers: Record<string, string>;
  body: Readable;
  url: string;
}
