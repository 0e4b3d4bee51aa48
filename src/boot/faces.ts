import type { GraphQLError, GraphQLSchema } from 'graphql';
import { contractFace, conventionsFace, createRestTables, printApi } from '../../rest-compat/index.js';
import {
  buildPenstockSchema,
  createDocuments,
  createGraphqlHandler,
  guardBeforeBody,
  guardOf,
  presentError,
  returnKeySlot,
  textsOf,
  takeFieldSlots,
  takeKeySlot,
  type GraphqlContext,
} from '../../schema/index.js';
import {
  createGraphqlSseHandler,
  createGraphqlWsServer,
  createOperationStream,
  SharedResults,
  type GraphqlWsServer,
  type OperationEngine,
} from '../../subscriptions/index.js';
import { SESSION_DAYS, type Plan } from '../access/index.js';
import type { Config } from '../config/index.js';
import { notFound } from '../contract/errors.js';
import { createIdempotency } from '../idempotency/index.js';
import { ApiError } from '../contract/errors.js';
import { newId } from '../contract/ids.js';
import { withoutEnding } from '../text/characters.js';
import { createRatePeek, rateOf, type CallContext } from '../metering/index.js';
import { timeSlicer } from '../collections/time-slicer.js';
import { createByteBudget, createDocument, type ByteBudget, type HttpEdge } from '../http/index.js';
import type { Services } from '../services.js';
import {
  createBrowserSessions,
  createOidc,
  createSignInHandler,
  type BrowserSessions,
  type SignInHandler,
} from '../sign-in/index.js';
import { asyncApiOf } from './async-api.js';
import type { Closers } from './closers.js';
import type { Foundation } from './foundation.js';
import type { Cors } from './http/cors.js';
import { upgradeCredential } from './http/access-token.js';
import { createAddressLimit, type AddressLimit } from './http/address-limit.js';
import { createClientAddress, type ClientAddress } from './http/client-address.js';
import { clientOf, createHttpEdge, tagsHeaderOf } from './http/http-edge.js';
import { observed } from './http/observed-request.js';
import type { UnauthenticatedConnections } from './http/unauthenticated-connections.js';
import type { RouterOptions } from './http/router.js';
import { traceOperations } from './telemetry/index.js';
import { subscriptionResolvers } from './subscription-resolvers.js';

interface FaceOptions {
  foundation: Foundation;
  services: Services;
  closers: Closers;
  draining: AbortSignal;
  cors: Cors;
  /** Connections whose callers have shown no key. */
  unauthenticatedConnections: UnauthenticatedConnections;
}

/** The faces of the API: REST, GraphQL over HTTP, Server-Sent Events and WebSocket, all on one schema. */
export interface Faces {
  api: NonNullable<RouterOptions['api']>;
  ws: GraphqlWsServer;
}

let served: GraphQLSchema | null = null;

/** A schema contains no service, so every start in a process serves the same one. */
const servedSchema = (): GraphQLSchema =>
  (served ??= buildPenstockSchema({ resolvers: subscriptionResolvers }));

