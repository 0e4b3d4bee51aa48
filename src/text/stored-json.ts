/**
 * JSON that PostgreSQL takes, whatever a model, an upstream or a page said: NUL characters are left out, lone surrogates replaced. Works on the text, so
 * that keys are covered as well: JSON.stringify writes both as escapes, and a pair of backslashes is none of them.
 */
export function storedJson(value: unknown): string {
  return JSON.stringify(value).replace(/\\(\\|u0000|ud[89a-f][0-9a-f]{2})/g, (whole, escape: string) => {
    if (escape === '\\') return whole;
    return escape === 'u0000' ? '' : '\\ufffd';
  });
}

/** Whether PostgreSQL takes a text. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** A text without NUL characters and half surrogate pairs, which JSON can hold and PostgreSQL and many upstreams refuse. */
export function storedText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}

/**
 * More levels than any answer needs, and fewer than JSON.stringify can write. JSON.parse reads any number of them.
 */
export const MAX_LEVELS = 1_000;

/** Whether a value has more than so many levels of arrays and objects. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const item of Array.isArray(value) ? (value as unknown[]) : Object.values(value))
    if (isDeeper(item, levels - 1)) return true;
  return false;
}

/**
 * JSON from somebody whose nesting nobody bounds: parsed, it can be written again.
 * @throws SyntaxError, RangeError for more than 1,000 levels
 */
export function parseShallow(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  // Each level takes two characters at least: most texts need no look.
  if (text.length > 2 * MAX_LEVELS && isDeeper(value, MAX_LEVELS))
    throw new RangeError(`JSON of more than ${MAX_LEVELS} levels`);
  return value;
}

/** Characters that V8 shows before the one that it stumbled over. */
const SHOWN_BEFORE = 10;

/** Why a file is no JSON, and in which line: without the text around the place, which V8 quotes and where a key may stand. */
export function jsonFault({ message }: Error, text: string): string {
  // bounded: a message of V8, which quotes some twenty characters.
  const quoted = /, (\.\.\.)?"([\s\S]*)"(?:\.\.\.)? is not valid JSON$/.exec(message);
  if (quoted === null) return message;
  const at = text.indexOf(quoted[2] ?? '') + (quoted[1] === undefined ? 0 : SHOWN_BEFORE);
  return `${message.slice(0, quoted.index)} in line ${text.slice(0, at).split('\n').length}`;
}
