import type { IdempotentRequest, IdempotentRun } from '../../src/http/index.js';
import {
  prepareRun,
  rateFor,
  returnIfRefused,
  sendAnswer,
  sendReplay,
  setRate,
  SSE_HEADERS,
} from '../../src/http/index.js';
import { documentOf } from './mount.js';
import { bindOrRefuse } from './request.js';
import { refusalOf } from './respond.js';
import type { StreamedEvent } from './rest.types.js';
import { sendEvents } from './stream.js';
import { failureEvent } from './streams.js';
import type { Streaming } from './streams.js';

/** Joins a run (GET …/stream) after the event in `Last-Event-ID`. */
export async function streamRun(work: Streaming): Promise<void> {
  const { options, rest } = work;
  const values = await bindOrRefuse(options, rest);
  const events = await documentOf(rest.endpoint).subscribe(values, rest.context);
  await carryRun(work, events as AsyncIterable<StreamedEvent>);
}

/**
 * Starts a run and streams it (contract 4.8, 6.2). With an Idempotency-Key a retry finds the run of the first call, on any process,
 * and joins it from its start. Only the run's id is stored as the answer.
 */
export async function streamNewRun(
  work: Streaming & { idempotent: IdempotentRequest | null },
): Promise<void> {
  const { options, rest, response, idempotent } = work;
  if (idempotent === null) return carryRun(work, await options.joinRun(rest.call, await start(work)));
  await options.edge.takeSlot(rest.call);
  const outcome = await options.edge.idempotency.begin(idempotent);
  setRate(response, rest.call.rate);
  if (await sendReplay(response, outcome)) return;
  if (outcome.kind === 'run') prepareRun(rest.call, outcome.run);
  if (outcome.kind === 'run' || outcome.kind === 'await') rest.call.boundIds = outcome.boundIds;
  if (outcome.kind === 'await') response.setHeader('Idempotent-Replayed', 'true');
  const runId = outcome.kind === 'run' ? await startOnce(work, outcome.run) : await start(work);
  if (runId !== null) await carryRun(work, await options.joinRun(rest.call, runId));
}

async function start({ options, rest }: Streaming): Promise<string> {
  const values = await bindOrRefuse(options, rest);
  const run = (await documentOf(rest.endpoint).run(values, rest.context)) as { id: string };
  return run.id;
}

/** The run's id; null if the call was refused and answered. */
async function startOnce(work: Streaming, run: IdempotentRun): Promise<string | null> {
  const { options, rest, response } = work;
  try {
    const runId = await start(work);
    // The stored answer has no body; a retry joins the run.
    await run.finish({ status: 200, headers: { ...SSE_HEADERS } });
    return runId;
  } catch (fault) {
    const answer = refusalOf(options, rest, fault);
    if (options.edge.idempotency.keeps(rest.call, answer))
      await run.finish({ ...answer, body: Buffer.from(answer.body) });
    else await run.abandon(answer.status);
    await returnIfRefused(options.edge, rest.call, answer.status);
    setRate(response, await rateFor(options.edge, rest.call, fault));
    sendAnswer(response, answer);
    return null;
  }
}

async function carryRun(
  { options, rest, response }: Streaming,
  events: AsyncIterable<StreamedEvent>,
): Promise<void> {
  setRate(response, await rateFor(options.edge, rest.call));
  await sendEvents({
    response,
    events,
    format: (event) => {
      const { sequence, type, data } = event as StreamedEvent;
      return `id: ${sequence}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
    },
    ending: () => '',
    fail: (fault) => failureEvent({ options, rest }, fault),
    outlivesReader: false,
  });
}
