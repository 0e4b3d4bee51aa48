import { nextSlice } from '../../collections/time-slicer.js';
import type { Random } from '../random.js';
import type { Tokenizer } from '../../text/tokenizer.js';

/** A piece of an answer as it is streamed: the text of one token (rarely of a few that share a character). */
export interface Piece {
  text: string;
  tokens: number;
}

/** Every word with its leading space, and the full stop, is exactly one token (a test holds it). */
export const OPENERS = [' The', ' Every', ' This', ' Each', ' Another', ' One'] as const;
export const NOUNS = [
  ' water',
  ' gate',
  ' river',
  ' valve',
  ' channel',
  ' stream',
  ' meter',
  ' turbine',
  ' basin',
  ' pressure',
  ' mill',
  ' wheel',
] as const;
export const VERBS = [
  ' moves',
  ' feeds',
  ' opens',
  ' fills',
  ' turns',
  ' meets',
  ' carries',
  ' follows',
] as const;
export const LINKS = [' the', ' a', ' its', ' another', ' every'] as const;
const STOP: Piece = { text: '.', tokens: 1 };

const one = (text: string): Piece => ({ text, tokens: 1 });

/** Endless sentences without meaning; each piece is one token. */
export function* filler(random: Random): Generator<Piece, never> {
  for (;;) {
    yield one(random.pick(OPENERS));
    yield one(random.pick(NOUNS));
    yield one(random.pick(VERBS));
    yield one(random.pick(LINKS));
    yield one(random.pick(NOUNS));
    yield STOP;
  }
}

/** The opening that says what this is, then filler up to `tokens` (or, without a number, `sentences`; null: a few). */
export function* prose(options: {
  opening: string;
  tokens: number | undefined;
  sentences: number | null;
  tokenizer: Tokenizer;
  random: Random;
}): Generator<Piece, void> {
  const few = 2 + options.random.int(4);
  const sentences = options.sentences ?? few;
  let left = options.tokens ?? Number.POSITIVE_INFINITY;
  for (const piece of options.tokenizer.split(options.opening)) {
    if (piece.tokens > left) return;
    left -= piece.tokens;
    yield piece;
  }
  let stops = 0;
  for (const piece of filler(options.random)) {
    if (left <= 0 || (options.tokens === undefined && stops >= sentences)) return;
    left -= 1;
    if (piece === STOP) stops++;
    yield piece;
  }
}

/** A text's pieces, for answers that are not prose: cut and counted as they are asked for. */
export function* piecesOf(text: string, tokenizer: Tokenizer): Generator<Piece, void> {
  yield* tokenizer.split(text);
}

/** Pieces that are examined before the event loop runs again. */
const BURST = 2000;
/** Longer stop sequences are ignored, because each is searched for again with every piece. */
const MAX_STOP = 1000;

/** Cuts pieces at `max` tokens and at the first stop sequence, as a model does. */
export async function cut(
  pieces: Iterable<Piece>,
  max: number,
  stops: readonly string[],
): Promise<{ pieces: Piece[]; finish: 'stop' | 'length' }> {
  const kept: Piece[] = [];
  const looked = stops.filter((stop) => stop.length <= MAX_STOP);
  const longest = Math.max(0, ...looked.map((stop) => stop.length));
  const burst = longest === 0 ? BURST : BURST / 20;
  let tail = '';
  let used = 0;
  for (const piece of pieces) {
    if (used + piece.tokens > max) return { pieces: kept, finish: 'length' };
    used += piece.tokens;
    kept.push(piece);
    if (kept.length % burst === 0) await nextSlice();
    if (longest === 0) continue;
    tail += piece.text;
    const found = looked.map((stop) => tail.indexOf(stop)).filter((at) => at !== -1);
    if (found.length > 0) return { pieces: dropEnd(kept, tail.length - Math.min(...found)), finish: 'stop' };
    // Earlier text cannot be the beginning of a stop sequence.
    tail = tail.slice(Math.max(0, tail.length - longest + 1));
  }
  return { pieces: kept, finish: 'stop' };
}

/** Removes `characters` from the end. */
function dropEnd(pieces: Piece[], characters: number): Piece[] {
  let drop = characters;
  while (drop > 0) {
    const last = pieces.pop();
    if (!last) break;
    if (last.text.length > drop)
      pieces.push({ text: last.text.slice(0, last.text.length - drop), tokens: last.tokens });
    drop -= last.text.length;
  }
  return pieces;
}
