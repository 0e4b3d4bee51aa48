import type { ServerResponse } from 'node:http';
import { rateFor, sendWithCommonHeaders, setRate, untilDrained } from '../../src/http/index.js';
import { documentOf } from './mount.js';
import { bindOrRefuse } from './request.js';
import { answerContext, dialectAnswer } from './respond.js';
import type { RestOptions, RestRequest } from './rest.types.js';
import type { LiveForm } from './route.types.js';
import type { Streaming } from './streams.js';

/** An answer in parts, or a whole answer. */
type LiveAnswer<Piece> = { jobId: string; pieces: AsyncIterable<Piece> } | { jobId: null; answer: unknown };

/**
 * Runs a row's document and reads the parts of its job's result. Resolves with the first part, or with the whole answer if there are no parts.
 * @throws ApiError before that
 */
async function openLive<Piece>(
  options: RestOptions,
  rest: RestRequest,
  form: LiveForm<Piece>,
): Promise<LiveAnswer<Piece>> {
  const { endpoint, context, call } = rest;
  const opening = new Promise<{ jobId: string; parts: AsyncIterable<Buffer> }>((resolve) => {
    call.live = { liveOptions: form.liveOptions, opened: (jobId, parts) => resolve({ jobId, parts }) };
  });
  const values = await bindOrRefuse(options, rest);
  const answering = (async (): Promise<unknown> => await documentOf(endpoint).run(values, context))();
  const begun = await Promise.race([opening, answering.then((answer) => ({ jobId: null, answer }))]);
  if (begun.jobId === null) return begun;
  const parts = begun.parts[Symbol.asyncIterator]();
  // Reading ends immediately if the job fails or its caller disconnects.
  const failure = answering.then(() => new Promise<never>(() => undefined));
  failure.catch(() => undefined);
  const next = (): Promise<IteratorResult<Buffer>> => Promise.race([parts.next(), failure]);
  const leave = (): void => void parts.return?.().catch(() => undefined);
  const first = await next().catch((error: unknown) => {
    leave();
    throw error;
  });
  if (first.done === true) return { jobId: null, answer: await answering };
  async function* pieces(part: IteratorResult<Buffer>): AsyncGenerator<Piece> {
    try {
      for (let given = part; given.done !== true; given = await next()) yield form.part(given.value);
    } finally {
      leave();
    }
    yield* form.rest(await answering, answerContext(options, rest));
  }
  return { jobId: begun.jobId, pieces: pieces(first) };
}

/** Writes an answer as events, from the parts of its job's result. */
export async function liveEvents(
  options: RestOptions,
  rest: RestRequest,
  form: LiveForm<string>,
): Promise<AsyncIterable<string>> {
  const live = await openLive(options, rest, form);
  return live.jobId === null ? form.rest(live.answer, answerContext(options, rest)) : live.pieces;
}

/** Sends bytes when they arrive. A failure before the first byte is a normal error; a later one breaks the connection, so that nobody mistakes a part for the whole. */
export async function sendLive(
  { options, rest, response }: Streaming,
  { form, type }: { form: LiveForm<Buffer>; type: string },
): Promise<void> {
  const { edge } = options;
  const { call } = rest;
  const live = await openLive(options, rest, form);
  const rate = call.rate ?? (await rateFor(edge, call));
  if (live.jobId === null) {
    const answer = await dialectAnswer(options, rest, live.answer);
    return sendWithCommonHeaders(response, { requestId: call.requestId, rate }, answer);
  }
  edge.addCommonHeaders(response);
  setRate(response, rate);
  response.writeHead(200, { 'content-type': type, 'x-job-id': live.jobId });
  for await (const piece of live.pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drainedOrStalled(response);
  }
  response.end();
}

/** A reader that reads nothing for this time counts as disconnected (decisions 6, "Upstreams"). */
const STALL_MS = 60_000;

async function drainedOrStalled(response: ServerResponse): Promise<void> {
  const timer = setTimeout(() => response.destroy(), STALL_MS);
  await untilDrained(response);
  clearTimeout(timer);
}
