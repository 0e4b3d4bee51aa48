import { invalid } from '../../contract/errors.js';
import type { ApiError } from '../../contract/errors.js';
import type { Model } from '../../models/models.types.js';
import type { Tokenizer } from '../../text/tokenizer.js';
import { isTokenIds, readTokenIds } from './token-ids.js';

const MAX_TEXTS = 2048;
const MAX_DIMENSIONS = 4096;

/** A checked embeddings request (decisions 6, "Embeddings"). */
export interface EmbeddingRequest {
  /** Empty if the request has token ids. */
  texts: string[];
  /** Token ids instead of texts: unchanged, and as lists. Null if the request has texts. */
  tokenIds: { given: unknown[]; lists: number[][] } | null;
  base64: boolean;
  /** The caller's parameters for the upstream. */
  extras: { dimensions?: number; user?: string };
}

const wrongInput = (): ApiError =>
  invalid(`input must be a string or an array of 1 to ${MAX_TEXTS} strings`, 'input');

function readTexts(input: unknown): string[] {
  if (input == null) throw invalid('input is required', 'input');
  const texts = Array.isArray(input) ? (input as unknown[]) : [input];
  const isListed = Array.isArray(input);
  if (texts.length === 0 || (!isListed && typeof input !== 'string')) throw wrongInput();
  texts.forEach((text, index) => {
    const where = isListed ? `input[${index}]` : 'input';
    if (typeof text !== 'string') throw invalid(`${where} must be a string`, 'input');
    if (text === '') throw invalid(`${where} must not be empty`, 'input');
  });
  return texts as string[];
}

function readOptions(body: Record<string, unknown>): Omit<EmbeddingRequest, 'texts' | 'tokenIds'> {
  const { dimensions, encoding_format: format, user } = body;
  if (
    dimensions != null &&
    !(
      Number.isSafeInteger(dimensions) &&
      (dimensions as number) >= 1 &&
      (dimensions as number) <= MAX_DIMENSIONS
    )
  ) {
    throw invalid(`dimensions must be a whole number between 1 and ${MAX_DIMENSIONS}`, 'dimensions');
  }
  if (format != null && format !== 'float' && format !== 'base64') {
    throw invalid('encoding_format must be float or base64', 'encoding_format');
  }
  if (user != null && typeof user !== 'string') throw invalid('user must be a string', 'user');
  return {
    base64: format === 'base64',
    extras: {
      ...(dimensions == null ? {} : { dimensions: dimensions as number }),
      ...(user == null ? {} : { user }),
    },
  };
}

/** Unknown fields are ignored, null counts as absent. @throws ApiError invalid_request with `param` */
export function readEmbeddingRequest(body: Record<string, unknown>): EmbeddingRequest {
  const { input } = body;
  const tokenIds = isTokenIds(input) ? { given: input, lists: readTokenIds(input) } : null;
  const texts = tokenIds === null ? readTexts(input) : [];
  if (Math.max(texts.length, tokenIds?.lists.length ?? 0) > MAX_TEXTS) throw wrongInput();
  return { texts, tokenIds, ...readOptions(body) };
}

/** Tokens of all inputs. @throws ApiError invalid_request if one is longer than the model's window */
export async function countEmbeddingTokens(
  { texts, tokenIds }: Pick<EmbeddingRequest, 'texts' | 'tokenIds'>,
  model: Model,
  tokenizer: Tokenizer,
): Promise<number> {
  const window = model.contextWindow ?? Number.POSITIVE_INFINITY;
  const within = (tokens: number): number => {
    if (tokens > window) throw invalid(`input is longer than the model's ${window} tokens`, 'input');
    return tokens;
  };
  let total = 0;
  for (const list of tokenIds?.lists ?? []) total += within(list.length);
  for (const text of texts) total += within(await tokenizer.countAll([text], window));
  return total;
}
