import { CloseCode, MessageType, parseMessage, type Message, type SubscribePayload } from 'graphql-ws';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { RawData, WebSocket } from 'ws';
import type { Authenticator, Principal } from '../../src/access/access.types.js';
import { errorExtensions, graphqlParamOf } from '../../schema/index.js';
import { ApiError, toApiError } from '../../src/contract/errors.js';
import { checkJson, hasMoreMembers } from '../../src/http/index.js';
import type { ByteBudget, Holding } from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import { organizationOf } from '../../src/sign-in/index.js';
import type { StreamLimits } from '../../src/metering/index.js';
import type { ClientInfo } from '../../src/contract/words.js';
import { OPERATION_BYTES, runOperation } from './operation.js';
import { Outgoing } from './outgoing.js';
import type { Turn } from './outgoing.js';
import type { OperationEngine, OperationSink } from './operation.types.js';
import type { SharedResults } from './shared-results.js';

/** Close codes that are ours beside the protocol's (trust 2). */
export const STALLED = 4013;
/** The protocol's own code of that number says of a second init that there are too many. */
const TOO_MANY = 4429;
export const GOING_AWAY = 1001;

const INIT_TIMEOUT_MS = 3_000;
/** As of the headers that say the same. */
const MAX_CLIENT_LENGTH = 200;
const MAX_OPERATIONS = 1000;
/** More than any operation of a message's length has, and as many as are read in a few milliseconds. */
const MAX_MESSAGE_MEMBERS = 10_000;
/** Characters of an operation's id: it is kept as long as the operation, and stands in each of its messages. */
const MAX_ID_LENGTH = 255;
/** Answers to pings are not held back: more than this waiting means that the client asks and never reads. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

export interface ConnectionDependencies {
  engine: OperationEngine;
  shared: SharedResults;
  turn: Turn;
  streams: StreamLimits;
  budget: ByteBudget;
  authenticator: Authenticator;
  logger: Logger;
  newRequestId(): string;
  /** Stands around each operation while traces are exported: a span of its caller's trace, whose `traceparent` jobs keep. */
  traced?: OperationTracer;
  /** Counts a refused key against the client's address. False: it had tried too many already. */
  refused(): boolean;
  /** Called once its key is good. */
  keyShown(): void;
}

/** @param parent the caller's `traceparent`; `run` gets that of the operation's own span */
export type OperationTracer = (
  parent: string | undefined,
  run: (traceparent: string) => Promise<void>,
) => Promise<void>;

export interface ConnectionOrigin {
  authorization: string | undefined;
  /** A signed-in browser's, for where no key comes. */
  session: string | undefined;
  /** Of the upgrade; the init payload may name another, and an operation's `extensions` its own. */
  traceparent: string | undefined;
  client: ClientInfo;
}

interface Operation {
  abort: AbortController;
  resumable: boolean;
}

/** One WebSocket of the graphql-transport-ws protocol, from its upgrade to its close. */
export class Connection {
  readonly #operations = new Map<string, Operation>();
  readonly #initTimer: NodeJS.Timeout;
  #state: 'new' | 'initialising' | 'ready' | 'closed' = 'new';
  #authorization: string | undefined;
  #client: ClientInfo;
  #traceparent: string | undefined;
  #organization: string | undefined;
  #forgetKey: () => void = () => {};
  #leavePlace: () => void = () => {};
  #draining = false;
  #pingSince: number | null = null;
  readonly #outgoing: Outgoing;

