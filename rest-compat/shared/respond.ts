import { toApiError } from '../../src/contract/errors.js';
import type { HttpAnswer } from '../../src/http/index.js';
import { errorHeaders, visibleError, writeJson } from '../../src/http/index.js';
import { bindOrRefuse } from './request.js';
import type { RestOptions, RestRequest } from './rest.types.js';

export const JSON_HEADERS: Record<string, string> = { 'content-type': 'application/json; charset=utf-8' };

/** `{error, code, param, remaining, retryAfter}` (contract 7.1). */
export function errorAnswer(fault: unknown): HttpAnswer {
  const error = toApiError(fault);
  const { param, remaining, retryAfter } = error.details;
  return {
    status: error.status,
    headers: { ...JSON_HEADERS, ...errorHeaders(error) },
    body: JSON.stringify({ error: error.message, code: error.code, param, remaining, retryAfter }),
  };
}

/** Runs the row's document; chat's answer is written once, not through a document. @throws ApiError */
export async function answerOf(options: RestOptions, rest: RestRequest): Promise<HttpAnswer> {
  const { endpoint, context } = rest;
  const { turns } = options.edge;
  if (endpoint.route.raw === 'chat') {
    const { text } = await options.completeChat(rest.call, rest.body ?? {});
    return { status: 200, headers: JSON_HEADERS, body: text };
  }
  const result = await endpoint.document.run(await bindOrRefuse(options, rest), context);
  if (!endpoint.route.respond)
    return { status: 200, headers: JSON_HEADERS, body: await writeJson(result, turns) };
  const readFile = (url: string) => options.readFile(rest.call, url);
  const shown = await endpoint.route.respond(result as Record<string, unknown>, {
    accept: rest.accept,
    asked: rest.body ?? {},
    isForm: rest.isForm,
    readFile,
  });
  return {
    status: 200,
    headers: shown.headers ? { ...JSON_HEADERS, ...shown.headers } : JSON_HEADERS,
    body: Buffer.isBuffer(shown.body) ? shown.body : await writeJson(shown.body, turns),
  };
}

/** The same, a refusal as an answer too. */
export async function answerOrRefuse(options: RestOptions, rest: RestRequest): Promise<HttpAnswer> {
  try {
    return await answerOf(options, rest);
  } catch (fault) {
    const carried = options.edge.rateOf(fault);
    if (carried) rest.call.rate = carried;
    return errorAnswer(visibleError(options.edge, fault, rest.call.requestId));
  }
}