export async function openFaces(options: FaceOptions): Promise<Faces> {
  const { foundation, services, closers } = options;
  const { config, logger } = foundation;
  const schema = servedSchema();
  const documents = createDocuments(schema);
  const identification = openIdentification(config);
  const budget = createByteBudget(config.http.bodyBudgetBytes);
  const edge = openEdge({ ...options, ...identification, budget });
  const contextOf = (call: CallContext): GraphqlContext => ({ call, services });
  const engine: OperationEngine = {
    schema,
    resolve: (request, caller) => services.trustedDocuments.resolve(request, caller),
    prepare: (request) => documents.prepare(request),
    watches: (request) => documents.watches(request),
    takeSlot: async (call, request) =>
      documents.watches(request) ? services.streams.open(call) : takeKeySlot(services, call),
    meters: foundation.telemetry.metrics,
    context: contextOf,
    timeSlicer: edge.timeSlicer,
    present: (error: GraphQLError) => presentError(error, (fault) => edge.onFault(fault, '')),
  };
  const shared = new SharedResults();
  const streaming = { edge, engine, shared, streams: services.streams, draining: options.draining };
  const sse = createGraphqlSseHandler(streaming);
  const stream = createOperationStream(streaming);
  const graphql = await createGraphqlHandler({ schema, documents, services, edge, logger, stream });
  closers.add('GraphQL', () => graphql.close());
  const openapi = Object.fromEntries(
    FACES.map((face) => [face.path, printApi(schema, face, knownUrl(options.foundation.config))]),
  );
  const { sdl, clientSdl } = textsOf(schema);
  const asyncApi = `${JSON.stringify(asyncApiOf(openapi[contractFace.path] ?? ''), null, 2)}\n`;
  const rest = openRest(options, { schema, edge, contextOf, openapi });
  const ws = openWebSocket({ ...options, ...identification, budget, engine, shared });
  return {
    api: {
      rest,
      graphql: (request, response) => graphql.handle(request, response),
      graphqlSse: sse,
      sdl: createDocument(Buffer.from(sdl), SDL_HEADERS),
      clientSdl: createDocument(Buffer.from(clientSdl), SDL_HEADERS),
      asyncApi: createDocument(Buffer.from(asyncApi), JSON_HEADERS),
      signIn: openSignIn(options, identification),
      addressRate: (request) => edge.addressRate(request),
    },
    ws,
  };
}

const SDL_HEADERS = { 'content-type': 'text/plain; charset=utf-8' };
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };

interface RestParts {
  schema: GraphQLSchema;
  edge: HttpEdge;
  contextOf(call: CallContext): GraphqlContext;
  /** The text of each face's description, by its path. */
  openapi: Record<string, string>;
}

const FACES = [contractFace, conventionsFace];

/** /api/v1 and /v1. */
function openRest({ foundation, services }: FaceOptions, { schema, edge, contextOf, openapi }: RestParts) {
  const { config } = foundation;
  return createRestTables(
    {
      schema,
      edge,
      context: (call, extra) => ({ ...contextOf(call), ...extra }),
      knowledgeLimit: ({ principal }) => knowledgeLimit(principal.plan),
      spoolFolder: foundation.files.spoolFolder,
      guard: (field, context) => guardBeforeBody(guardOf(field), context as GraphqlContext),
      takeSlots: (field, request) => takeFieldSlots(services, request, guardOf(field)),
      write: {
        createChatCompletion: (call, body) => services.chat.complete(call, body),
        createResponse: (call, body) => services.responses.create(call, body),
        createModelMessage: (call, body) => services.messages.create(call, body),
      },
      joinRun: (call, runId) =>
        services.runEvents.steps({ principal: call.principal, agentId: null, runId, after: 0 }),
      readFile: async (call, url) => {
        const file = await services.files.resolveOwn(call.principal.orgId, url);
        if (file === null) throw notFound();
        return await services.files.read(call.principal.orgId, file.id);
      },
      holdStream: ({ principal }) => services.streams.hold(principal),
      onRoute(request, pattern) {
        observed(request).pattern = pattern;
      },
      openapi,
      fullModelId: (name) => services.models.fullId(name),
      publicUrl: withoutEnding(config.http.publicUrl, '/'),
    },
    FACES,
  );
}

/**
 * Without a configured PUBLIC_URL a process does not know under which name callers reach it; then the OpenAPI description uses a relative
 * address.
 */
function knownUrl({ http: { publicUrl, port } }: Config): string {
  return publicUrl === `http://127.0.0.1:${port}` ? '' : publicUrl;
}

/** With a plan without agents, only the form fields of a knowledge upload are read before the refusal. */
function knowledgeLimit({ agents }: Plan): { bytes: number; refusal: ApiError } {
  if (agents === null)
    return { bytes: 1024 * 1024, refusal: new ApiError('plan_required', 'AI Agents are not available') };
  const mb = agents.maxKnowledgeFileMb;
  const refusal = new ApiError('payload_too_large', `File exceeds the maximum size of ${mb} MB`, {
    param: 'file',
  });
  return { bytes: mb * 1024 * 1024, refusal };
}

