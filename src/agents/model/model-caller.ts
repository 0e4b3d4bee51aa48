import type { Logger } from 'pino';
import {
  boundAt,
  interruptedClasses,
  costBound,
  countTexts,
  createUpstreams,
  endingOf,
  openAnswer,
  outputBound,
  tokenRate,
  answerTokens,
  isCallable,
} from '../../generation/index.js';
import type { Upstreams } from '../../generation/index.js';
import { newId } from '../../contract/ids.js';
import { OperationTally, SUCCEEDED, toVector } from '../../metering/index.js';
import type { Model, ModelCatalogue } from '../../models/models.types.js';
import { parseChunk, RefusedFields, tokenClasses, UpstreamError } from '../../providers/index.js';
import type { ProviderRegistry } from '../../providers/index.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { RunFault } from '../runs/run.fault.js';
import type { EndedOperation } from '../runs/run.moves.queries.js';
import type { RunMeter } from '../runs/run.meter.js';
import { carriedFields, messagesFor } from './prompt-messages.js';
import type { ConventionPrompt } from './prompt-messages.js';
import { AnswerReader } from './model-stream.js';
import type { ModelAnswer } from './model-stream.js';

export interface ModelCallerOptions {
  models: ModelCatalogue;
  providers: ProviderRegistry;
  tokenizer: Tokenizer;
  logger: Logger;
}

export interface ModelCallRequest {
  model: Model;
  prompt: ConventionPrompt;
  /** Further fields of the convention: tools, temperature … */
  body: Record<string, unknown>;
  maxTokens: number;
  meter: RunMeter;
  signal: AbortSignal;
  /** False: the call is paid by a tool's own price. */
  metered: boolean;
  /** Collects the cost of the call if it is a part of another operation. Default: an operation of its own. */
  tally?: OperationTally;
}

/** A finished call. Its charge is not written yet: it is stored together with the steps that follow. */
export interface ModelCallResult {
  answer: ModelAnswer;
  operation: EndedOperation | null;
  tokens: number;
  /** The answer was cut because the credits were used up. */
  cutByCredits: boolean;
  /** Id of the model that answered. */
  model: string;
}

/** Tokens that the convention adds to each message, and to the answer that begins. */
const PER_MESSAGE = 4;
const PER_ANSWER = 3;
/** Of an agent (contract 4.8). */
const DEFAULT_TEMPERATURE = 0.7;
/** The maximum of characters that a token has on average. */
const CHARACTERS_PER_TOKEN = 64;

/** One model call of a run: reserved before it begins, streamed, and counted. */
export type ModelCaller = (request: ModelCallRequest) => Promise<ModelCallResult>;

/** Calls go through the same routing, retries and fallbacks as chat (decisions 6, "Upstreams"). */
export function createModelCaller(options: ModelCallerOptions): ModelCaller {
  const upstreams = createUpstreams(options);
  const refused = new RefusedFields();
  return async (request) => {
    const { model, meter } = request;
    const promptTokens = await countPrompt(options.tokenizer, request);
    const maxTokens = outputBound(model, { promptTokens, maxTokens: request.maxTokens });
    const operationId = newId('op');
    const tally = request.tally ?? new OperationTally();
    tally.pricedOnly = () => meter.isBoundInUsd;
    tally.mayUseFallback = (target) => isCallable(meter.caller, target);
    const covered = request.metered
      ? await meter.reserveTokens(operationId, model, {
          price: { promptTokens, maxTokens, multiplier: tokenRate(model) },
          costBound: () =>
            costBound({ models: options.models, caller: meter.caller }, model, { promptTokens, maxTokens }),
        })
      : promptTokens + maxTokens;
    const allowed = Math.max(1, Math.min(maxTokens, covered - promptTokens));
    const reader = new AnswerReader(allowed * CHARACTERS_PER_TOKEN + 100_000);
    let answered: Model;
    try {
      answered = await stream({ ...options, upstreams, refused }, request, {
        promptTokens,
        allowed,
        reader,
        tally,
      });
    } catch (error) {
      if (request.metered) await meter.release(operationId, tally.outcome(endingOf(error)));
      throw error;
    }
    const { answer } = reader;
    const counted = await answerTokens(answer.usage, {
      prompt: promptTokens,
      completion: () => countAnswer(options.tokenizer, answer),
      generated: () => answer.text !== '' || answer.calls.length > 0,
    });
    const { total: tokens } = counted;
    tally.answers({ model: answered, tokens: tokenClasses(counted, answer.usage), upstreamId: reader.id });
    const amounts = toVector(meter.tokenAmounts(tokens, tokenRate(model)));
    return {
      answer,
      operation: request.metered ? meter.ended(operationId, amounts, tally.outcome(SUCCEEDED)) : null,
      tokens: request.metered ? tokens : 0,
      model: answered.id,
      cutByCredits: answer.finish === 'length' && allowed < maxTokens,
    };
  };
}

