import type { ServerResponse } from 'node:http';
import { ApiError, invalid } from '../../src/contract/errors.js';
import type { AnswerRecorder, IdempotentRequest, IdempotentRun } from '../../src/http/index.js';
import {
  prepareRun,
  rateFor,
  returnIfRefused,
  sendAnswer,
  sendReplay,
  setRate,
  SSE_HEADERS,
  visibleError,
} from '../../src/http/index.js';
import { liveEvents } from './live-answer.js';
import { documentOf } from './mount.js';
import { bindOrRefuse } from './request.js';
import { refusalOf } from './respond.js';
import type { RestOptions, RestRequest } from './rest.types.js';
import type { EventWriter } from './route.types.js';
import { awaitStream } from './await-stream.js';
import type { OpenedStream } from './await-stream.js';
import { sendEvents } from './stream.js';

const TOO_LARGE = new ApiError('server_error', 'The answer was too large to be joined');

export interface Streaming {
  options: RestOptions;
  rest: RestRequest;
  response: ServerResponse;
}

/**
 * Whether the call asked for a stream: in the body or in the query (contract 4.1).
 * @throws ApiError invalid_request for another word than true or false in the query
 */
export function isStreaming(options: RestOptions, rest: RestRequest): boolean | Promise<boolean> {
  const { endpoint, body, query, dialectCall } = rest;
  if (dialectCall !== undefined) return dialectCall.streams;
  if (endpoint.stream === null) return false;
  return query === '' ? body?.['stream'] === true : isStreamingByQuery(options, rest);
}

async function isStreamingByQuery(options: RestOptions, rest: RestRequest): Promise<boolean> {
  const { endpoint, body, query } = rest;
  const dialectCall = new URLSearchParams(query).get('stream');
  if (dialectCall !== null && dialectCall !== 'true' && dialectCall !== 'false') {
    await options.takeSlots(endpoint.operation.field, rest);
    throw invalid('stream must be true or false', 'stream');
  }
  return body?.['stream'] === true || dialectCall === 'true';
}

/**
 * Streamed chat: the source events are the chunks' JSON texts, written unchanged, without an execution for each token.
 * With an Idempotency-Key the stream continues without its reader, so that a retry can join or replay it.
 */
export async function streamChat(work: Streaming & { idempotent: IdempotentRequest | null }): Promise<void> {
  const { options, rest, response, idempotent } = work;
  if (idempotent === null) return void (await carryChat(work, null));
  await options.edge.takeSlot(rest.call);
  const outcome = await options.edge.idempotency.begin(idempotent);
  setRate(response, rest.call.rate);
  if (await sendReplay(response, outcome)) return;
  if (outcome.kind !== 'run') return void (await carryChat(work, null));
  prepareRun(rest.call, outcome.run);
  await carryRecorded(work, outcome.run);
}

async function carryRecorded(work: Streaming, run: IdempotentRun): Promise<void> {
  const { options, rest, response } = work;
  let events: OpenedStream;
  try {
    events = await chatEvents(work);
  } catch (fault) {
    const answer = refusalOf(options, rest, fault);
    if (options.edge.idempotency.keeps(rest.call, answer))
      await run.finish({ ...answer, body: Buffer.from(answer.body) });
    else await run.abandon(answer.status);
    await returnIfRefused(options.edge, rest.call, answer.status);
    setRate(response, await rateFor(options.edge, rest.call, fault));
    return sendAnswer(response, answer);
  }
  const head = { status: 200, headers: { ...SSE_HEADERS, ...rest.call.answerHeaders } };
  const lost = rest.convention.errorEvent(TOO_LARGE, rest.call.requestId);
  const whole = await carryChat(work, run.record({ ...head, lost }), events);
  // A retry must not get an answer that broke off.
  await (whole ? run.finish(head) : run.abandon(500));
}

async function chatEvents({ options, rest }: Streaming): Promise<OpenedStream> {
  const { endpoint, context, call, query } = rest;
  const { streamArguments } = endpoint.route;
  const values = streamArguments ? streamArguments(await bindOrRefuse(options, rest), query) : {};
  return await awaitStream(endpoint.stream?.subscribe(values, context) ?? toldEvents(options, rest), call);
}

/** The events of an answer that its document returns as a whole. */
async function toldEvents(options: RestOptions, rest: RestRequest): Promise<AsyncIterable<string>> {
  if (rest.dialectCall?.answerEvents === undefined) throw new Error('the row has no stream');
  return await liveEvents(options, rest, rest.dialectCall.answerEvents());
}

async function carryChat(
  work: Streaming,
  recorder: AnswerRecorder | null,
  started?: OpenedStream,
): Promise<boolean> {
  const { options, rest, response } = work;
  const { events, isLate } = started ?? (await chatEvents(work));
  setRate(response, await rateFor(options.edge, rest.call));
  for (const [name, value] of Object.entries(rest.call.answerHeaders ?? {})) response.setHeader(name, value);
  const own = rest.dialectCall?.events?.() ?? rest.endpoint.route.events?.();
  const writer = own ?? (rest.dialectCall?.answerEvents ? toldWriter(rest) : chunkWriter(rest));
  return sendEvents({
    response,
    events,
    format: (chunk) => writer.event(chunk as string),
    ending: () => writer.ending(),
    // After the first chunk each failure has this code (decisions 6).
    fail: (fault) =>
      writer.fault(
        new ApiError('server_error', visibleError(options.edge, fault, rest.call.requestId).message),
      ),
    outlivesReader: recorder !== null,
    options: { copy: recorder ? (text) => recorder.write(text) : undefined, pingAtOnce: isLate },
  });
}

/** Writes chunks unchanged. */
function chunkWriter({ convention, call }: RestRequest): EventWriter {
  return {
    event: (chunk) => `data: ${chunk}\n\n`,
    ending: () => 'data: [DONE]\n\n',
    fault: (error) => convention.errorEvent(error, call.requestId),
  };
}

/** Writes events that are already complete texts. */
function toldWriter({ convention, call }: RestRequest): EventWriter {
  return {
    event: (text) => text,
    ending: () => '',
    fault: (error) => convention.errorEvent(error, call.requestId),
  };
}

/** The last event of a stream of the contract's own events. */
export function failureEvent({ options, rest }: Pick<Streaming, 'options' | 'rest'>, fault: unknown): string {
  const { requestId } = rest.call;
  return rest.convention.errorEvent(visibleError(options.edge, fault, requestId), requestId);
}

/** The row of a subscription: each event in the document's form, with its sequence as `id:`. */
export async function streamOperation({ options, rest, response }: Streaming): Promise<void> {
  const document = documentOf(rest.endpoint);
  const values = await bindOrRefuse(options, rest);
  const events = await document.subscribe(values, rest.context);
  setRate(response, await rateFor(options.edge, rest.call));
  await sendEvents({
    response,
    events,
    format: async (event) => {
      const shown = (await document.show(event, values, rest.context)) as { sequence: number };
      return `id: ${shown.sequence}\ndata: ${JSON.stringify(shown)}\n\n`;
    },
    ending: () => '',
    fail: (fault) => failureEvent({ options, rest }, fault),
    outlivesReader: false,
  });
}
