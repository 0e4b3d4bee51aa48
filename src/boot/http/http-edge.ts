import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { Authenticator, Principal } from '../../access/access.types.js';
import { ApiError } from '../../contract/errors.js';
import type { TimeSlicer } from '../../collections/time-slicer.js';
import { abortSignalOf } from '../../collections/light-abort-signal.js';
import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import { RequestBody, setCommonHeaders } from '../../http/index.js';
import type { ByteBudget, HttpEdge } from '../../http/index.js';
import type { IdempotencyService } from '../../idempotency/index.js';
import { newId } from '../../contract/ids.js';
import type { CallContext } from '../../metering/call-context.js';
import type { RateState } from '../../metering/metering.types.js';
import { currentTraceparent } from '../../telemetry/index.js';
import type { BrowserSessions } from '../../sign-in/index.js';
import type { ClientInfo } from '../../contract/words.js';
import { withAccessToken } from './access-token.js';
import type { AddressLimit } from './address-limit.js';
import type { ClientAddress } from './client-address.js';
import { observed } from './observed-request.js';
import { createStreamGuard } from './open-streams.js';

const MAX_CLIENT_LENGTH = 200;
/** A caller's own request id is used if it is short and has only these characters. */
const REQUEST_ID = /^[A-Za-z0-9][A-Za-z0-9._:+/=@-]{0,127}$/;
/** A request id is logged, so one that contains a secret is not used. */
const SECRET = /(sk|whsec|ct)_[0-9a-f]{8}/i;

export interface HttpEdgeDependencies {
  authenticator: Authenticator;
  sessions: Pick<BrowserSessions, 'read'>;
  addressLimit: AddressLimit;
  clientAddress: ClientAddress;
  idempotency: IdempotencyService;
  budget: ByteBudget;
  timeSlicer: TimeSlicer;
  logger: Logger;
  rateOf(error: unknown): RateState | null;
  currentRate(call: CallContext): Promise<RateState>;
  takeSlot(call: CallContext): Promise<void>;
  returnSlot(call: CallContext): Promise<void>;
}

/** What both HTTP faces do first: request id, key, address window (decisions 1). */
export function createHttpEdge(dependencies: HttpEdgeDependencies): HttpEdge {
  const refusedRates = new WeakMap<object, RateState>();
  const guardStream = createStreamGuard(dependencies.authenticator);
  const { clientAddress } = dependencies;
  /** Counts a refused key against the client's address, and attaches the address's window to the error. */
  const refusalOf = (request: IncomingMessage, error: unknown): unknown => {
    if (!(error instanceof ApiError) || error.code !== 'unauthorized') return error;
    const refused = countRefusal(dependencies, request, error);
    refusedRates.set(refused.refusal, refused.rate);
    return refused.refusal;
  };
  return {
    open(request, response, { from = 'keys', isEventStream = false } = {}) {
      const opened = (principal: Principal): HttpCall => {
        const own = observed(request);
        const call = new HttpCall(principal, own.requestId, { request, response, clientAddress });
        guardStream(principal, response);
        own.call = call;
        return call;
      };
      const refuse = (error: unknown): never => {
        throw refusalOf(request, error);
      };
      try {
        const sent = typeof from === 'function' ? from(request) : authorizationOf(request);
        const authorization = isEventStream ? withAccessToken(request, sent) : sent;
        const session =
          from === 'sessions' && authorization === undefined && request.headers.cookie !== undefined
            ? dependencies.sessions.read(request)
            : undefined;
        const principal = dependencies.authenticator.recognize(authorization, session);
        return principal instanceof Promise ? principal.then(opened, refuse) : opened(principal);
      } catch (error) {
        return refuse(error);
      }
    },
    body(request, { principal }, rules) {
      const { budget, timeSlicer } = dependencies;
      timeSlicer.begin(principal.orgId);
      return new RequestBody(request, principal, { budget, timeSlicer, rules });
    },
    requestId: (request) => observed(request).requestId,
    addCommonHeaders,
    rateOf: (error) => refusedRates.get(error as object) ?? dependencies.rateOf(error),
    addressRate: (request) => dependencies.addressLimit.state(clientAddress(request)),
    currentRate: dependencies.currentRate,
    takeSlot: dependencies.takeSlot,
    returnSlot: dependencies.returnSlot,
    onFault(fault, requestId) {
      dependencies.logger.error({ err: fault, requestId }, 'a request failed');
    },
    idempotency: dependencies.idempotency,
    timeSlicer: dependencies.timeSlicer,
  };
}

