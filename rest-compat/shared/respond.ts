import { toApiError } from '../../src/contract/errors.js';
import type { HttpAnswer } from '../../src/http/index.js';
import { errorHeaders, readJsonText, visibleError, writeJson, writeText } from '../../src/http/index.js';
import type { Convention } from './convention.types.js';
import { documentOf } from './mount.js';
import { bindOrRefuse } from './request.js';
import type { RestOptions, RestRequest } from './rest.types.js';
import type { AnswerContext, RouteAnswer } from './route.types.js';

export const JSON_HEADERS: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' };

/** Sends an error in the convention's form. */
export function errorAnswer(fault: unknown, convention: Convention, requestId: string): HttpAnswer {
  const error = toApiError(fault);
  return {
    status: error.status,
    headers: { ...JSON_HEADERS, ...errorHeaders(error) },
    body: JSON.stringify(convention.errorBody(error, requestId)),
  };
}

/** The same for a request that was read; an unknown error is logged. */
export function refusalOf(options: RestOptions, rest: RestRequest, fault: unknown): HttpAnswer {
  const { requestId } = rest.call;
  return errorAnswer(visibleError(options.edge, fault, requestId), rest.convention, requestId);
}

/** Runs the row's document, or calls the engine's method that writes the answer of the row's operation. @throws ApiError */
export async function answerOf(options: RestOptions, rest: RestRequest): Promise<HttpAnswer> {
  const { endpoint, context, dialectCall } = rest;
  const { operation } = endpoint.route;
  if (operation !== undefined) {
    const { text } = await options.write[operation](rest.call, rest.body ?? {});
    const more = rest.call.answerHeaders;
    if (dialectCall?.whole === undefined) {
      const headers = more === undefined ? JSON_HEADERS : { ...JSON_HEADERS, ...more };
      return { status: 200, headers, body: await writeText(text, options.edge.timeSlicer) };
    }
    const { body, headers } = await dialectCall.whole(text, answerContext(options, rest));
    return await written({ body, headers: { ...headers, ...more } }, options.edge);
  }
  const result = await documentOf(endpoint).run(await bindOrRefuse(options, rest), context);
  const carried = answerContext(options, rest);
  if (dialectCall !== undefined) return await dialectAnswer(options, rest, result);
  if (!endpoint.route.respond)
    return { status: 200, headers: JSON_HEADERS, body: await writeJson(result, options.edge.timeSlicer) };
  const shown = await endpoint.route.respond(result as Record<string, unknown>, {
    accept: rest.accept,
    requestFields: rest.body ?? {},
    isForm: rest.isForm,
    convention: rest.convention.name,
    query: rest.query,
    readFile: carried.readFile,
  });
  return await written(shown, options.edge);
}

/** The whole answer of a dialect, from the document's answer. */
export async function dialectAnswer(
  options: RestOptions,
  rest: RestRequest,
  answer: unknown,
): Promise<HttpAnswer> {
  if (rest.dialectCall?.whole === undefined) throw new Error('the row has no dialect');
  return await written(await rest.dialectCall.whole(answer, answerContext(options, rest)), options.edge);
}

export const answerContext = ({ readFile, edge }: RestOptions, { call }: RestRequest): AnswerContext => ({
  readFile: (url) => readFile(call, url),
  readJson: (text) => readJsonText(text, edge.timeSlicer),
});

async function written(
  { body, headers }: RouteAnswer,
  { timeSlicer }: RestOptions['edge'],
): Promise<HttpAnswer> {
  return {
    status: 200,
    headers: headers ? { ...JSON_HEADERS, ...headers } : JSON_HEADERS,
    body: Buffer.isBuffer(body) ? body : await writeJson(body, timeSlicer),
  };
}

/** The same, but a refusal is also returned as an answer. */
export async function answerOrRefuse(options: RestOptions, rest: RestRequest): Promise<HttpAnswer> {
  try {
    return await answerOf(options, rest);
  } catch (fault) {
    const carried = options.edge.rateOf(fault);
    if (carried) rest.call.rate = carried;
    return refusalOf(options, rest, fault);
  }
}
