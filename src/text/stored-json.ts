/**
 * Makes JSON that PostgreSQL accepts from any text of a model, an upstream or a page: removes NUL characters and replaces lone surrogates. It works on the JSON
 * text, so that names are covered too: JSON.stringify writes both as escapes, and an escaped backslash is not mistaken for one.
 */
export function storedJson(value: unknown): string {
  return JSON.stringify(value).replace(/\\(\\|u0000|ud[89a-f][0-9a-f]{2})/g, (whole, escape: string) => {
    if (escape === '\\') return whole;
    return escape === 'u0000' ? '' : '\\ufffd';
  });
}

/** Whether PostgreSQL accepts a text. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();

/** Removes NUL characters and lone surrogates, which JSON can contain and which PostgreSQL and many upstreams refuse. */
export function storedText(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}

/** More levels than any answer needs, and fewer than JSON.stringify can write. JSON.parse reads any number of levels. */
export const MAX_LEVELS = 1_000;

/** Whether a value has more than this many levels of arrays and objects. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const item of Array.isArray(value) ? (value as unknown[]) : Object.values(value))
    if (isDeeper(item, levels - 1)) return true;
  return false;
}

/**
 * Parses JSON whose nesting is not limited, so that it can be written again.
 * @throws SyntaxError, RangeError for more than 1,000 levels
 */
export function parseShallow(text: string): unknown {
  const value = JSON.parse(text) as unknown;
  // Each level takes at least two characters, so most texts need no check.
  if (text.length > 2 * MAX_LEVELS && isDeeper(value, MAX_LEVELS))
    throw new RangeError(`JSON of more than ${MAX_LEVELS} levels`);
  return value;
}

/** How many characters V8 shows before the one that it could not read. */
const SHOWN_BEFORE = 10;

/** Why a file is not JSON, and in which line. Leaves out the surrounding text, which V8 quotes and which may contain a key. */
export function jsonFault({ message }: Error, text: string): string {
  // bounded: a message of V8, which quotes about twenty characters.
  const quoted = /, (\.\.\.)?"([\s\S]*)"(?:\.\.\.)? is not valid JSON$/.exec(message);
  if (quoted === null) return message;
  const at = text.indexOf(quoted[2] ?? '') + (quoted[1] === undefined ? 0 : SHOWN_BEFORE);
  return `${message.slice(0, quoted.index)} in line ${text.slice(0, at).split('\n').length}`;
}

/** Whether a text is JSON. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
