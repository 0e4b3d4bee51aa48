import type { DocumentNode, GraphQLError, GraphQLFormattedError, GraphQLSchema } from 'graphql';
import type { GraphqlContext } from '../../schema/context.js';
import type { TimeSlicer } from '../../src/collections/time-slicer.js';
import type { TrustedDocuments } from '../../src/access/index.js';
import type { CallContext } from '../../src/metering/call-context.js';

/** An unchecked GraphQL request, over WebSocket or for Server-Sent Events. */
export interface OperationRequest {
  query: string;
  operationName?: string | null | undefined;
  variables?: Record<string, unknown> | null | undefined;
}

/** What operations need: the schema, the same limits as over HTTP, and the formatting of errors. */
export interface OperationEngine {
  schema: GraphQLSchema;
  /** Finds the text of a trusted document that is named. @throws ApiError for one that is unknown, or may not be sent */
  resolve: TrustedDocuments['resolve'];
  /** Parses, checks limits and validates. Returns all errors at once. */
  prepare(request: OperationRequest): { document: DocumentNode } | { errors: readonly GraphQLError[] };
  /** Whether a request only watches events and starts no work. */
  watches(request: OperationRequest): boolean;
  /** Takes the operation's slot: of the window of opened streams if it only watches, else of the key's window; once. @throws ApiError */
  takeSlot(call: CallContext, request: OperationRequest): Promise<void>;
  context(call: CallContext): GraphqlContext;
  present(error: GraphQLError): GraphQLFormattedError;
  /** Writes long answers in time slices. */
  timeSlicer: TimeSlicer;
  /** Counts open subscriptions and their sent events. */
  meters?: { subscriptions(change: 1 | -1): void; subscriptionEvent(): void };
}

/** Receives an operation's results. A returned promise makes the operation wait until the reader has room. */
export interface OperationSink {
  /**
   * An execution result as JSON; shared results are the same bytes for all their readers.
   * @param place from which the stream can resume after this item: its cursor, or its sequence if it has no cursor
   */
  next(result: Buffer, place?: string): Promise<void> | void;
  /** The operation could not be run or failed; nothing follows. */
  error(errors: readonly GraphQLFormattedError[]): void;
  complete(): void;
  /** The reader is too slow; nothing follows. */
  stalled(): void;
}
