import type { IncomingMessage, ServerResponse } from 'node:http';
import { getOperationAST } from 'graphql';
import { graphqlParamOf, parseGraphqlRequest } from '../../schema/index.js';
import { ApiError, invalid } from '../../src/contract/errors.js';
import type { RequestBody } from '../../src/http/index.js';
import type { CallContext } from '../../src/metering/call-context.js';
import type { OperationEngine, OperationRequest } from './operation.types.js';

const BODY_LIMIT_BYTES = 60 * 1024 * 1024;

interface Engine {
  engine: OperationEngine;
}

/** An operation whose request was read. */
export interface ReadRequest {
  request: OperationRequest;
  response: ServerResponse;
  call: CallContext;
}

/**
 * The parts of its request that an operation keeps, because the stream may stay open for days, and its id among those of one connection (unchecked).
 */
export async function readOperation(
  { engine }: Engine,
  request: IncomingMessage,
  { body, call }: { body: RequestBody; call: CallContext },
): Promise<{ operation: OperationRequest; operationId: unknown }> {
  const read = parseGraphqlRequest(await readSource(request, body));
  const operationId = read.extensions?.['operationId'];
  const { query, operationName, variables } = await engine.resolve(read, call.principal);
  return { operation: { query, operationName, variables }, operationId };
}

async function readSource(
  request: IncomingMessage,
  body: RequestBody,
): Promise<{ query: string } | { json: unknown }> {
  const { method = 'GET', url = '/' } = request;
  if (method === 'GET') return { query: url.includes('?') ? url.slice(url.indexOf('?') + 1) : '' };
  if (method !== 'POST') throw methodNotAllowed('GET, POST');
  return { json: await body.parseJson(BODY_LIMIT_BYTES, graphqlParamOf) };
}

/**
 * A document over a limit, a mutation by GET and one with an Idempotency-Key are refused with their status. Errors of parsing and validation go
 * into the stream, as the protocol says.
 */
export function refuseWhole({ engine }: Engine, { request: operation, call, response }: ReadRequest): void {
  const { method, headers } = response.req;
  const prepared = engine.prepare(operation);
  if ('errors' in prepared) {
    const refused = prepared.errors.find((error) => error.extensions['refused'] === true);
    if (refused) throw new ApiError('invalid_request', refused.message);
    return;
  }
  const kind = getOperationAST(prepared.document, operation.operationName ?? null)?.operation;
  if (method === 'GET' && kind === 'mutation') throw methodNotAllowed('POST');
  // The key is for mutations, and this answer is not kept.
  if (kind === 'mutation' && headers['idempotency-key'] !== undefined)
    throw invalid('An event stream of GraphQL takes no Idempotency-Key', 'Idempotency-Key');
  // Over plain http browsers do not say which page sends a GET. So with a cookie it may only read, and is never charged.
  const isTold = call.principal.person === undefined || headers['sec-fetch-site'] !== undefined;
  if (method === 'GET' && kind === 'subscription' && !isTold && !engine.watches(operation))
    throw new ApiError('forbidden', 'Origin not allowed');
}

/** A GET may be repeated, and any program may follow a link, so it must change nothing. */
export function methodNotAllowed(allow: string): ApiError {
  return new ApiError('method_not_allowed', 'Method not allowed', { headers: { allow } });
}
