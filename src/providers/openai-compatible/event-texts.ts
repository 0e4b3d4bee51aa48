import { isJson } from '../../text/stored-json.js';

/** Whether an event says that the stream is whole: `[DONE]`. */
export function isEndMarker(data: string): boolean {
  // Nearly all are JSON.
  return data.charCodeAt(0) !== 123 && data.length < 50 && data.trim().toUpperCase() === '[DONE]';
}

/** Longer data is one text: it is read in slices, and what puts several chunks into one event puts small ones. */
const MAX_LENGTH = 64 * 1024;
/** What some servers put before their data a second time. */
const FIELD = /^data:\s*/;
/** An object or list directly after an object, which JSON has in strings only. */
const SEVERAL = /\}\s*(?:data:\s*)?[[{]/;

/** Where the object that begins a text ends; -1 if it does not. */
function objectEnd(text: string): number {
  let depth = 0;
  let isString = false;
  for (let at = 0; at < text.length; at++) {
    const character = text[at];
    if (isString) {
      if (character === '\\') at++;
      else if (character === '"') isString = false;
    } else if (character === '"') isString = true;
    else if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return at + 1;
  }
  return -1;
}

/** The texts that stand one after the other; null where that is not what the data is. */
function consecutive(data: string): string[] | null {
  const texts: string[] = [];
  let rest = data.trim();
  while (rest.startsWith('{')) {
    const end = objectEnd(rest);
    if (end < 0) return null;
    texts.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart().replace(FIELD, '');
  }
  if (rest !== '' && !isEndMarker(rest)) return null;
  return rest === '' ? texts : [...texts, rest];
}

/** The objects of a list; null where it has none or one, which is read as it is. */
function listed(data: string): string[] | null {
  try {
    const parsed = JSON.parse(data) as unknown;
    if (!Array.isArray(parsed) || parsed.length < 2) return null;
    return parsed.map((item: unknown) => JSON.stringify(item));
  } catch {
    return null;
  }
}

/**
 * The texts in the data of one event. Some servers put several chunks into one event, on a line each, one behind the other or in a list, and some
 * repeat the name of the field (`data: data: {…}`).
 */
export function textsOfEvent(given: string): readonly string[] {
  const data = given.charCodeAt(0) === 100 ? given.replace(FIELD, '') : given;
  if (data.length > MAX_LENGTH) return [data];
  const first = data.trimStart()[0];
  if (first === '[' && !isEndMarker(data)) return listed(data) ?? [data];
  if (first !== '{' || !SEVERAL.test(data) || isJson(data)) return [data];
  return consecutive(data) ?? [data];
}

/** More is not sent in lines by a server that should send one answer. */
const MAX_LINES_LENGTH = 4 * 1024 * 1024;

/** The chunks of an answer that has one in each line (NDJSON) in place of events; null for all other answers. */
export function textsOfLines(bytes: Buffer): readonly string[] | null {
  const newline = bytes.indexOf(10);
  if (newline < 0 || bytes.length > MAX_LINES_LENGTH) return null;
  // Nearly all answers with line breaks are pretty printed.
  if (
    !bytes
      .toString('latin1', Math.max(0, newline - 20), newline)
      .trimEnd()
      .endsWith('}')
  )
    return null;
  const lines = bytes.toString('utf8').split(/[\r\n]+/);
  const texts = lines.map((line) => line.trim()).filter((line) => line !== '');
  const [first = '', second] = texts;
  if (second === undefined || !first.startsWith('{') || !(second.startsWith('{') || isEndMarker(second)))
    return null;
  return isJson(first) ? texts : null;
}

/** The same as an event stream. */
export function eventsOfLines(bytes: Buffer): Buffer | null {
  const texts = textsOfLines(bytes);
  return texts && Buffer.from(texts.map((text) => `data: ${text}\n\n`).join(''));
}
