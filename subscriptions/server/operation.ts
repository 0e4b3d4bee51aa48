import { createHash } from 'node:crypto';
import {
  createSourceEventStream,
  execute,
  getOperationAST,
  GraphQLError,
  type ExecutionArgs,
  type ExecutionResult,
} from 'graphql';
import { ApiError } from '../../src/contract/errors.js';
import type { Holding } from '../../src/http/index.js';
import { writeJson } from '../../src/text/write-json.js';
import type { CallContext } from '../../src/metering/call-context.js';
import { StalledSubscriberError } from '../stalled.js';
import type { OperationEngine, OperationRequest, OperationSink } from './operation.types.js';
import { SharedScope } from './shared-results.js';
import type { SharedResults, Written } from './shared-results.js';

export interface OperationRun {
  engine: OperationEngine;
  shared: SharedResults;
  call: CallContext;
  request: OperationRequest;
  sink: OperationSink;
  /** What the request holds. */
  holding: Holding;
  /** Called once the operation turns out to be one that its client can resume (a hub's subscription). */
  onResumable?(): void;
}

/**
 * Runs one operation of any kind to its end, to one sink. `call.signal` ends it from outside. Never rejects: what goes wrong is the
 * sink's error.
 */
export async function runOperation(run: OperationRun): Promise<void> {
  try {
    await run.engine.takeSlot(run.call, run.request);
    const prepared = run.engine.prepare(run.request);
    if ('errors' in prepared) return fail(run, prepared.errors);
    const args: ExecutionArgs = {
      schema: run.engine.schema,
      document: prepared.document,
      contextValue: run.engine.context(run.call),
      variableValues: run.request.variables ?? {},
      operationName: run.request.operationName ?? null,
    };
    const operation = getOperationAST(args.document, args.operationName);
    if (!operation) return fail(run, [new GraphQLError('Unknown operation')]);
    if (operation.operation === 'subscription') return await stream(run, args);
    const written = await toJson(run, await execute(args));
    await run.sink.next(typeof written === 'string' ? Buffer.from(written) : written);
    run.sink.complete();
  } catch (error) {
    // Work that was given up because its reader left is no failure, and there is nobody to tell.
    if (run.call.signal.aborted) return;
    if (error instanceof StalledSubscriberError) return run.sink.stalled();
    fail(run, [asGraphqlError(error)]);
  }
}

async function stream(run: OperationRun, args: ExecutionArgs): Promise<void> {
  const events = await createSourceEventStream(args);
  if (!(Symbol.asyncIterator in events)) return fail(run, events.errors ?? []);
  const iterator = events[Symbol.asyncIterator]();
  const reading: Reading = { args, iterator, over: false };
  const stop = () => {
    reading.over = true;
    void iterator.return?.();
  };
  if (run.call.signal.aborted) return stop();
  run.call.signal.addEventListener('abort', stop, { once: true });
  const isResumable = 'resumable' in iterator;
  const { scope, close } = isResumable ? run.shared.open(shareKey(run)) : unshared();
  try {
    if (isResumable) {
      // It may stay open for days, and keeps of its request what it needs.
      run.holding.keep(weightOf(run.request));
      run.onResumable?.();
    }
    run.engine.meters?.subscriptions(1);
    await deliver(run, reading, scope).finally(() => run.engine.meters?.subscriptions(-1));
  } finally {
    close();
    run.call.signal.removeEventListener('abort', stop);
    stop();
  }
}

/** A stream that can tell its next item without a promise where it is at hand. */
interface AtHand {
  atHand(): unknown;
}

interface Reading {
  args: ExecutionArgs;
  iterator: AsyncIterator<unknown> & Partial<AtHand>;
  /** The reader left. */
  over: boolean;
}

async function deliver(run: OperationRun, reading: Reading, scope: SharedScope): Promise<void> {
  const { args, iterator } = reading;
  const { sink, engine } = run;
  for (;;) {
    let value: unknown = iterator.atHand?.() ?? null;
    if (value === null) {
      const item = await iterator.next();
      if (item.done) break;
      value = item.value;
    }
    if (reading.over) break;
    const result = scope.find(value) ?? scope.make(value, () => executed(run, { ...args, rootValue: value }));
    const room = sink.next(result instanceof Promise ? await result : result);
    if (room !== undefined) await room;
    engine.meters?.subscriptionEvent();
  }
  sink.complete();
}

function executed(run: OperationRun, args: ExecutionArgs): Written | Promise<Written> {
  const result = execute(args);
  return 'then' in result ? result.then((whole) => toJson(run, whole)) : toJson(run, result);
}

/** Of what is made for one reader alone, as a chat is. */
const unshared = (): ReturnType<SharedResults['open']> => ({
  scope: new SharedScope(),
  close: () => undefined,
});

/** About what an open operation takes besides its request. */
export const OPERATION_BYTES = 8 * 1024;

/** About how many bytes an operation keeps in memory. */
export function weightOf({ query, variables }: OperationRequest): number {
  return OPERATION_BYTES + 2 * query.length + 2 * JSON.stringify(variables ?? null).length;
}

/**
 * What a shared result may depend on besides its event: the document, its variables, and what the reader is allowed to see. A hash: it is
 * kept as long as its readers.
 */
function shareKey({ request, call }: OperationRun): string {
  const { orgId, scopes, person } = call.principal;
  const reader = [orgId, [...scopes].sort(), person?.role];
  const parts = [request.query, request.operationName, request.variables, reader];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
}

function toJson({ engine }: OperationRun, result: ExecutionResult): Written | Promise<Written> {
  if (!result.errors) return writeJson(result, engine.turns);
  return writeJson({ ...result, errors: result.errors.map((error) => engine.present(error)) }, engine.turns);
}

function fail({ engine, sink }: OperationRun, errors: readonly GraphQLError[]): void {
  sink.error(errors.map((error) => engine.present(error)));
}

function asGraphqlError(error: unknown): GraphQLError {
  if (error instanceof GraphQLError) return error;
  const original = error instanceof Error ? error : new Error(String(error));
  // An empty path marks it as a fault of execution: whatever is no ApiError is masked.
  return new GraphQLError(original.message, {
    originalError: original,
    ...(error instanceof ApiError ? {} : { path: [] }),
  });
}
