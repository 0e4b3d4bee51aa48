/** Characters of a passage, and how many of the one before it are repeated so that no sentence is lost between two. */
const TARGET = 900;
const OVERLAP = 120;
/** Characters that are cleaned at a time: what their cleaning needs is a multiple of them. */
const SLICE = 65_536;
/** More than a book; a file that has more is failed rather than cut in silence. */
const MAX_CHUNKS = 20_000;

/** Where to end a passage that may reach `limit`: after a paragraph, else a sentence, else a word. */
function breakBefore(text: string, start: number, limit: number): number {
  if (limit >= text.length) return text.length;
  // Only there: in a text without paragraphs a search back for one would go to its beginning, for every passage.
  const passage = text.slice(start, limit);
  for (const mark of ['\n\n', '\n', '. ', '? ', '! ', '; ', ' ']) {
    const at = passage.lastIndexOf(mark);
    if (at >= TARGET / 2) return start + at + mark.length;
  }
  // Never between the halves of a surrogate pair.
  const code = text.charCodeAt(limit);
  return code >= 0xdc00 && code <= 0xdfff ? limit - 1 : limit;
}

/** A text that goes on with more may be cleaned again with it: nothing of it changes but blanks at its end. */
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

/** Takes the passages of a text that may go on, unless it is the `last`. @returns where the next one begins */
function take(text: string, last: boolean, chunks: string[]): number {
  let start = 0;
  while (last ? start < text.length : start + TARGET < text.length) {
    const end = breakBefore(text, start, start + TARGET);
    const chunk = text.slice(start, end).trim();
    if (chunk !== '') chunks.push(chunk);
    if (chunks.length > MAX_CHUNKS) throw new Error('The file has too much text');
    if (end >= text.length) return end;
    const from = Math.max(start + 1, end - OVERLAP);
    const back = text.slice(from, end).indexOf(' ');
    start = back === -1 ? end : from + back + 1;
  }
  return start;
}

/** Text as passages of at most about 900 characters, in order. @throws Error for more than 20,000 */
export function chunksOf(text: string): string[] {
  const chunks: string[] = [];
  let rest = '';
  for (let at = 0; at < text.length;) {
    const end = sliceEnd(text, at + SLICE);
    rest = cleaned(rest + text.slice(at, end));
    if (chunks.length === 0) rest = rest.trimStart();
    const last = end === text.length;
    if (last) rest = rest.trimEnd();
    rest = rest.slice(take(rest, last, chunks));
    at = end;
  }
  return chunks;
}
