/** About how many characters are written in one piece: less than a millisecond's work. */
const PIECE_LENGTH = 64 * 1024;
/** Shorter JSON is written at once, which takes two or three milliseconds. */
const LONG_LENGTH = 512 * 1024;
/** About how many characters a number takes. */
const NUMBER_LENGTH = 16;
const QUOTES_LENGTH = 4;

/** Whether writing a value as JSON takes so long that nobody should wait for it. Looks no further than it must. */
export function isLongJson(value: unknown): boolean {
  return lengthOf(value, LONG_LENGTH) >= LONG_LENGTH;
}

/** About how long a value's JSON is, and no more than about `most`: the rest is not looked at. */
function lengthOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + QUOTES_LENGTH;
  if (typeof value !== 'object' || value === null || isSpecial(value)) return NUMBER_LENGTH;
  let length = QUOTES_LENGTH;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length && length < most; at++)
      // Vectors have millions of numbers.
      length += typeof value[at] === 'number' ? NUMBER_LENGTH : lengthOf(value[at], most - length);
    return length;
  }
  const fields = value as Record<string, unknown>;
  for (const name in fields) {
    length += name.length + QUOTES_LENGTH + lengthOf(fields[name], most - length);
    if (length >= most) return length;
  }
  return length;
}

/** A date, say, which says itself what is written of it. */
const isSpecial = (value: object): boolean => typeof (value as { toJSON?: unknown }).toJSON === 'function';

/**
 * A value's JSON as JSON.stringify would write it, in pieces of which each takes less than a millisecond. Of objects it knows plain ones, and those with
 * a `toJSON`; `undefined` at the root is none.
 */
export function* jsonPieces(value: unknown): Generator<string, void> {
  if (lengthOf(value, PIECE_LENGTH) < PIECE_LENGTH) yield JSON.stringify(value);
  else if (typeof value === 'string') yield* piecesOfText(value);
  else if (Array.isArray(value)) yield* piecesOfList(value);
  else yield* piecesOfFields(value as Record<string, unknown>);
}

function* piecesOfText(text: string): Generator<string, void> {
  yield '"';
  for (const piece of textPieces(text)) yield JSON.stringify(piece).slice(1, -1);
  yield '"';
}

/** A text in pieces, of which each is a text. */
export function* textPieces(text: string): Generator<string, void> {
  for (let from = 0; from < text.length;) {
    const to = endOfPiece(text, from);
    yield text.slice(from, to);
    from = to;
  }
}

/** Never between the halves of a surrogate pair: each would be written as an escape. */
function endOfPiece(text: string, from: number): number {
  const to = from + PIECE_LENGTH;
  return (text.charCodeAt(to - 1) & 0xfc00) === 0xd800 ? to + 1 : to;
}

function* piecesOfList(list: unknown[]): Generator<string, void> {
  let before = '[';
  for (let from = 0; from < list.length;) {
    const to = endOfGroup(list, from);
    yield before;
    // An item that may be long by itself.
    if (to === from + 1 && isLongKind(list[from])) yield* jsonPieces(list[from]);
    else yield JSON.stringify(list.slice(from, to)).slice(1, -1);
    before = ',';
    from = to;
  }
  yield ']';
}

const isLongKind = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null);

/** Of items that make a piece together. At least one. */
function endOfGroup(list: unknown[], from: number): number {
  let length = 0;
  let to = from;
  do {
    length += lengthOf(list[to], PIECE_LENGTH) + 1;
    to++;
  } while (to < list.length && length < PIECE_LENGTH);
  return length >= 2 * PIECE_LENGTH && to > from + 1 ? to - 1 : to;
}

function* piecesOfFields(fields: Record<string, unknown>): Generator<string, void> {
  let before = '{';
  for (const name of Object.keys(fields)) {
    const value = fields[name];
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue;
    yield `${before}${JSON.stringify(name)}:`;
    yield* jsonPieces(value);
    before = ',';
  }
  yield before === '{' ? '{}' : '}';
}
