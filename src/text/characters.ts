/** Counts characters as code points, as readers and JSON Schema's `maxLength` do. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Whether a text has more than `max` characters. A character has at most two units, so a very long text need not be counted. */
export function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || characterCount(text) > max);
}

/** The first `max` characters; no character is cut in half. */
export function firstCharacters(text: string, max: number): string {
  if (text.length <= max) return text;
  let end = 0;
  let count = 0;
  for (const character of text) {
    if (count++ === max) break;
    end += character.length;
  }
  return text.slice(0, end);
}

/** Removes the given characters from the end of a text in one pass. A pattern such as /=+$/ would scan every run of them in a hostile text again. */
export function withoutEnding(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] as string)) end--;
  return text.slice(0, end);
}
