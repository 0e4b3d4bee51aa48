import { execute, type ExecutionArgs, type ExecutionResult, type GraphQLError } from 'graphql';
import type { FormattedExecutionResult, GraphQLFormattedError } from 'graphql';
import { CloseCode, MessageType, parseMessage, type Message, type Server } from 'graphql-ws';
import type { SubscribePayload, WebSocket as ProtocolSocket } from 'graphql-ws';
import type { Duplex } from 'node:stream';
import type { Logger } from 'pino';
import type { RawData, WebSocket } from 'ws';
import type { Authenticator, Principal } from '../../src/access/access.types.js';
import { documentNameIn, graphqlParamOf } from '../../schema/index.js';
import { timeSlicer } from '../../src/collections/time-slicer.js';
import { ApiError } from '../../src/contract/errors.js';
import { isLongJson } from '../../src/text/json-pieces.js';
import { writeLongJson } from '../../src/text/write-json.js';
import { checkJson, hasMoreMembers } from '../../src/http/index.js';
import type { ByteBudget } from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import { organizationOf } from '../../src/sign-in/index.js';
import type { StreamLimits } from '../../src/metering/index.js';
import type { ClientInfo } from '../../src/contract/words.js';
import {
  asGraphqlError,
  isErrors,
  isSubscription,
  OPERATION_BYTES,
  openSubscription,
  prepareOperation,
  presented,
  type Subscription,
} from './operation.js';
import { Outgoing } from './outgoing.js';
import type { Turn } from './outgoing.js';
import {
  Events,
  LEFT,
  newOperation,
  orEnd,
  type Operation,
  type OperationArgs,
} from './connection-operation.js';
import type { OperationEngine } from './operation.types.js';
import { StalledSubscriberError } from '../stalled-subscriber.js';
import type { SharedResults } from './shared-results.js';

/** Our close codes besides the protocol's (trust 2). */
export const STALLED = 4013;
/** The protocol uses the same code for a second `connection_init`. */
const TOO_MANY = 4429;
export const GOING_AWAY = 1001;

/** The same limit as for the equivalent headers. */
const MAX_CLIENT_LENGTH = 200;
const MAX_OPERATIONS = 1000;
/** RFC 6455, 5.5: the maximum of bytes in a control frame after its code. */
const MAX_REASON_BYTES = 123;
/** More than any valid operation has, and few enough to be parsed in a few milliseconds. */
const MAX_MESSAGE_MEMBERS = 10_000;
/** Maximum length of an operation's id, which is kept as long as the operation and is in each of its messages. */
const MAX_ID_LENGTH = 255;
/** Answers to pings are sent without waiting. If more than this is buffered, the client sends pings and never reads. */
const MAX_BUFFERED_BYTES = 1024 * 1024;

/** Types of client messages. graphql-ws treats other types as a server error. */
const CLIENT_MESSAGES: ReadonlySet<MessageType> = new Set([
  MessageType.ConnectionInit,
  MessageType.Ping,
  MessageType.Pong,
  MessageType.Subscribe,
  MessageType.Complete,
]);

/** The size of the slices in which long answers are written. */

/** The beginning of a result's message. */
const headOf = ({ id }: Operation): Buffer =>
  Buffer.from(`{"id":${JSON.stringify(id)},"type":"${MessageType.Next}","payload":`);

export interface ConnectionDependencies {
  /** graphql-ws, which speaks the protocol. */
  protocol: Server<Connection>;
  engine: OperationEngine;
  shared: SharedResults;
  turn: Turn;
  streams: StreamLimits;
  budget: ByteBudget;
  authenticator: Authenticator;
  logger: Logger;
  newRequestId(): string;
  /** Wraps each operation while traces are exported: a span of its caller's trace, whose `traceparent` jobs store. */
  traced?: OperationTracer;
  /** Counts a refused key against the client's address. False if the address has sent too many already. */
  refused(): boolean;
  /** Called when its key was accepted. */
  keyShown(): void;
}

/** @param parent the caller's `traceparent`; `run` gets that of the operation's own span */
export type OperationTracer = (
  parent: string | undefined,
  run: (traceparent: string) => Promise<void>,
) => Promise<void>;

