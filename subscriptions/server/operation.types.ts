import type { DocumentNode, GraphQLError, GraphQLFormattedError, GraphQLSchema } from 'graphql';
import type { GraphqlContext } from '../../schema/context.js';
import type { Turns } from '../../src/collections/turns.js';
import type { CallContext } from '../../src/metering/call-context.js';

/** A GraphQL request as it came, over WebSocket or for Server-Sent Events. */
export interface OperationRequest {
  query: string;
  operationName?: string | null | undefined;
  variables?: Record<string, unknown> | null | undefined;
}

/** What operations run on: the schema, the limits that HTTP has too, and how errors are shown. */
export interface OperationEngine {
  schema: GraphQLSchema;
  /** Parse, limits, validation. Answers every fault at once where there is one. */
  prepare(request: OperationRequest): { document: DocumentNode } | { errors: readonly GraphQLError[] };
  /** Whether a request subscribes to what happens anyway, and asks for no work. */
  watches(request: OperationRequest): boolean;
  /** Takes the operation's slot of its key's window: of openings, where it only watches. Once. @throws ApiError */
  takeSlot(call: CallContext, request: OperationRequest): Promise<void>;
  context(call: CallContext): GraphqlContext;
  present(error: GraphQLError): GraphQLFormattedError;
  /** In which long answers are written. */
  turns: Turns;
  /** Counts open subscriptions and what they are sent. */
  meters?: { subscriptions(change: 1 | -1): void; subscriptionEvent(): void };
}

/** Where an operation's results go. A promise holds the operation back until the reader has room. */
export interface OperationSink {
  /** An execution result as JSON; shared results are the same bytes for all their readers. */
  next(result: Buffer): Promise<void> | void;
  /** The operation could not be run or failed; nothing follows. */
  error(errors: readonly GraphQLFormattedError[]): void;
  complete(): void;
  /** The reader does not keep up; nothing follows. */
  stalled(): void;
}
