import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { GraphQLFormattedError } from 'graphql';
import type { Principal } from '../../src/access/access.types.js';
import { ApiError, invalid } from '../../src/contract/errors.js';
import type { OperationSink } from './operation.types.js';
import { eventOf, room, SSE_HEADERS } from './sse-events.js';

/** A client opens its stream at once. A reservation that is not used is forgotten after this time. */
const RESERVED_MS = 30_000;
const PING_INTERVAL_MS = 15_000;
/** The same limits as for the operations of a WebSocket. */
const MAX_OPERATIONS = 1000;
const MAX_ID_LENGTH = 255;

interface RunningOperation {
  abort: AbortController;
  resumable: boolean;
}

/** An operation of a connection. */
export interface ConnectionSlot {
  /** Fires when the client stops the operation, or leaves. */
  signal: AbortSignal;
  sink: OperationSink;
  /** The operation can be resumed at another process. */
  onResumable(): void;
  /** Forgets the operation when it is over. */
  end(): void;
}

/** One event stream for the results of many operations, which are sent in requests of their own: graphql-sse's single connection mode. */
export class SseConnection {
  readonly token = randomBytes(16).toString('hex');
  #response: ServerResponse | null = null;
  #ping: NodeJS.Timeout | undefined;
  readonly #unused: NodeJS.Timeout;
  readonly #operations = new Map<string, RunningOperation>();
  readonly #stop = (): void => this.#closeIfIdle();

  /** @param whenOver called once, when the stream has ended or was never opened */
  constructor(
    readonly owner: string,
    private readonly draining: AbortSignal,
    private readonly whenOver: () => void,
  ) {
    this.#unused = setTimeout(whenOver, RESERVED_MS).unref();
  }

  /** Sends the results of all operations to this response, until it closes. @throws ApiError conflict if there is a stream already */
  open(response: ServerResponse): void {
    if (this.#response !== null) throw new ApiError('conflict', 'The event stream is already open');
    clearTimeout(this.#unused);
    this.#response = response;
    response.on('close', () => this.#end());
    this.#ping = setInterval(() => {
      if (!response.writableNeedDrain) response.write(':\n\n');
    }, PING_INTERVAL_MS);
    response.writeHead(200, SSE_HEADERS);
    response.write(':\n\n');
    this.draining.addEventListener('abort', this.#stop, { once: true });
    this.#closeIfIdle();
  }

  /** Takes in an operation. @throws ApiError if it has no id, or one that is in use, or if the stream is not open */
  add(id: unknown): ConnectionSlot {
    if (typeof id !== 'string' || id === '' || id.length > MAX_ID_LENGTH)
      throw invalid(`operationId must have 1 to ${MAX_ID_LENGTH} characters`, 'extensions');
    const response = this.#response;
    if (response === null) throw new ApiError('conflict', 'The event stream is not open');
    if (this.#operations.has(id)) throw new ApiError('conflict', 'An operation has this id');
    if (this.#operations.size >= MAX_OPERATIONS) throw invalid('Too many operations on this connection');
    const operation = { abort: new AbortController(), resumable: false };
    this.#operations.set(id, operation);
    const { signal } = operation.abort;
    return {
      signal,
      sink: sinkOf(response, { id, signal }),
      onResumable: () => {
        operation.resumable = true;
        this.#closeIfIdle();
      },
      end: () => {
        if (this.#operations.get(id) === operation) this.#operations.delete(id);
        this.#closeIfIdle();
      },
    };
  }

  /** Stops an operation, whose id is free then. @throws ApiError not_found if there is none with this id */
  stop(id: string): void {
    const operation = this.#operations.get(id);
    if (operation === undefined) throw new ApiError('not_found', 'Operation not found');
    this.#operations.delete(id);
    operation.abort.abort();
    this.#closeIfIdle();
  }

  /** While the process stops, the stream ends when only operations are left that continue elsewhere. */
  #closeIfIdle(): void {
    if (!this.draining.aborted) return;
    for (const { resumable } of this.#operations.values()) if (!resumable) return;
    this.#response?.destroy();
  }

  #end(): void {
    clearInterval(this.#ping);
    this.draining.removeEventListener('abort', this.#stop);
    for (const { abort } of this.#operations.values()) abort.abort();
    this.#operations.clear();
    this.whenOver();
  }
}

/** Whom a connection belongs to: nobody else may use it, even with its token. */
export const ownerOf = ({ orgId, keyId, token, person }: Principal): string =>
  JSON.stringify([orgId, keyId, token?.id, person?.sessionId]);

function sinkOf(response: ServerResponse, of: { id: string; signal: AbortSignal }): OperationSink {
  const id = JSON.stringify(of.id);
  const write = (event: Buffer) => {
    if (of.signal.aborted || response.destroyed || response.write(event)) return;
    return room(response);
  };
  const next = (result: Buffer) =>
    write(eventOf('next', Buffer.concat([Buffer.from(`{"id":${id},"payload":`), result, Buffer.from('}')])));
  const complete = () => void write(eventOf('complete', Buffer.from(`{"id":${id}}`)));
  return {
    next,
    error(errors: readonly GraphQLFormattedError[]) {
      void next(Buffer.from(JSON.stringify({ errors })));
      complete();
    },
    complete,
    stalled: () => void response.destroy(),
  };
}
