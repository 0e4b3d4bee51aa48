/**
 * Finds the members of a JSON object's top level without building it, so that one value can be exchanged in a text that otherwise passes
 * as it came. The text must be valid JSON (it was parsed before); the scanner only looks for strings and brackets.
 */

/** One member: `text.slice(start, end)` is `"key": value`, `text.slice(valueStart, end)` its value. */
export interface Member {
  key: string;
  start: number;
  valueStart: number;
  end: number;
}

const QUOTE = 34;
const BACKSLASH = 92;
const COMMA = 44;
const COLON = 58;

/** The index after the closing quote of the string that begins at `at`. */
function skipString(text: string, at: number): number {
  for (let end = text.indexOf('"', at + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** What a string literal says; nearly no key has an escape. */
function stringIn(literal: string): string {
  return literal.includes('\\') ? (JSON.parse(literal) as string) : literal.slice(1, -1);
}

/** Members of the object that `text` is, in order. */
export function topLevelMembers(text: string): Member[] {
  const members: Member[] = [];
  let depth = 0;
  let key: { text: string; start: number } | null = null;
  let valueStart = 0;
  let lastSolid = 0;
  const finish = (): void => {
    if (key) members.push({ key: key.text, start: key.start, valueStart, end: lastSolid });
    key = null;
  };
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code <= 32) continue;
    if (code === QUOTE) {
      const end = skipString(text, at);
      if (depth === 1 && key === null) key = { text: stringIn(text.slice(at, end)), start: at };
      at = end - 1;
    } else if (code === 123 || code === 91) {
      depth++;
      if (depth === 1) continue;
    } else if (code === 125 || code === 93) {
      depth--;
      if (depth === 0) finish();
    } else if (depth === 1 && code === COMMA) {
      finish();
      continue;
    } else if (depth === 1 && code === COLON && valueStart <= (key?.start ?? 0)) {
      valueStart = at + 1;
      while (text.charCodeAt(valueStart) <= 32) valueStart++;
      at = valueStart - 1;
      continue;
    }
    lastSolid = at + 1;
  }
  return members;
}

/** The change of a member: its new value as JSON text, or null to remove it. */
export type Edits = Record<string, string | null>;

/**
 * The object's text with some members exchanged, taken out, or added at its end where they were missing. All other bytes stay.
 */
export function spliceObject(text: string, edits: Edits): string {
  const left = new Set(Object.keys(edits));
  let spliced = '';
  /** Where what was not copied yet begins: members without edits are copied together. */
  let from = -1;
  let end = 0;
  const add = (piece: string): void => void (spliced += spliced === '' ? piece : `,${piece}`);
  const copy = (): void => {
    if (from !== -1) add(text.slice(from, end));
    from = -1;
  };
  for (const member of topLevelMembers(text)) {
    const edit = Object.hasOwn(edits, member.key) ? edits[member.key] : undefined;
    if (edit === undefined) {
      if (from === -1) from = member.start;
      end = member.end;
      continue;
    }
    copy();
    // Of members with one name, the first stays.
    if (left.delete(member.key) && edit !== null) add(text.slice(member.start, member.valueStart) + edit);
  }
  copy();
  for (const key of left) if (edits[key] != null) add(`${JSON.stringify(key)}:${edits[key]}`);
  return `${text.slice(0, text.indexOf('{') + 1)}${spliced}${text.slice(text.lastIndexOf('}'))}`;
}
