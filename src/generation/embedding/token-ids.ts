import { nextSlice } from '../../collections/time-slicer.js';
import { invalid } from '../../contract/errors.js';

/** The ids of cl100k_base: its vocabulary, and its five special tokens, which are treated as plain text. */
const VOCABULARY = 100_256;
const SPECIAL: Readonly<Record<number, string>> = {
  100257: '<|endoftext|>',
  100258: '<|fim_prefix|>',
  100259: '<|fim_middle|>',
  100260: '<|fim_suffix|>',
  100276: '<|endofprompt|>',
};
/** Ids that are decoded in one turn of the event loop (a few milliseconds). */
const IDS_PER_TURN = 20_000;

/** Whether an input is ids: a list of them, or a list of such lists. (An empty list is neither ids nor texts.) */
export function isTokenIds(input: unknown): input is unknown[] {
  if (!Array.isArray(input)) return false;
  const [first] = input as unknown[];
  return typeof first === 'number' || Array.isArray(first);
}

/** @throws ApiError invalid_request that names the place of an invalid token */
export function readTokenIds(input: unknown[]): number[][] {
  if (typeof input[0] === 'number') return [readList(input, 'input')];
  return input.map((list, index) => readList(list, `input[${index}]`));
}

function readList(list: unknown, where: string): number[] {
  if (!Array.isArray(list)) throw invalid(`${where} must be an array of tokens, as the others are`, 'input');
  if (list.length === 0) throw invalid(`${where} must not be empty`, 'input');
  for (const [index, id] of (list as unknown[]).entries())
    if (!isTokenId(id)) throw invalid(`${where}[${index}] must be the id of a token of cl100k_base`, 'input');
  return list as number[];
}

function isTokenId(id: unknown): boolean {
  if (typeof id !== 'number' || !Number.isInteger(id) || id < 0) return false;
  return id < VOCABULARY || SPECIAL[id] !== undefined;
}

/**
 * Decodes lists of ids to texts. Invalid UTF-8 becomes U+FFFD. (The library's own `decode` shares one decoder between all callers, which would
 * pass an incomplete character's bytes to the next caller.)
 */
export async function decodeTokenIds(lists: readonly number[][]): Promise<string[]> {
  const { default: vocabulary } = await import('gpt-tokenizer/bpeRanks/cl100k_base');
  const texts: string[] = [];
  let sinceTurn = 0;
  for (const list of lists) {
    const pieces: Buffer[] = [];
    for (const id of list) {
      const token = vocabulary[id] ?? SPECIAL[id] ?? '';
      pieces.push(Buffer.from(token as string));
      if (++sinceTurn < IDS_PER_TURN) continue;
      sinceTurn = 0;
      await nextSlice();
    }
    texts.push(Buffer.concat(pieces).toString('utf8'));
  }
  return texts;
}
