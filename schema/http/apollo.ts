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

/** One request's context, with what its answer shows. */
interface RequestContext extends GraphqlContext {
  errorStatuses: number[];
  unfinishedJobs: string[];
  /** A long answer's bytes: Apollo would write it in one go. */
  written: Buffer[];
  /** The answer as it is, in the place of its bytes, for who puts it together with others; null: nobody asked. */
  results: GraphqlResult[] | null;
}

/** What an answer says. */
export interface GraphqlResult {
  data?: Record<string, unknown> | null;
  errors?: readonly GraphQLFormattedError[];
}

export interface ApolloAnswer extends HttpAnswer {
  /** Jobs that fields waited for in vain. */
  unfinishedJobs: string[];
  /** Asked for by `structured`: stands in the place of the body, unless nothing was executed. */
  result?: GraphqlResult | undefined;
}

export interface Apollo {
  execute(work: {
    call: CallContext;
    /** Of the answer. */
    mediaType: string;
    graphql: GraphqlRequest;
    onJob(jobId: string): void;
    /** The answer is not to be written: its `result` is wanted. */
    structured?: boolean;
  }): Promise<ApolloAnswer>;
  /** What callers see of a fault outside of every field; its cause goes to the log. */
  presentFault(fault: unknown): GraphQLFormattedError;
  close(): Promise<void>;
}

/**
 * 200 for coercion errors in application/json (GraphQL-over-HTTP audit), the statuses of the fields' errors, and a log of what callers see as
 * `Internal server error`.
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

/** What fails outside of every field, as an answer that is too long to be written does. */
function presentFault(edge: HttpEdge, fault: unknown): GraphQLFormattedError {
  const error = visibleError(edge, fault, '');
  return { message: error.message, extensions: { ...errorExtensions(error) } };
}

/** Apollo Server as executor. Documents reach it parsed, limited and validated once already. */
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
      // It would have Apollo look through each field's result, numbers of vectors included, in one go.
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
      // Apollo looks at what is accepted when the work is done: what it sees is what will be answered.
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
