import type { Penstock } from '@penstock/client';
import {
  makeErrorResult,
  makeResult,
  stringifyDocument,
  type Exchange,
  type Operation,
  type OperationResult,
} from 'urql';
import { filter, make, merge, mergeMap, pipe, takeUntil } from 'wonka';

/** Asks the server. A query is no longer waited for when the signal aborts. */
async function ask(penstock: Penstock, operation: Operation, signal: AbortSignal): Promise<OperationResult> {
  const { kind, query, variables } = operation;
  const options = kind === 'query' ? { signal } : {};
  try {
    const data = await penstock.request<object>(stringifyDocument(query), variables ?? {}, options);
    return makeResult(operation, { data });
  } catch (thrown) {
    return makeErrorResult(operation, thrown as Error);
  }
}

/**
 * Sends one operation. It waits for the current task to end, because a hook asks while its component renders, leaves at once, and asks again when the
 * component is on the page. What was left before is not sent.
 */
const answerTo = (penstock: Penstock, operation: Operation) =>
  make<OperationResult>(({ next, complete }) => {
    const left = new AbortController();
    const deliver = async (): Promise<void> => {
      await Promise.resolve();
      if (left.signal.aborted) return;
      const result = await ask(penstock, operation, left.signal);
      if (left.signal.aborted) return;
      next(result);
      complete();
    };
    void deliver();
    return () => left.abort();
  });

/** Sends queries and mutations through the client, which retries while the server is away. */
export function requestExchange(penstock: Penstock): Exchange {
  return ({ forward }) =>
    (operations) => {
      const answers = pipe(
        operations,
        filter(({ kind }) => kind === 'query' || kind === 'mutation'),
        mergeMap((operation) => {
          const ended = pipe(
            operations,
            filter(({ kind, key }) => kind === 'teardown' && key === operation.key),
          );
          return pipe(answerTo(penstock, operation), takeUntil(ended));
        }),
      );
      const others = pipe(
        operations,
        filter(({ kind }) => kind !== 'query' && kind !== 'mutation'),
        forward,
      );
      return merge([answers, others]);
    };
}