function countRefusal(
  { addressLimit, clientAddress }: HttpEdgeDependencies,
  request: IncomingMessage,
  error: ApiError,
): { refusal: ApiError; rate: RateState } {
  const { admitted, rate, retryAfter } = addressLimit.take(clientAddress(request));
  // The authenticator may throw one error object to many callers; each caller gets a copy with its own window.
  const refusal = admitted
    ? new ApiError(error.code, error.message, error.details)
    : new ApiError('rate_limited', 'Rate limit exceeded', { retryAfter });
  return { refusal, rate };
}

/** The caller's own request id if it is valid, else a new one. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) && !SECRET.test(given) ? given : newId('req');
}

/** @see HttpEdge.addCommonHeaders */
export const addCommonHeaders = (response: ServerResponse): void =>
  setCommonHeaders(response, observed(response.req).requestId);

/** Node keeps only the first of several Authorization headers; two different headers must be refused. */
function authorizationOf(request: IncomingMessage): string | string[] | undefined {
  const raw = request.rawHeaders;
  let found = 0;
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i]!.length === 13 && raw[i]!.toLowerCase() === 'authorization') found++;
  }
  const value = request.headers.authorization;
  return found > 1 ? [value ?? '', ''] : value;
}

function cut(value: string | string[] | undefined): string | null {
  if (value === undefined) return null;
  return (Array.isArray(value) ? value.join(', ') : value).slice(0, MAX_CLIENT_LENGTH);
}

/** Contract 5.7, for usage records only. */
export function clientOf(request: IncomingMessage): ClientInfo {
  const { headers } = request;
  return {
    serviceClient: cut(headers['x-service-client']),
    clientName: cut(headers['x-client-name']),
    userAgent: cut(headers['user-agent']),
  };
}

/** Several headers are one list. */
export function tagsHeaderOf({ headers }: IncomingMessage): string | undefined {
  const given = headers['x-tags'];
  return Array.isArray(given) ? given.join(',') : given;
}

/** Jobs keep the trace that made them. */
function tracedClientOf(request: IncomingMessage): ClientInfo {
  const traceparent = currentTraceparent();
  return traceparent === null ? clientOf(request) : { ...clientOf(request), traceparent };
}

/** A call over HTTP. Its AbortSignal is made only on demand, because most calls end without one. */
class HttpCall implements CallContext {
  readonly client: ClientInfo;
  readonly tagsHeader: string | undefined;
  keyWindowOpen = true;
  rate: RateState | null = null;
  idempotencyKey: string | null = null;
  gone: LightAbortSignal;
  private whole: AbortSignal | null = null;

  constructor(
    readonly principal: CallContext['principal'],
    readonly requestId: string,
    private readonly http: {
      request: IncomingMessage;
      response: ServerResponse;
      clientAddress: ClientAddress;
    },
  ) {
    const { request, response } = http;
    this.client = tracedClientOf(request);
    this.tagsHeader = tagsHeaderOf(request);
    this.gone = new ResponseGone(response);
  }

  address(): string {
    return this.http.clientAddress(this.http.request);
  }

  get signal(): AbortSignal {
    return (this.whole ??= abortSignalOf(this.gone));
  }

  set signal(signal: AbortSignal) {
    this.whole = this.gone = signal;
  }
}

/** Fires when its response closes before its end. */
class ResponseGone implements LightAbortSignal {
  private listeners: (() => void)[] | null = null;

  constructor(private readonly response: ServerResponse) {}

  get aborted(): boolean {
    return this.response.destroyed && !this.response.writableFinished;
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.listeners === null) {
      this.listeners = [];
      this.response.on('close', () => this.closed());
    }
    this.listeners.push(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    const at = this.listeners?.indexOf(listener) ?? -1;
    if (at !== -1) this.listeners?.splice(at, 1);
  }

  private closed(): void {
    if (!this.response.writableFinished) for (const listener of this.listeners?.splice(0) ?? []) listener();
  }
}