/** What identifies a caller without a key: the client address or the session. */
interface CallerIdentification {
  addressLimit: AddressLimit;
  clientAddress: ClientAddress;
  sessions: BrowserSessions;
}

function openIdentification({ http: { trustProxy, publicUrl } }: Config): CallerIdentification {
  const sessions = createBrowserSessions({ publicUrl, lifetime: SESSION_DAYS * 86_400 });
  return { addressLimit: createAddressLimit(), clientAddress: createClientAddress(trustProxy), sessions };
}

interface EdgeOptions extends FaceOptions, CallerIdentification {
  budget: ByteBudget;
}

function openEdge(options: EdgeOptions): HttpEdge {
  const { foundation, services, closers, ...identification } = options;
  const { database, processId, logger, authenticator, installation } = foundation;
  const signing = { current: installation.signingSecret, previous: installation.previousSecret };
  const idempotency = createIdempotency({ database, storage: services.storage, processId, logger, signing });
  idempotency.start();
  closers.add('idempotency', () => idempotency.close());
  const peek = createRatePeek(database);
  return createHttpEdge({
    ...identification,
    timeSlicer,
    authenticator,
    idempotency,
    logger,
    rateOf,
    currentRate: (call) => peek(call.principal),
    takeSlot: (call) => takeKeySlot(services, call),
    returnSlot: (call) => returnKeySlot(services, call),
  });
}

function openSignIn(options: FaceOptions, identification: CallerIdentification): SignInHandler {
  const { foundation, services, closers } = options;
  const { config, installation, logger } = foundation;
  const { sessions, addressLimit, clientAddress } = identification;
  const signing = { current: installation.signingSecret, previous: installation.previousSecret };
  const oidc = createOidc({ config, signing, logger });
  if (oidc !== null) closers.add('the identity provider', () => oidc.close());
  return createSignInHandler({
    people: services.people,
    sessions,
    oidc,
    publicUrl: config.http.publicUrl,
    takeAddress: (request) => addressLimit.take(clientAddress(request)),
    addressOf: clientAddress,
    onFault: (fault, request) =>
      logger.error({ err: fault, requestId: observed(request).requestId }, 'signing in failed'),
  });
}

interface WebSocketOptions extends EdgeOptions {
  engine: OperationEngine;
  shared: SharedResults;
}

function openWebSocket(options: WebSocketOptions): GraphqlWsServer {
  const { foundation, services, budget, engine, shared, addressLimit, clientAddress, sessions, cors } =
    options;
  const { authenticator, logger } = foundation;
  const { tracer } = foundation.telemetry;
  const ws = createGraphqlWsServer({
    engine,
    shared,
    streams: services.streams,
    budget,
    authenticator,
    logger,
    newRequestId: () => newId('req'),
    ...(tracer === null ? {} : { traced: traceOperations(tracer) }),
    clientOf,
    addressOf: clientAddress,
    tagsHeaderOf,
    authorizationOf: upgradeCredential,
    addressRate: (request) => addressLimit.state(clientAddress(request)),
    awaitKey: (request, stream, drop) =>
      options.unauthenticatedConnections.add(stream, { address: clientAddress(request), drop }),
    keyShown: (stream) => options.unauthenticatedConnections.leave(stream),
    refusedAddress: (address) => addressLimit.take(address).admitted,
    sessionOf: (request) =>
      request.headers.origin !== undefined && sessions.trusts(request) ? sessions.token(request) : undefined,
    // A page of another origin may connect with an API key; its browser's cookie is ignored.
    allowsOrigin: (origin, request) => cors.allows(origin) || sessions.trusts(request),
  });
  options.closers.add('the WebSocket server', () => ws.close());
  return ws;
}
