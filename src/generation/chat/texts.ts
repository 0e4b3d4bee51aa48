type Fields = Record<string, unknown>;

/** Names of fields in the convention itself. They are not counted, because they are not the caller's text. */
const NAMES: ReadonlySet<string> = new Set(
  (
    'name refusal reasoning reasoning_content annotations audio content text tool_calls tool_call_id function_call ' +
    'function arguments id type index detail'
  ).split(' '),
);
const NONE: ReadonlySet<string> = new Set();

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/**
 * Adds the texts of fields, except those that are counted elsewhere: strings as they are, other values as the JSON that is sent, with their
 * names.
 */
export function addTexts(fields: Fields, texts: string[], counted: ReadonlySet<string> = NONE): void {
  for (const name in fields) {
    if (counted.has(name)) continue;
    const value = fields[name];
    const isKnown = NAMES.has(name);
    if (!isKnown) texts.push(name);
    if (typeof value === 'string') texts.push(value);
    else if (value == null || (isKnown && isEmptyList(value))) continue;
    else if (isKnown && typeof value === 'object' && !Array.isArray(value)) addTexts(value as Fields, texts);
    else texts.push(JSON.stringify(value));
  }
}
