import { isFields } from '../../../providers/index.js';
import type { Fields } from '../../dialects/checks.js';

/** The answer of a response so far, rebuilt from its events. */
export interface Replayed {
  /** All items; an item that was in progress is `incomplete`. */
  output: Fields[];
  /** The delivered text, in pieces. */
  texts: string[];
}

/** The place in an item that gets a delta's text: a list of parts and the event's field with the part's index, or a field of the item. */
const PARTS: Record<string, readonly [list: string, index: string]> = {
  'response.output_text.delta': ['content', 'content_index'],
  'response.reasoning_text.delta': ['content', 'content_index'],
  'response.reasoning_summary_text.delta': ['summary', 'summary_index'],
};
const FIELDS: Record<string, string> = {
  'response.function_call_arguments.delta': 'arguments',
  'response.custom_tool_call_input.delta': 'input',
};

const listIn = (item: Fields, name: string): unknown[] =>
  (Array.isArray(item[name]) ? item[name] : (item[name] = [])) as unknown[];

function add(target: unknown, field: string, text: string): void {
  if (isFields(target)) target[field] = `${String(target[field] ?? '')}${text}`;
}

/** The unfinished message with its text, if the events contain nothing else; else null. */
export function openMessage(events: readonly string[]): { id: string; text: string } | null {
  const { output } = replayed(events);
  const [item] = output;
  if (
    item === undefined ||
    output.length > 1 ||
    item['type'] !== 'message' ||
    item['status'] !== 'incomplete'
  )
    return null;
  const [part, ...others] = listIn(item, 'content');
  if (!isFields(part) || part['type'] !== 'output_text' || others.length > 0) return null;
  return { id: String(item['id']), text: String(part['text']) };
}

/** Whether two events are equal without `obfuscation`, because an upstream may fill each event up with other characters. */
export function isSameEvent(one: string, other: string): boolean {
  const said = (event: string): string => {
    const { obfuscation: _, ...rest } = JSON.parse(event) as Fields;
    return JSON.stringify(rest);
  };
  return one === other || (other !== '' && said(one) === said(other));
}

/** Rebuilds an answer from its events so far. */
export function replayed(events: readonly string[]): Replayed {
  const items: Fields[] = [];
  const texts: string[] = [];
  for (const text of events) {
    const event = JSON.parse(text) as Fields;
    const type = String(event['type']);
    const index = Number(event['output_index']);
    if (type === 'response.output_item.added' || type === 'response.output_item.done') {
      if (isFields(event['item'])) items[index] = event['item'];
      continue;
    }
    const item = items[index];
    const { delta } = event;
    if (typeof delta === 'string') texts.push(delta);
    if (item === undefined) continue;
    if (type === 'response.content_part.added')
      listIn(item, 'content')[Number(event['content_index'])] = event['part'];
    else if (type === 'response.reasoning_summary_part.added')
      listIn(item, 'summary')[Number(event['summary_index'])] = event['part'];
    else if (typeof delta === 'string') {
      const part = PARTS[type];
      const field = FIELDS[type];
      if (part !== undefined) add(listIn(item, part[0])[Number(event[part[1]])], 'text', delta);
      else if (field !== undefined) add(item, field, delta);
    }
  }
  const output = items
    .filter((item) => item !== undefined)
    .map((item) => (item['status'] === 'in_progress' ? { ...item, status: 'incomplete' } : item));
  return { output, texts };
}
