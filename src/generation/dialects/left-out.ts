/** Most characters that name what was left out (beyond 11.7). */
const MAX_LENGTH = 512;

/** Types of tools that were left out of a call, each once, as an answer names them; null where there were none. */
export function leftOutText(types: readonly string[]): string | null {
  let text = '';
  for (const type of new Set(types)) {
    const longer = text === '' ? type : `${text},${type}`;
    if (longer.length > MAX_LENGTH) break;
    text = longer;
  }
  return text === '' ? null : text;
}
