import { timeSlicer } from '../../collections/time-slicer.js';
import { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import { UpstreamError } from '../../providers/index.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { allowedTexts } from './request.js';
import type { ChatRequest } from './request.js';

/** Tokens that are added for each message, and for the beginning of the answer. */
const PER_MESSAGE = 4;
const PER_ANSWER = 3;
/** Texts up to this total length are counted synchronously, which takes ten milliseconds at most. */
const QUICK = 10_240;
/** Longer answers are not joined in one turn of the event loop. */
const LONG = 128 * 1024;
/** This number of pieces is joined quickly. */
const FEW = 1000;

/**
 * Counts a prompt's tokens: texts by the tokenizer, images by the model's entry. Synchronous if the texts are short.
 * @throws ApiError invalid_request if it does not fit the model's context window
 */
export function countPrompt(
  request: ChatRequest,
  model: Model,
  tokenizer: Tokenizer,
): number | Promise<number> {
  const window = model.contextWindow ?? Number.POSITIVE_INFINITY;
  const seen = request.images + request.attachments;
  const fixed = request.upstreamBody.messages.length * PER_MESSAGE + PER_ANSWER + seen * model.imageTokens;
  const texts = [...request.texts, ...allowedTexts(request, model)];
  const counted = countTexts(texts, { tokenizer, limit: window - fixed });
  return typeof counted === 'number'
    ? within(fixed + counted, window)
    : counted.then((tokens) => within(fixed + tokens, window));
}

function within(tokens: number, window: number): number {
  if (tokens >= window) {
    throw new ApiError(
      'invalid_request',
      `The prompt is longer than the model's context window of ${window} tokens`,
      {
        param: 'messages',
      },
    );
  }
  return tokens;
}

/** Counts the tokens of texts: synchronously if they are short, else in slices that do not block the event loop. */
export function countTexts(
  texts: readonly string[],
  { tokenizer, limit }: { tokenizer: Tokenizer; limit: number },
): number | Promise<number> {
  let length = 0;
  for (const text of texts) length += text.length;
  if (!tokenizer.loaded || length > QUICK || texts.length > FEW) return tokenizer.countAll(texts, limit);
  let tokens = 0;
  for (const text of texts) tokens += tokenizer.count(text);
  return tokens;
}

/** Tokens of the delivered text. @param pieces as JSON strings */
export async function countDelivered(literals: readonly string[], tokenizer: Tokenizer): Promise<number> {
  const joined = literals.join();
  const texts =
    joined.length <= LONG
      ? (JSON.parse(`[${joined}]`) as string[])
      : await timeSlicer.map(literals, (literal) => JSON.parse(literal) as string);
  return await countTexts([texts.join('')], { tokenizer, limit: Number.POSITIVE_INFINITY });
}

interface Asked {
  promptTokens: number;
  maxTokens: number;
}

/** The maximum of tokens that a model can generate: the request, reduced to the model's own limit and to the rest of its context window. */
export function outputBound(model: Model, { promptTokens, maxTokens }: Asked): number {
  const window = model.contextWindow === null ? Number.POSITIVE_INFINITY : model.contextWindow - promptTokens;
  return Math.min(maxTokens, model.maxOutputTokens ?? Number.POSITIVE_INFINITY, window);
}

/**
 * The same for the model that is about to be called, perhaps a fallback.
 * @throws UpstreamError if the prompt does not fit its context window: the next fallback may have a larger one
 */
export function boundAt(target: Model, asked: Asked): number {
  const bound = outputBound(target, asked);
  if (bound < 1)
    throw new UpstreamError("The prompt is longer than the fallback's window", {
      status: null,
      retryable: false,
    });
  return bound;
}
