/** Characters are code points: what a reader counts, whatever their encoding, and what JSON Schema's `maxLength` counts. */
export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Whether a text has more than `max` characters. A character takes two units at most: a text of megabytes is not counted. */
export function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || characterCount(text) > max);
}

/** The first `max` characters, none of them cut in half. */
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

/** A text without the run of some characters that it ends with, in one look: a pattern such as /=+$/ looks at every run of a hostile text again. */
export function withoutEnding(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text[end - 1] as string)) end--;
  return text.slice(0, end);
}
