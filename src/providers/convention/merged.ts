import { isFields } from './answer-text.js';

type Fields = Record<string, unknown>;

/** Fields whose texts arrive in pieces. Two equal pieces are both part of the text. */
const TEXTS: ReadonlySet<string> = new Set([
  'content',
  'reasoning_content',
  'reasoning',
  'refusal',
  'text',
  'thinking',
  'summary',
  'transcript',
  'arguments',
  'name',
]);

/** Merges the value of a field with that of the next part of the message. */
function mergedValue(before: unknown, next: unknown, name: string): unknown {
  if (next == null) return before ?? next;
  if (before == null) return next;
  if (typeof before === 'string' && typeof next === 'string')
    return before === next && !TEXTS.has(name) ? before : before + next;
  if (Array.isArray(before) && Array.isArray(next)) return mergedLists(before, next);
  if (isFields(before) && isFields(next)) return mergedFields(before, next);
  return next;
}

/** Merges lists: items with the same index (calls, details of reasoning) are merged, all others are appended. */
function mergedLists(before: readonly unknown[], next: readonly unknown[]): unknown[] {
  const merged = [...before];
  for (const item of next) {
    const at =
      isFields(item) && item['index'] !== undefined
        ? merged.findLastIndex((known) => isFields(known) && isSameItem(known, item))
        : -1;
    if (at === -1) merged.push(item);
    else merged[at] = mergedFields(merged[at] as Fields, item as Fields);
  }
  return merged;
}

function isSameItem(known: Fields, item: Fields): boolean {
  return known['index'] === item['index'] && (item['type'] == null || known['type'] === item['type']);
}

function mergedFields(before: Fields, next: Fields): Fields {
  const merged = { ...before };
  for (const name in next) merged[name] = mergedValue(merged[name], next[name], name);
  return merged;
}

/** Builds a message from its deltas, including unknown fields. */
export class MergedMessage {
  private fields: Fields = {};
  /** The pieces of its texts; a joined text would be copied with each delta. */
  private readonly pieces = new Map<string, string[]>();

  take(delta: Fields): void {
    for (const name in delta) {
      const value = delta[name];
      if (value == null || name === 'role') continue;
      if (typeof value === 'string' && TEXTS.has(name)) {
        const known = this.pieces.get(name);
        if (known === undefined) this.pieces.set(name, [value]);
        else known.push(value);
      } else this.fields[name] = mergedValue(this.fields[name], value, name);
    }
  }

  /** The message without its role; its calls without their index. */
  message(): Fields {
    const { tool_calls: calls, ...others } = this.fields;
    const texts = [...this.pieces].map(([name, pieces]) => [name, pieces.join('')] as const);
    const whole = Array.isArray(calls)
      ? { tool_calls: calls.map((call: unknown) => (isFields(call) ? withoutIndex(call) : call)) }
      : {};
    return { ...Object.fromEntries(texts), ...others, ...whole };
  }
}

function withoutIndex({ index: _, ...call }: Fields): Fields {
  return call;
}
