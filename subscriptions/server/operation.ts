import { createHash } from 'node:crypto';
import {
  createSourceEventStream,
  execute,
  getOperationAST,
  GraphQLError,
  type ExecutionArgs,
  type ExecutionResult,
  type FormattedExecutionResult,
} from 'graphql';
import { ApiError } from '../../src/contract/errors.js';
import type { ByteReservation } from '../../src/http/index.js';
import { writeJson } from '../../src/text/write-json.js';
import type { CallContext } from '../../src/metering/call-context.js';
import { StalledSubscriberError } from '../stalled-subscriber.js';
import type { OperationEngine, OperationRequest, OperationSink } from './operation.types.js';
import { SharedScope } from './shared-results.js';
import type { SharedResults, Written } from './shared-results.js';

/** A caller's operation. */
export interface CallerOperation {
  engine: OperationEngine;
  shared: SharedResults;
  call: CallContext;
  request: OperationRequest;
  /** The request's share of the byte budget. */
  byteReservation: ByteReservation;
  /** Called if the operation is one that its client can resume (a hub's subscription). */
  onResumable?(): void;
}

export interface OperationRun extends CallerOperation {
  sink: OperationSink;
}

/** Runs one operation of any kind to its end, with one sink. `call.signal` ends it from outside. Never rejects: errors go to the sink. */
export async function runOperation(run: OperationRun): Promise<void> {
  const { engine, sink } = run;
  try {
    const args = await prepareOperation(run);
    if (isErrors(args)) return fail(run, args);
    if (isSubscription(args)) {
      const subscription = await openSubscription(run, args);
      if (isErrors(subscription)) return fail(run, subscription);
      await subscription.deliver((result, place) => sink.next(result, place));
    } else {
      const written = await toJson(engine, await execute(args));
      await sink.next(typeof written === 'string' ? Buffer.from(written) : written);
    }
    sink.complete();
  } catch (error) {
    // Work that was aborted because its client left is not a failure, and nobody would read the error.
    if (run.call.signal.aborted) return;
    if (error instanceof StalledSubscriberError) return sink.stalled();
    fail(run, [asGraphqlError(error)]);
  }
}

/**
 * Takes the operation's slot, then parses and validates it. Returns what graphql-js runs, or the errors.
 * @throws ApiError of the slot
 */
export async function prepareOperation({
  engine,
  call,
  request,
}: CallerOperation): Promise<ExecutionArgs | readonly GraphQLError[]> {
  await engine.takeSlot(call, request);
  const prepared = engine.prepare(request);
  if ('errors' in prepared) return prepared.errors;
  const operationName = request.operationName ?? null;
  if (!getOperationAST(prepared.document, operationName)) return [new GraphQLError('Unknown operation')];
  return {
    schema: engine.schema,
    document: prepared.document,
    contextValue: engine.context(call),
    variableValues: request.variables ?? {},
    operationName,
  };
}

export function isErrors<T extends object>(
  found: T | readonly GraphQLError[],
): found is readonly GraphQLError[] {
  return Array.isArray(found);
}

export function isSubscription({ document, operationName }: ExecutionArgs): boolean {
  return getOperationAST(document, operationName)?.operation === 'subscription';
}

/** A subscription that has begun. */
export interface Subscription {
  /**
   * Delivers its results until it ends, its caller leaves or it fails; call it once. Shared results are the same bytes for all readers.
   * @throws StalledSubscriberError, and whatever its source throws
   */
  deliver(next: OperationSink['next']): Promise<void>;
}

