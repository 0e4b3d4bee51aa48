import type { ServerResponse } from 'node:http';
import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import type { ByteReservation, HttpEdge } from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { Services } from '../../src/services.js';
import type { Documents } from '../documents/index.js';
import type { GraphqlRequest } from './request.js';

export interface GraphqlHandlerOptions {
  schema: GraphQLSchema;
  documents: Documents;
  services: Services;
  edge: HttpEdge;
  logger: Logger;
  /** Answers a subscription as Server-Sent Events, for clients that accept them as well as JSON. No slot was taken. */
  stream(work: {
    request: GraphqlRequest;
    response: ServerResponse;
    call: CallContext;
    /** The request's share of the byte budget. */
    byteReservation: ByteReservation;
  }): Promise<void>;
}
