/** The maximum of characters that list removed tools (beyond 11.7). */
const MAX_LENGTH = 512;

/** Characters that a header cannot have, and the comma, which separates types in it. */
const UNSAFE = /[^\x21-\x2b\x2d-\x7e]/gu;

/** The types of tools that were removed from a call, each once, as a header lists them; null if there were none. */
export function leftOutText(types: readonly string[]): string | null {
  let text = '';
  for (const given of new Set(types)) {
    const type = given.slice(0, MAX_LENGTH).toWellFormed().replace(UNSAFE, encodeURIComponent);
    const longer = text === '' ? type : `${text},${type}`;
    if (longer.length > MAX_LENGTH) break;
    text = longer;
  }
  return text === '' ? null : text;
}