  /** @param stream what `socket` writes to */
  constructor(
    private readonly socket: WebSocket,
    private readonly stream: Duplex,
    private readonly origin: ConnectionOrigin,
    private readonly dependencies: ConnectionDependencies,
  ) {
    this.#outgoing = new Outgoing(stream, dependencies.turn);
    this.#authorization = origin.authorization;
    this.#client = origin.client;
    this.#traceparent = origin.traceparent;
    this.#initTimer = setTimeout(() => {
      this.close(CloseCode.ConnectionInitialisationTimeout, 'Connection initialisation timeout');
    }, INIT_TIMEOUT_MS);
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => (this.#pingSince = null));
    socket.on('close', () => this.#end());
    // What breaks the protocol of WebSocket itself (1009, 1007 …) is answered by ws; the close event follows.
    socket.on('error', (error) => dependencies.logger.debug({ err: error }, 'a WebSocket failed'));
  }

  /** Ends the connection: its operations first, so that nothing is sent after the close frame. */
  close(code: number, reason: string): void {
    this.#end();
    this.#outgoing.flush();
    this.socket.close(code, reason);
  }

  /** Too many wait for their keys, this one longest: nor is its answer to the close awaited. */
  drop(): void {
    this.close(TOO_MANY, 'Too many connections without a key');
    this.stream.end(() => this.stream.destroy());
  }

  /** The process stops: what can be resumed ends now, the rest may finish. */
  drain(): void {
    this.#draining = true;
    this.#closeIfIdle();
  }

  /** Whether something is under way that cannot be resumed elsewhere. */
  get busy(): boolean {
    if (this.#state === 'closed') return false;
    for (const { resumable } of this.#operations.values()) if (!resumable) return true;
    return false;
  }

  /** Called every few seconds: finds readers that accept nothing, and peers that are gone. */
  check(now: number, stallTimeoutMs: number): void {
    if (this.#state === 'closed') return;
    const { waitingSince } = this.#outgoing;
    if (waitingSince !== null && now - waitingSince > stallTimeoutMs) return this.#stall();
    if (this.#pingSince !== null) {
      if (now - this.#pingSince > 2 * stallTimeoutMs) this.#stall();
      return;
    }
    this.#pingSince = now;
    this.socket.ping();
  }

  #receive(data: RawData, isBinary: boolean): void {
    if (this.#state === 'closed') return;
    if (isBinary) return this.close(CloseCode.BadRequest, 'Binary messages are not supported');
    const text = String(data);
    // Objects of ever new names take long to build.
    if (hasMoreMembers(Buffer.from(text), MAX_MESSAGE_MEMBERS))
      return this.close(CloseCode.BadRequest, 'Invalid message received');
    let message: Message;
    try {
      message = parseMessage(text);
    } catch {
      return this.close(CloseCode.BadRequest, 'Invalid message received');
    }
    if ('id' in message && message.id.length > MAX_ID_LENGTH)
      return this.close(CloseCode.BadRequest, `An id has at most ${MAX_ID_LENGTH} characters`);
    const fault = faultOf(message, text);
    if (fault === null) this.#handle(message, text.length);
    else this.#refuse(message, fault);
  }

  /** What HTTP answers with a 400 before it looks at a body's meaning ends one operation here, and the connection where it is none. */
  #refuse(message: Message, fault: ApiError): void {
    const isFresh =
      message.type === MessageType.Subscribe && this.#state === 'ready' && !this.#operations.has(message.id);
    if (!isFresh) return this.close(CloseCode.BadRequest, 'Invalid message received');
    const payload = [{ message: fault.message, extensions: errorExtensions(fault) }];
    this.#send(JSON.stringify({ id: message.id, type: MessageType.Error, payload }));
  }

  /** @param length of its text */
  #handle(message: Message, length: number): void {
    switch (message.type) {
      case MessageType.ConnectionInit:
        return void this.#initialise(message.payload ?? {});
      case MessageType.Subscribe:
        return void this.#subscribe(message.id, message.payload, length);
      case MessageType.Complete:
        return this.#cancel(message.id);
      case MessageType.Ping:
        if (this.#outgoing.bytes > MAX_BUFFERED_BYTES) return this.#stall();
        return this.#send(
          JSON.stringify({
            type: MessageType.Pong,
            ...(message.payload ? { payload: message.payload } : {}),
          }),
        );
      case MessageType.Pong:
        return;
      default:
        this.close(CloseCode.BadRequest, `Unexpected message of type ${message.type} received`);
    }
  }

  async #initialise(payload: Record<string, unknown>): Promise<void> {
    if (this.#state !== 'new') {
      return this.close(CloseCode.TooManyInitialisationRequests, 'Too many initialisation requests');
    }
    this.#state = 'initialising';
    clearTimeout(this.#initTimer);
    const told = (name: string) => textIn(payload, name) ?? textIn(headersIn(payload), name);
    this.#authorization = told('authorization') ?? this.#authorization;
    this.#traceparent = told('traceparent') ?? this.#traceparent;
    this.#organization = told('organization');
    this.#client = toldClient(this.#client, told);
    const principal = await this.#authenticate(CloseCode.Forbidden, 'Forbidden');
    if (!principal || this.#isClosed()) return;
    if (!this.#takePlace(principal)) return;
    const forget = this.dependencies.authenticator.onInvalidated(principal.keyId, () =>
      this.close(CloseCode.Unauthorized, 'Unauthorized'),
    );
    this.#forgetKey = forget;
    this.dependencies.keyShown();
    this.#state = 'ready';
    this.#send(JSON.stringify({ type: MessageType.ConnectionAck }));
  }

  /** False: the connection was closed. */
  #takePlace(principal: Principal): boolean {
    try {
      this.#leavePlace = this.dependencies.streams.hold(principal);
      return true;
    } catch (error) {
      this.close(TOO_MANY, (error as Error).message);
      return false;
    }
  }

  /** Null: the connection was closed with `code`, or the database is away (1013, try again later). */
  async #authenticate(code: number, reason: string): Promise<Principal | null> {
    const token = this.origin.session;
    const session = token === undefined ? undefined : { token, orgId: organizationOf(this.#organization) };
    try {
      return await this.dependencies.authenticator.authenticate(this.#authorization, session);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'unauthorized') {
        this.close(code, this.dependencies.refused() ? reason : 'Rate limit exceeded');
      } else if (error instanceof ApiError && error.status < 500) {
        this.close(code, error.message);
      } else {
        this.dependencies.logger.warn({ err: error }, 'a WebSocket could not be authenticated');
        this.close(1013, 'Try again later');
      }
      return null;
    }
  }

  async #subscribe(id: string, payload: SubscribePayload, length: number): Promise<void> {
    if (this.#state !== 'ready') return this.close(CloseCode.Unauthorized, 'Unauthorized');
    if (this.#operations.has(id)) {
      // A reason has at most 123 bytes, and an id may have more.
      const which = Buffer.byteLength(id) > 40 ? '' : ` for ${id}`;
      return this.close(CloseCode.SubscriberAlreadyExists, `Subscriber${which} already exists`);
    }
    if (this.#draining || this.#operations.size >= MAX_OPERATIONS) {
      const message = { id, type: MessageType.Error, payload: [tooMany(this.#draining)] };
      return this.#send(JSON.stringify(message));
    }
    const operation: Operation = { abort: new AbortController(), resumable: false };
    this.#operations.set(id, operation);
    // The key is looked at for each operation: its plan may have changed since the connection began.
    const principal = await this.#authenticate(CloseCode.Unauthorized, 'Unauthorized');
    if (!principal || this.#isClosed()) return;
    const sink = this.#sink(id, operation);
    const holding = this.#hold(principal, length, sink);
    if (holding === null) return;
    const { query, operationName, variables } = payload;
    const run = (traceparent?: string) =>
      runOperation({
        ...this.dependencies,
        call: this.#call(principal, operation.abort.signal, traceparent),
        request: { query, operationName, variables },
        sink,
        holding,
        onResumable: () => {
          operation.resumable = true;
          this.#closeIfIdle();
        },
      });
    const { traced } = this.dependencies;
    const parent = textIn(payload.extensions ?? {}, 'traceparent') ?? this.#traceparent;
    await (traced === undefined ? run() : traced(parent, run)).finally(() => holding.release());
    if (this.#operations.get(id) === operation) this.#operations.delete(id);
    this.#closeIfIdle();
  }

  /** What an operation of a message of this length holds. Null: more than its key may hold, and refused. */
  #hold(principal: Principal, length: number, sink: OperationSink): Holding | null {
    const holding = this.dependencies.budget.hold(principal);
    try {
      holding.grow(length + OPERATION_BYTES);
      return holding;
    } catch (error) {
      const fault = toApiError(error);
      sink.error([{ message: fault.message, extensions: { ...errorExtensions(fault) } }]);
      return null;
    }
  }

  #call(principal: Principal, signal: AbortSignal, traceparent: string | undefined): CallContext {
    const client = traceparent === undefined ? this.#client : { ...this.#client, traceparent };
    const requestId = this.dependencies.newRequestId();
    return { principal, requestId, client, signal, keyWindowOpen: true, rate: null, idempotencyKey: null };
  }

  #cancel(id: string): void {
    this.#operations.get(id)?.abort.abort();
    this.#operations.delete(id);
    this.#closeIfIdle();
  }

  #sink(id: string, operation: Operation): OperationSink {
    const head = Buffer.from(`{"id":${JSON.stringify(id)},"type":"next","payload":`);
    /** A client may use the id again as soon as it reads that the operation is over. */
    const finish = (message: object) => {
      if (this.#operations.get(id) !== operation) return;
      this.#operations.delete(id);
      this.#send(JSON.stringify({ id, ...message }));
    };
    return {
      // What its client has completed may still come to an end, and the id may be another operation's by then.
      next: (result) =>
        this.#operations.get(id) === operation ? this.#outgoing.push(head, result) : undefined,
      error: (errors) => finish({ type: MessageType.Error, payload: errors }),
      complete: () => finish({ type: MessageType.Complete }),
      stalled: () => this.#stall(),
    };
  }

  #send(message: string): void {
    if (!this.#isClosed()) void this.#outgoing.push(null, Buffer.from(message));
  }

  #stall(): void {
    this.close(STALLED, 'Stalled: resume with after');
  }

  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  #closeIfIdle(): void {
    if (!this.#draining || this.#state === 'closed' || this.busy) return;
    this.close(GOING_AWAY, 'Going away');
  }

  #end(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    clearTimeout(this.#initTimer);
    this.#forgetKey();
    this.#leavePlace();
    for (const { abort } of this.#operations.values()) abort.abort();
    this.#operations.clear();
  }
}

/** Strings that PostgreSQL cannot store, and JSON as deep as only an attacker's: null where there is none. */
function faultOf(message: Message, text: string): ApiError | null {
  try {
    // The operation stands one level down, in the message's payload.
    checkJson(message, text, ([, ...path]) => graphqlParamOf(path));
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** A text by its name in any case (decisions 5). */
function textIn(payload: Record<string, unknown>, wanted: string): string | undefined {
  for (const [name, value] of Object.entries(payload)) {
    if (name.toLowerCase() === wanted && typeof value === 'string') return value;
  }
  return undefined;
}

/** The `headers` that some clients put into the payload, as a browser cannot send any with the upgrade. */
function headersIn(payload: Record<string, unknown>): Record<string, unknown> {
  const [, headers] = Object.entries(payload).find(([name]) => name.toLowerCase() === 'headers') ?? [];
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, unknown>) : {};
}

/** Contract 5.7, for those who could not say it at the upgrade. */
function toldClient(client: ClientInfo, told: (name: string) => string | undefined): ClientInfo {
  const cut = (name: string) => told(name)?.slice(0, MAX_CLIENT_LENGTH);
  return {
    ...client,
    serviceClient: cut('x-service-client') ?? client.serviceClient,
    clientName: cut('x-client-name') ?? client.clientName,
  };
}

function tooMany(draining: boolean) {
  return draining
    ? {
        message: 'The server is stopping',
        extensions: { code: 'unavailable', httpStatus: 503, retryAfter: 1 },
      }
    : {
        message: 'Too many operations on this connection',
        extensions: { code: 'invalid_request', httpStatus: 400 },
      };
}
