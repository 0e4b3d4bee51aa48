/** Characters of a passage, and how many of the one before it are repeated so that no sentence is lost between two. */
const TARGET = 900;
const OVERLAP = 120;
/** More than a book; a file that has more is failed rather than cut in silence. */
export const MAX_CHUNKS = 20_000;

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

/** Text as passages of at most about 900 characters, in order. @throws RangeError for more than 20,000 */
export function chunksOf(text: string): string[] {
  const clean = text
    .replace(/\r\n?/g, '\n')
    .replaceAll('\0', '')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/\n{3,}/g, '\n\n')
    .toWellFormed()
    .trim();
  const chunks: string[] = [];
  for (let start = 0; start < clean.length;) {
    const end = breakBefore(clean, start, start + TARGET);
    const chunk = clean.slice(start, end).trim();
    if (chunk !== '') chunks.push(chunk);
    if (chunks.length > MAX_CHUNKS) throw new RangeError('The file has too much text');
    if (end >= clean.length) break;
    const from = Math.max(start + 1, end - OVERLAP);
    const back = clean.slice(from, end).indexOf(' ');
    start = back === -1 ? end : from + back + 1;
  }
  return chunks;
}
