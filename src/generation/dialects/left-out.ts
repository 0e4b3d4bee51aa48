/** The maximum of characters that list removed tools (beyond 11.7). */
const MAX_LENGTH = 512;

/** The types of tools that were removed from a call, each once, as the answer lists them; null if there were none. */
export function leftOutText(types: readonly string[]): string | null {
  let text = '';
  for (const type of new Set(types)) {
    const longer = text === '' ? type : `${text},${type}`;
    if (longer.length > MAX_LENGTH) break;
    text = longer;
  }
  return text === '' ? null : text;
}
