/** About how many characters are written in one piece, which takes less than a millisecond. */
const PIECE_LENGTH = 64 * 1024;
/** Shorter JSON is written at once, which takes two or three milliseconds. */
const LONG_LENGTH = 512 * 1024;
/** About how many characters a number takes. */
const NUMBER_LENGTH = 16;
const QUOTES_LENGTH = 4;

/** Whether writing a value as JSON takes so long that it must be done in slices. Looks only at as much of the value as needed. */
export function isLongJson(value: unknown): boolean {
  return lengthOf(value, LONG_LENGTH) >= LONG_LENGTH;
}

/** Estimates the length of a value's JSON, up to about `most`; the rest of the value is not looked at. */
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

/** An object with a `toJSON` of its own, such as a date. */
const isSpecial = (value: object): boolean => typeof (value as { toJSON?: unknown }).toJSON === 'function';

/**
 * Yields the JSON of a value as JSON.stringify would write it, in pieces that each take less than a millisecond. It supports plain objects and
 * objects with a `toJSON`, but not `undefined` at the root.
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

/** Splits a text into pieces. */
export function* textPieces(text: string): Generator<string, void> {
  for (let from = 0; from < text.length;) {
    const to = endOfPiece(text, from);
    yield text.slice(from, to);
    from = to;
  }
}

/** Never splits a surrogate pair, because each half would be written as an escape. */
function endOfPiece(text: string, from: number): number {
  const to = from + PIECE_LENGTH;
  return (text.charCodeAt(to - 1) & 0xfc00) === 0xd800 ? to + 1 : to;
}

function* piecesOfList(list: unknown[]): Generator<string, void> {
  let before = '[';
  for (let from = 0; from < list.length;) {
    const to = endOfGroup(list, from);
    yield before;
    // This item may be long by itself.
    if (to === from + 1 && isLongKind(list[from])) yield* jsonPieces(list[from]);
    else yield JSON.stringify(list.slice(from, to)).slice(1, -1);
    before = ',';
    from = to;
  }
  yield ']';
}

const isLongKind = (value: unknown): boolean =>
  typeof value === 'string' || (typeof value === 'object' && value !== null);

/** Collects items that make one piece together; at least one. */
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
