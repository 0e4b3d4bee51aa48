import { toApiError } from '../../src/contract/errors.js';
import type { HttpAnswer } from '../../src/http/index.js';
import { errorHeaders, readJsonText, visibleError, writeJson, writeText } from '../../src/http/index.js';
import type { Convention } from './convention.types.js';
import { documentOf } from './mount.js';
import { bindOrRefuse } from './request.js';
import type { RestOptions, RestRequest } from './rest.types.js';
import type { Carried, RouteAnswer } from './route.types.js';

export const JSON_HEADERS: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' };

/** A refusal as the convention has it. */
export function errorAnswer(fault: unknown, convention: Convention, requestId: string): HttpAnswer {
  const error = toApiError(fault);
  return {
    status: error.status,
    headers: { ...JSON_HEADERS, ...errorHeaders(error) },
    body: JSON.stringify(convention.errorBody(error, requestId)),
  };
}

/** The same of a request that was read; an unknown fault is told to the log. */
export function refusalOf(options: RestOptions, rest: RestRequest, fault: unknown): HttpAnswer {
  const { requestId } = rest.call;
  return errorAnswer(visibleError(options.edge, fault, requestId), rest.convention, requestId);
}

/** Runs the row's document, or has the engine write the answer of the row's operation. @throws ApiError */
export async function answerOf(options: RestOptions, rest: RestRequest): Promise<HttpAnswer> {
  const { endpoint, context, asked } = rest;
  const { operation } = endpoint.route;
  if (operation !== undefined) {
    const { text } = await options.write[operation](rest.call, rest.body ?? {});
    if (asked === undefined)
      return { status: 200, headers: JSON_HEADERS, body: await writeText(text, options.edge.timeSlicer) };
    const { body, headers } = await asked.whole(text, carriedFor(options, rest));
    return await written({ body, headers: { ...headers, ...rest.call.answerHeaders } }, options.edge);
  }
  const result = await documentOf(endpoint).run(await bindOrRefuse(options, rest), context);
  const carried = carriedFor(options, rest);
  if (asked !== undefined) return await written(await asked.whole(result, carried), options.edge);
  if (!endpoint.route.respond)
    return { status: 200, headers: JSON_HEADERS, body: await writeJson(result, options.edge.timeSlicer) };
  const shown = await endpoint.route.respond(result as Record<string, unknown>, {
    accept: rest.accept,
    asked: rest.body ?? {},
    isForm: rest.isForm,
    convention: rest.convention.name,
    query: rest.query,
    readFile: carried.readFile,
  });
  return await written(shown, options.edge);
}

export const carriedFor = ({ readFile, edge }: RestOptions, { call }: RestRequest): Carried => ({
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

/** The same, a refusal as an answer too. */
export async function answerOrRefuse(options: RestOptions, rest: RestRequest): Promise<HttpAnswer> {
  try {
    return await answerOf(options, rest);
  } catch (fault) {
    const carried = options.edge.rateOf(fault);
    if (carried) rest.call.rate = carried;
    return refusalOf(options, rest, fault);
  }
}