export interface ConnectionOrigin {
  authorization: string | undefined;
  /** A signed-in browser's session, used if no key is sent. */
  session: string | undefined;
  /** From the upgrade request; the init payload may have another, and an operation's `extensions` its own. */
  traceparent: string | undefined;
  client: ClientInfo;
  /** The client's address, according to TRUST_PROXY. */
  address: string;
  tagsHeader: string | undefined;
}

/**
 * One WebSocket of the graphql-transport-ws protocol, from its upgrade to its close: the socket of graphql-ws, and its hooks (protocol.ts). After
 * the close, further messages of graphql-ws are dropped.
 */
export class Connection implements ProtocolSocket {
  readonly #operations = new Map<string, Operation>();
  #state: 'new' | 'ready' | 'closed' = 'new';
  #authorization: string | undefined;
  #client: ClientInfo;
  #tagsHeader: string | undefined;
  #traceparent: string | undefined;
  #organization: string | undefined;
  #forgetKey: () => void = () => {};
  #leavePlace: () => void = () => {};
  #draining = false;
  #pingSince: number | null = null;
  readonly #outgoing: Outgoing;
  #handle: (message: string) => Promise<void> = () => Promise.resolve();
  /** The state of the message that graphql-ws handles now. */
  #arriving: Operation | null = null;

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
    this.#tagsHeader = origin.tagsHeader;
    this.#traceparent = origin.traceparent;
    const closed = dependencies.protocol.opened(this, this);
    socket.on('message', (data, isBinary) => this.#receive(data, isBinary));
    socket.on('pong', () => (this.#pingSince = null));
    socket.on('close', (code, reason) => {
      this.#end();
      closed(code, String(reason)).catch((error: unknown) => this.#fail(error));
    });
    // ws itself answers violations of the WebSocket protocol (1009, 1007 …); the close event follows.
    socket.on('error', (error) => dependencies.logger.debug({ err: error }, 'a WebSocket failed'));
  }

  get protocol(): string {
    return this.socket.protocol;
  }

  onMessage(handle: (message: string) => Promise<void>): void {
    this.#handle = handle;
  }

  /** Sends a message of graphql-ws. */
  send(message: string): void {
    if (!this.#isClosed()) void this.#outgoing.push(null, Buffer.from(message));
  }

  /** Ends the connection: its operations first, so that nothing is sent after the close frame. */
  close(code = 1000, reason = ''): void {
    if (this.#isClosed()) return;
    this.#end();
    this.#outgoing.flush();
    // The reason may contain an operation's id, and is limited to 123 bytes.
    this.socket.close(code, Buffer.byteLength(reason) > MAX_REASON_BYTES ? '' : reason);
  }

  /** Closed as the oldest of too many connections without a key; its close frame is not awaited. */
  drop(): void {
    this.close(TOO_MANY, 'Too many connections without a key');
    this.stream.end(() => this.stream.destroy());
  }

  /** Ends resumable subscriptions, because the process stops; the rest may finish. */
  drain(): void {
    this.#draining = true;
    this.#closeIfIdle();
  }

  /** Whether an operation is running that cannot be resumed at another process. */
  get busy(): boolean {
    if (this.#state === 'closed') return false;
    for (const { resumable } of this.#operations.values()) if (!resumable) return true;
    return false;
  }

  /** Called every few seconds: finds clients that read nothing, and dead connections. */
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
    // Objects with many different names take long to parse.
    if (hasMoreMembers(Buffer.from(text), MAX_MESSAGE_MEMBERS))
      return this.close(CloseCode.BadRequest, 'Invalid message received');
    let message: Message;
    try {
      message = parseMessage(text);
    } catch {
      return this.close(CloseCode.BadRequest, 'Invalid message received');
    }
    if (!CLIENT_MESSAGES.has(message.type))
      return this.close(CloseCode.BadRequest, `Unexpected message of type ${message.type} received`);
    if ('id' in message && message.id.length > MAX_ID_LENGTH)
      return this.close(CloseCode.BadRequest, `An id has at most ${MAX_ID_LENGTH} characters`);
    const fault = faultOf(message, text);
    if (message.type === MessageType.Subscribe) {
      const operation = newOperation({ id: message.id, fault, length: text.length });
      void this.#run(message, operation).catch((error: unknown) => this.#fail(error));
    } else if (fault !== null) this.close(CloseCode.BadRequest, 'Invalid message received');
    else this.#pass(message).catch((error: unknown) => this.#fail(error));
    if (message.type === MessageType.Complete) this.#cancel(message.id);
  }

  /** graphql-ws accepts an already parsed message, although its types do not say so. */
  #pass(message: Message): Promise<void> {
    return this.#handle(message as unknown as string);
  }

  /** Handles a `subscribe` message. graphql-ws calls its `subscribe` hook synchronously. */
  async #run(message: Message & { type: MessageType.Subscribe }, operation: Operation): Promise<void> {
    const { id, payload } = message;
    const pass = async (traceparent?: string): Promise<void> => {
      operation.traceparent = traceparent;
      this.#arriving = operation;
      await this.#pass(message).finally(() => this.#finished(id, operation));
    };
    const { traced } = this.dependencies;
    const parent = textIn(payload.extensions ?? {}, 'traceparent') ?? this.#traceparent;
    await (traced === undefined ? pass() : traced(parent, pass));
  }

  #finished(id: string, operation: Operation): void {
    if (this.#operations.get(id) === operation) this.#operations.delete(id);
    const release = (): void => operation.byteReservation?.release();
    operation.work.then(release, release);
    this.#closeIfIdle();
  }

  /** Answers a ping, unless the client never reads. */
  pinged(): void {
    if (this.#outgoing.bytes > MAX_BUFFERED_BYTES) this.#stall();
  }

  /** The client's init. False: it is refused, and the connection was closed. */
  async initialise(payload: Record<string, unknown>): Promise<boolean> {
    const told = (name: string) => textIn(payload, name) ?? textIn(headersIn(payload), name);
    this.#authorization = told('authorization') ?? this.#authorization;
    this.#traceparent = told('traceparent') ?? this.#traceparent;
    this.#organization = told('organization');
    this.#client = toldClient(this.#client, told);
    this.#tagsHeader = told('x-tags') ?? this.#tagsHeader;
    const principal = await this.#authenticate(CloseCode.Forbidden, 'Forbidden');
    if (!principal || this.#isClosed() || !this.#takePlace(principal)) return false;
    this.#forgetKey = this.dependencies.authenticator.onInvalidated(principal, () =>
      this.close(CloseCode.Unauthorized, 'Unauthorized'),
    );
    this.dependencies.keyShown();
    this.#state = 'ready';
    return true;
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

  /** What graphql-ws runs for a `subscribe`, or why it cannot run. */
  async subscribe(id: string, payload: SubscribePayload): Promise<OperationArgs | readonly GraphQLError[]> {
    const operation = this.#arriving;
    if (operation === null) throw new Error('a subscribe came without its message');
    this.#arriving = null;
    const refusal = operation.fault ?? this.#refusal();
    if (refusal !== null) return [asGraphqlError(refusal)];
    this.#operations.set(id, operation);
    const prepared = this.#prepare(payload, operation).catch((error: unknown) => [asGraphqlError(error)]);
    operation.work = prepared;
    return await orEnd(operation, prepared, LEFT);
  }

  #refusal(): ApiError | null {
    if (this.#draining) return new ApiError('unavailable', 'The server is stopping', { retryAfter: 1 });
    return this.#operations.size >= MAX_OPERATIONS
      ? new ApiError('invalid_request', 'Too many operations on this connection')
      : null;
  }

  async #prepare(
    payload: SubscribePayload,
    operation: Operation,
  ): Promise<OperationArgs | readonly GraphQLError[]> {
    // The key is checked for each operation: its plan may have changed since the connection began.
    const principal = await this.#authenticate(CloseCode.Unauthorized, 'Unauthorized');
    if (!principal || operation.abort.signal.aborted) return LEFT;
    const { engine, shared, budget } = this.dependencies;
    engine.timeSlicer.begin(principal.orgId);
    const byteReservation = (operation.byteReservation = budget.hold(principal));
    byteReservation.grow(operation.length + OPERATION_BYTES);
    const { query, operationName, variables } = payload;
    const name = documentNameIn({ ...payload });
    const request = await engine.resolve({ query, name, operationName, variables }, principal);
    const prepared = {
      engine,
      shared,
      byteReservation,
      call: this.#call(principal, operation),
      request,
      onResumable: () => {
        operation.resumable = true;
        this.#closeIfIdle();
      },
    };
    const args = await prepareOperation(prepared);
    if (isErrors(args)) return args;
    if (!isSubscription(args)) return { ...args, run: () => this.#answer(args, operation) };
    const subscription = await openSubscription(prepared, args);
    if (isErrors(subscription)) return subscription;
    return { ...args, run: () => new Events(() => this.#deliver(subscription, operation), operation) };
  }

  /**
   * Sends the `next` messages of a subscription. graphql-ws would serialise each result again for each subscriber, without backpressure (ADR 6).
   * Here all subscribers share the bytes, and each is sent them as fast as it reads.
   */
  #deliver(subscription: Subscription, operation: Operation): Promise<void> {
    const head = headOf(operation);
    const { signal } = operation.abort;
    // An operation that its client has completed may still end.
    const delivered = subscription.deliver((result) =>
      signal.aborted ? undefined : this.#outgoing.push(head, result),
    );
    operation.work = delivered;
    return orEnd(operation, delivered, undefined);
  }

  /** Sends the answer of a query or a mutation. graphql-ws would write a long answer in one piece. */
  async #answer(args: ExecutionArgs, operation: Operation): Promise<ExecutionResult | Events> {
    const result = await this.#execute(args, operation);
    if (!isLongJson(result)) return result;
    return new Events(async () => {
      const written = await writeLongJson(this.presentResult(result), timeSlicer);
      if (operation.abort.signal.aborted || this.#isClosed()) return;
      await this.#outgoing.push(headOf(operation), written);
    }, operation);
  }

  /** A query or a mutation. */
  #execute(args: ExecutionArgs, operation: Operation): Promise<ExecutionResult> {
    const executed = Promise.resolve(execute(args));
    operation.work = executed;
    return orEnd(operation, executed, {});
  }

  /** Errors as callers see them. */
  present(errors: readonly GraphQLError[]): GraphQLFormattedError[] {
    if (errors.some(({ originalError }) => originalError instanceof StalledSubscriberError)) this.#stall();
    // An error of a stream is wrapped, without a path in the document.
    const isWrapped = ({ path, originalError }: GraphQLError) => path === undefined && originalError != null;
    return errors.map((error) =>
      this.dependencies.engine.present(isWrapped(error) ? asGraphqlError(error.originalError) : error),
    );
  }

  presentResult(result: ExecutionResult): FormattedExecutionResult {
    return presented(this.dependencies.engine, result);
  }

  #call(principal: Principal, { abort: { signal }, traceparent }: Operation): CallContext {
    const client = traceparent === undefined ? this.#client : { ...this.#client, traceparent };
    const requestId = this.dependencies.newRequestId();
    const tagsHeader = this.#tagsHeader;
    return {
      ...{ principal, requestId, client, tagsHeader, signal },
      ...{ keyWindowOpen: true, rate: null, idempotencyKey: null },
      address: () => this.origin.address,
    };
  }

  /** Called after graphql-ws knows of the end. */
  #cancel(id: string): void {
    this.#operations.get(id)?.abort.abort();
    this.#operations.delete(id);
    this.#closeIfIdle();
  }

  /** An unexpected error ends this connection only. */
  #fail(error: unknown): void {
    this.dependencies.logger.error({ err: error }, 'a message of a WebSocket could not be handled');
    this.close(CloseCode.InternalServerError, 'Internal server error');
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
    this.#forgetKey();
    this.#leavePlace();
    for (const { abort } of this.#operations.values()) abort.abort();
    this.#operations.clear();
  }
}

/** The error for strings that PostgreSQL cannot store, or for JSON that is nested too deeply; null if there is none. */
function faultOf(message: Message, text: string): ApiError | null {
  try {
    // The operation is one level deeper, in the message's payload.
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

/** The `headers` that some clients put into the payload, because a browser cannot send headers with the upgrade. */
function headersIn(payload: Record<string, unknown>): Record<string, unknown> {
  const [, headers] = Object.entries(payload).find(([name]) => name.toLowerCase() === 'headers') ?? [];
  return typeof headers === 'object' && headers !== null ? (headers as Record<string, unknown>) : {};
}

/** Contract 5.7, for clients that cannot send headers with the upgrade. */
function toldClient(client: ClientInfo, told: (name: string) => string | undefined): ClientInfo {
  const cut = (name: string) => told(name)?.slice(0, MAX_CLIENT_LENGTH);
  return {
    ...client,
    serviceClient: cut('x-service-client') ?? client.serviceClient,
    clientName: cut('x-client-name') ?? client.clientName,
  };
}
