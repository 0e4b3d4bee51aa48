import type { ApolloServerPlugin } from '@apollo/server';
import { ApolloServer, HeaderMap } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
} from '@apollo/server/plugin/disabled';
import { GraphQLError } from 'graphql';
import type { GraphQLFormattedError } from 'graphql';
import type { HttpAnswer, HttpEdge } from '../../src/http/index.js';
import { visibleError } from '../../src/http/index.js';
import { isLongJson } from '../../src/text/json-pieces.js';
import { writeLongJson } from '../../src/text/write-json.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { GraphqlContext } from '../context.js';
import { apiErrorOf, errorExtensions, presentError } from '../errors.js';
import type { GraphqlHandlerOptions } from './handler.types.js';
import { isStrict } from './media-type.js';
import type { GraphqlRequest } from './request.js';

/** One request's context, with the values for the headers of its answer. */
interface RequestContext extends GraphqlContext {
  errorStatuses: number[];
  unfinishedJobs: string[];
  /** The bytes of a long answer, which Apollo would write in one piece. */
  written: Buffer[];
  /** The answer as an object instead of bytes, for callers that combine it with others; null if it was not requested. */
  results: GraphqlResult[] | null;
}

/** The content of an answer. */
export interface GraphqlResult {
  data?: Record<string, unknown> | null;
  errors?: readonly GraphQLFormattedError[];
}

export interface ApolloAnswer extends HttpAnswer {
  /** Jobs for which fields waited until their time was over. */
  unfinishedJobs: string[];
  /** Set with `structured`: replaces the body, unless nothing was executed. */
  result?: GraphqlResult | undefined;
}

export interface Apollo {
  execute(work: {
    call: CallContext;
    /** The media type of the answer. */
    mediaType: string;
    graphql: GraphqlRequest;
    onJob(jobId: string): void;
    /** Whether the caller needs `result` instead of a written answer. */
    structured?: boolean;
  }): Promise<ApolloAnswer>;
  /** The callers' answer for an error outside of every field; its cause is logged. */
  presentFault(fault: unknown): GraphQLFormattedError;
  close(): Promise<void>;
}

/**
 * 200 for coercion errors in application/json (GraphQL-over-HTTP audit), the statuses of the fields' errors, and a log of the errors that
 * callers see as `Internal server error`.
 */
const createPlugin = (edge: HttpEdge): ApolloServerPlugin<RequestContext> => ({
  requestDidStart: () =>
    Promise.resolve({
      didEncounterErrors({ errors, contextValue }) {
        for (const error of errors) {
          const fault = apiErrorOf(error);
          const job = fault?.details.headers?.['X-Job-Id'];
          if (fault?.code === 'unavailable' && job !== undefined) contextValue.unfinishedJobs.push(job);
          if (fault?.code === 'server_error')
            edge.onFault(fault.details.cause ?? fault, contextValue.call.requestId);
        }
        return Promise.resolve();
      },
      async willSendResponse({ response, contextValue, request }) {
        if (response.body.kind === 'single') {
          const { errors = [] } = response.body.singleResult;
          // Apollo hands plugins a shallow copy of the context: the list itself is what `execute` reads.
          for (const { extensions } of errors)
            contextValue.errorStatuses.push(Number(extensions?.['httpStatus'] ?? 500));
          const { timeSlicer } = edge;
          if (contextValue.results !== null) {
            contextValue.results.push(response.body.singleResult);
            response.body.singleResult = {};
          } else if (isLongJson(response.body.singleResult)) {
            contextValue.written.push(await writeLongJson(response.body.singleResult, timeSlicer));
            response.body.singleResult = {};
          }
        }
        if (!isStrict(request.http?.headers.get('accept') ?? '')) response.http.status = 200;
      },
    }),
});

/** Logs an error outside of every field, such as an answer that is too long to be written. */
function presentFault(edge: HttpEdge, fault: unknown): GraphQLFormattedError {
  const error = visibleError(edge, fault, '');
  return { message: error.message, extensions: { ...errorExtensions(error) } };
}

/** Apollo Server as executor. Its documents are already parsed, limited and validated. */
export async function createApollo({
  schema,
  services,
  edge,
  logger,
}: GraphqlHandlerOptions): Promise<Apollo> {
  const server = new ApolloServer<RequestContext>({
    schema,
    logger,
    plugins: [
      createPlugin(edge),
      ApolloServerPluginInlineTraceDisabled(),
      // With it, Apollo would visit each field's result, including the numbers of vectors, without a pause.
      ApolloServerPluginCacheControlDisabled(),
    ],
    nodeEnv: 'production',
    introspection: true,
    dangerouslyDisableValidation: true,
    persistedQueries: false,
    csrfPrevention: false,
    stopOnTerminationSignals: false,
    includeStacktraceInErrorResponses: false,
    allowBatchedHttpRequests: false,
    formatError: (_, error) =>
      error instanceof GraphQLError ? presentError(error) : presentFault(edge, error),
  });
  await server.start();

  return {
    async execute({ call, mediaType, graphql, onJob, structured = false }) {
      const contextValue: RequestContext = {
        call,
        services,
        onJob,
        errorStatuses: [],
        unfinishedJobs: [],
        written: [],
        results: structured ? [] : null,
      };
      // Apollo reads `Accept` after the work. It gets the media type that the answer will have.
      const headers = new HeaderMap([
        ['content-type', 'application/json'],
        ['accept', mediaType],
      ]);
      const answer = await server.executeHTTPGraphQLRequest({
        httpGraphQLRequest: { method: 'POST', headers, search: '', body: graphql },
        context: () => Promise.resolve(contextValue),
      });
      if (answer.body.kind !== 'complete') throw new Error('incremental delivery is not part of this schema');
      return {
        status: answer.status ?? 200,
        headers: { 'cache-control': 'no-store', ...Object.fromEntries(answer.headers) },
        body: contextValue.written[0] ?? answer.body.string,
        errorStatuses: contextValue.errorStatuses,
        unfinishedJobs: contextValue.unfinishedJobs,
        result: contextValue.results?.[0],
      };
    },
    presentFault: (fault) => presentFault(edge, fault),
    close: () => server.stop(),
  };
}
