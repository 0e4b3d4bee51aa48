import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql';
import type { ApiError } from '../../src/contract/errors.js';
import type { ByteReservation } from '../../src/http/index.js';
import { asGraphqlError } from './operation.js';

/** An operation, from its `subscribe` message to the end of its work. */
export interface Operation {
  id: string;
  abort: AbortController;
  resumable: boolean;
  /** Why its message is refused although it is valid JSON. */
  fault: ApiError | null;
  /** The length of its message's text. */
  length: number;
  traceparent: string | undefined;
  byteReservation: ByteReservation | null;
  /** It continues after its client has left, and keeps what it needs until its end. */
  work: Promise<unknown>;
}

/** What graphql-ws passes from hook to hook, with the operation to run. */
export interface OperationArgs extends ExecutionArgs {
  run(): AsyncIterable<ExecutionResult> | Promise<ExecutionResult | AsyncIterable<ExecutionResult>>;
}

export function newOperation(message: Pick<Operation, 'id' | 'fault' | 'length'>): Operation {
  const abort = new AbortController();
  const work = Promise.resolve();
  return { ...message, abort, work, resumable: false, traceparent: undefined, byteReservation: null };
}

/** A subscription as graphql-ws sees it: it yields nothing until it ends or fails. */
export class Events implements AsyncIterableIterator<never> {
  constructor(
    private readonly deliver: () => Promise<void>,
    private readonly operation: Operation,
  ) {}

  async next(): Promise<IteratorResult<never>> {
    await this.deliver();
    return { value: undefined, done: true };
  }

  return(): Promise<IteratorResult<never>> {
    this.operation.abort.abort();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Used if no client is left. */
export const LEFT: readonly GraphQLError[] = [asGraphqlError(new Error('The caller left'))];

/**
 * Resolves with the work, or with `end` once its operation is over. graphql-ws identifies operations by id alone: a late result would be sent as
 * the result of the next operation with that id.
 */
export function orEnd<Result>(
  { abort: { signal } }: Operation,
  work: Promise<Result>,
  end: Result,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) resolve(end);
    else signal.addEventListener('abort', () => resolve(end), { once: true });
    work.then(resolve, reject);
  });
}