/** Begins a subscription. Returns errors if it cannot begin. */
export async function openSubscription(
  requested: CallerOperation,
  args: ExecutionArgs,
): Promise<Subscription | readonly GraphQLError[]> {
  const { engine, shared, call, request, byteReservation } = requested;
  const events = await createSourceEventStream(args);
  if (!(Symbol.asyncIterator in events)) return events.errors ?? [];
  const iterator = events[Symbol.asyncIterator]();
  const reading: Reading = { args, iterator, over: false };
  const stop = () => {
    reading.over = true;
    void iterator.return?.();
  };
  if (call.signal.aborted) stop();
  else call.signal.addEventListener('abort', stop, { once: true });
  return {
    async deliver(next) {
      if (reading.over) return;
      const isResumable = 'resumable' in iterator;
      const { scope, close } = isResumable ? shared.open(shareKey(requested)) : unshared();
      engine.meters?.subscriptions(1);
      try {
        if (isResumable) {
          // It may stay open for days, so it keeps only what it needs of its request.
          byteReservation.keep(weightOf(request));
          requested.onResumable?.();
        }
        await deliver(engine, reading, { scope, next });
      } finally {
        engine.meters?.subscriptions(-1);
        close();
        call.signal.removeEventListener('abort', stop);
        stop();
      }
    },
  };
}

/** A stream that can return its next item without a promise, if it is already there. */
interface Pollable {
  poll(): unknown;
}

interface Reading {
  args: ExecutionArgs;
  iterator: AsyncIterator<unknown> & Partial<Pollable>;
  /** The reader left. */
  over: boolean;
}

async function deliver(
  engine: OperationEngine,
  reading: Reading,
  { scope, next }: { scope: SharedScope; next: OperationSink['next'] },
): Promise<void> {
  const { args, iterator } = reading;
  for (;;) {
    let value: unknown = iterator.poll?.() ?? null;
    if (value === null) {
      const item = await iterator.next();
      if (item.done) break;
      value = item.value;
    }
    if (reading.over) break;
    const result =
      scope.find(value) ?? scope.make(value, () => executed(engine, { ...args, rootValue: value }));
    const room = next(result instanceof Promise ? await result : result, placeOf(value));
    if (room !== undefined) await room;
    engine.meters?.subscriptionEvent();
  }
}

/** An event's place in its stream, as a value of `after`. */
function placeOf(event: unknown): string | undefined {
  const { cursor, sequence } = Object(event) as { cursor?: unknown; sequence?: unknown };
  if (typeof cursor === 'string') return cursor;
  return typeof sequence === 'number' ? String(sequence) : undefined;
}

function executed(engine: OperationEngine, args: ExecutionArgs): Written | Promise<Written> {
  const result = execute(args);
  return 'then' in result ? result.then((whole) => toJson(engine, whole)) : toJson(engine, result);
}

/** For results that only one reader gets, as in a chat. */
const unshared = (): ReturnType<SharedResults['open']> => ({
  scope: new SharedScope(),
  close: () => undefined,
});

/** About the bytes of an open operation, without its request. */
export const OPERATION_BYTES = 8 * 1024;

/** About how many bytes an operation keeps in memory. */
export function weightOf({ query, variables }: OperationRequest): number {
  return OPERATION_BYTES + 2 * query.length + 2 * JSON.stringify(variables ?? null).length;
}

/**
 * All that a shared result depends on besides its event: the document, its variables, and the reader's permissions. A hash, because it is kept as
 * long as its readers.
 */
function shareKey({ request, call }: CallerOperation): string {
  const { orgId, scopes, person } = call.principal;
  const reader = [orgId, [...scopes].sort(), person?.role];
  const parts = [request.query, request.operationName, request.variables, reader];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

/** Errors as callers see them. */
export function presented(engine: OperationEngine, result: ExecutionResult): FormattedExecutionResult {
  const { errors, ...rest } = result;
  return errors === undefined ? rest : { ...rest, errors: errors.map((error) => engine.present(error)) };
}

function toJson(engine: OperationEngine, result: ExecutionResult): Written | Promise<Written> {
  return writeJson(result.errors ? presented(engine, result) : result, engine.timeSlicer);
}

function fail({ engine, sink }: OperationRun, errors: readonly GraphQLError[]): void {
  sink.error(errors.map((error) => engine.present(error)));
}

/** The error that a caller may see: all of an ApiError, nothing of other errors. */
export function asGraphqlError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const original = error instanceof Error ? error : new Error(String(error));
  // An empty path marks it as an execution error; every error except an ApiError is masked.
  return new GraphQLError(original.message, {
    originalError: original,
    ...(error instanceof ApiError ? {} : { path: [] }),
  });
}