async function countPrompt(tokenizer: Tokenizer, { prompt, body, model }: ModelCallRequest): Promise<number> {
  const window = model.contextWindow ?? Number.POSITIVE_INFINITY;
  const tools = body['tools'] === undefined ? [] : [JSON.stringify(body['tools'])];
  const fixed = prompt.messages.length * PER_MESSAGE + PER_ANSWER + prompt.images * model.imageTokens;
  const tokens =
    fixed + (await countTexts([...prompt.texts, ...tools], { tokenizer, limit: window - fixed }));
  if (tokens >= window)
    throw new RunFault(`The run became longer than the model's context window of ${window} tokens`);
  return tokens;
}

async function countAnswer(tokenizer: Tokenizer, answer: ModelAnswer): Promise<number> {
  const texts = [
    answer.text,
    answer.reasoning,
    ...answer.calls.flatMap((call) => [call.name, call.arguments]),
  ];
  return await countTexts(texts, { tokenizer, limit: Number.POSITIVE_INFINITY });
}

interface Asking extends Pick<ModelCallerOptions, 'tokenizer'> {
  upstreams: Upstreams;
  refused: RefusedFields;
}

interface Reading {
  promptTokens: number;
  allowed: number;
  reader: AnswerReader;
  tally: OperationTally;
}

/** @returns the model that answered */
async function stream(
  { upstreams, refused, tokenizer }: Asking,
  request: ModelCallRequest,
  { promptTokens, allowed, reader, tally }: Reading,
): Promise<Model> {
  const { model, prompt, body, signal } = request;
  const { value, model: answered } = await upstreams.ask(model, { signal, tally }, (provider, target) => {
    const { chat } = provider;
    if (chat === undefined)
      throw new UpstreamError('No chat at this provider', { status: null, retryable: false });
    const requested = {
      path: 'carried',
      modelId: target.id,
      optional: () => carriedFields(prompt, target.id),
    };
    return refused.send(requested, (without) =>
      openAnswer(chat, {
        modelId: target.upstream?.modelId ?? target.name,
        body: { ...body, messages: messagesFor(prompt, target.id, without) },
        maxTokens: boundAt(target, { promptTokens, maxTokens: allowed }),
        outputCap: target.upstream?.outputCap ?? 'max_tokens',
        promptTokens,
        offeredOnly: true,
        // The contract's default, for an agent that sets none.
        optional: body['temperature'] === DEFAULT_TEMPERATURE ? ['temperature'] : [],
        signal,
      }),
    );
  });
  const { chunks, first, calls, usage } = value;
  reader.id = value.id;
  tally.began();
  try {
    for (const chunk of first) reader.take(chunk);
    reader.answer.usage = usage;
    for (let raw = await chunks.next(); raw !== null; raw = await chunks.next())
      reader.take(parseChunk(raw, calls));
    const closing = calls.closing();
    if (closing !== null) reader.take(parseChunk(closing, calls));
  } catch (error) {
    chunks.cancel();
    // The answer was complete; only the end of the stream was missing.
    if (reader.finished && error instanceof UpstreamError && error.fault === 'failed') {
      reader.end();
      return answered;
    }
    const delivered = await countAnswer(tokenizer, reader.answer);
    const tokens = interruptedClasses(reader.answer.usage, { prompt: promptTokens, delivered });
    tally.answers({ model: answered, tokens, upstreamId: reader.id });
    throw error;
  }
  reader.end();
  return answered;
}
