import type { ExecutionArgs, ExecutionResult, GraphQLError } from 'graphql';
import type { ApiError } from '../../src/contract/errors.js';
import type { Holding } from '../../src/http/index.js';
import { asGraphqlError } from './operation.js';

/** An operation, from its message to the end of its work. */
export interface Operation {
  id: string;
  abort: AbortController;
  resumable: boolean;
  /** Why its message is refused although it can be read. */
  fault: ApiError | null;
  /** Of its message's text. */
  length: number;
  traceparent: string | undefined;
  holding: Holding | null;
  /** Goes on after its client has left, and holds what it needs so long. */
  work: Promise<unknown>;
}

/** What graphql-ws hands from hook to hook, with what it is to run. */
export interface OperationArgs extends ExecutionArgs {
  run(): AsyncIterable<ExecutionResult> | Promise<ExecutionResult | AsyncIterable<ExecutionResult>>;
}

export function newOperation(message: Pick<Operation, 'id' | 'fault' | 'length'>): Operation {
  const abort = new AbortController();
  const work = Promise.resolve();
  return { ...message, abort, work, resumable: false, traceparent: undefined, holding: null };
}

/** A subscription as graphql-ws sees it: nothing until its end, or its failure. */
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

/** Where nobody is left to be told. */
export const LEFT: readonly GraphQLError[] = [asGraphqlError(new Error('The caller left'))];

/**
 * Work, or `end` once its operation is over. graphql-ws knows operations by their ids: what came late would be taken for the result of the next
 * operation of that id.
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
