import type { GraphQLSchema } from 'graphql';
import type { Logger } from 'pino';
import type { HttpEdge } from '../../src/http/index.js';
import type { Services } from '../../src/services.js';
import type { Documents } from '../documents/index.js';

export interface GraphqlHandlerOptions {
  schema: GraphQLSchema;
  documents: Documents;
  services: Services;
  edge: HttpEdge;
  logger: Logger;
}
