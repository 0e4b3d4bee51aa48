/** Characters of a passage in most texts, and of its overlap with the passage before, so that no sentence is split between two. */
const USUAL = 900;
const OVERLAP = 120;
/** Characters that are cleaned at a time; the cleaning needs a multiple of this much memory. */
const SLICE = 65_536;
/** The maximum of passages of one text. Every question is compared with each passage's vector, so a long text has longer passages. */
const MAX_CHUNKS = 40_000;

/** A passage adds at least half of its maximum length, besides the overlap. */
const limitFor = (length: number): number => Math.max(USUAL, Math.ceil(2 * (length / MAX_CHUNKS + OVERLAP)));

/** Where to end a passage of at most `most`: after a paragraph, else a sentence, else a word. */
function breakBefore(text: string, start: number, most: number): number {
  const limit = start + most;
  if (limit >= text.length) return text.length;
  // Searched within this slice only: in a text without paragraphs, each search would otherwise go back to the beginning.
  const passage = text.slice(start, limit);
  for (const mark of ['\n\n', '\n', '. ', '? ', '! ', '; ', ' ']) {
    const at = passage.lastIndexOf(mark);
    if (at >= most / 2) return start + at + mark.length;
  }
  // Never between the halves of a surrogate pair.
  const code = text.charCodeAt(limit);
  return code >= 0xdc00 && code <= 0xdfff ? limit - 1 : limit;
}

/** Cleaned text may be cleaned again together with the text that follows it: only blanks at its end change. */
function cleaned(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replaceAll('\0', '')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/\n{3,}/g, '\n\n')
    .toWellFormed();
}

/** Where a slice may end: neither between the halves of a surrogate pair nor inside a line break of two characters. */
function sliceEnd(text: string, limit: number): number {
  if (limit >= text.length) return text.length;
  const last = text.charCodeAt(limit - 1);
  return last === 0x0d || (last >= 0xd800 && last <= 0xdbff) ? limit - 1 : limit;
}

/** Cuts passages from a text that continues, unless it is the `last` part. @returns the start of the next passage */
function* take(text: string, last: boolean, most: number): Generator<string, number> {
  let start = 0;
  while (last ? start < text.length : start + most < text.length) {
    const end = breakBefore(text, start, most);
    const chunk = text.slice(start, end).trim();
    if (chunk !== '') yield chunk;
    if (end >= text.length) return end;
    const from = Math.max(start + 1, end - OVERLAP);
    const back = text.slice(from, end).indexOf(' ');
    start = back === -1 ? end : from + back + 1;
  }
  return start;
}

function* slicesOf(pieces: readonly string[]): Generator<string> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      const end = sliceEnd(piece, at + SLICE);
      yield piece.slice(at, end);
      at = end;
    }
  }
}

/**
 * The passages, in order, of a text that comes in pieces (none of which ends within a character or a line break): at most some 40,000, of at
 * most 900 characters each in a text of up to 13 million, of 2,900 in one of 50.
 */
export function* chunksOf(pieces: readonly string[]): Generator<string, void> {
  const most = limitFor(pieces.reduce((sum, { length }) => sum + length, 0));
  let rest = '';
  let begun = false;
  for (const slice of slicesOf(pieces)) {
    rest = cleaned(rest + slice);
    if (!begun) rest = rest.trimStart();
    begun ||= rest !== '';
    rest = rest.slice(yield* take(rest, false, most));
  }
  yield* take(rest.trimEnd(), true, most);
}
