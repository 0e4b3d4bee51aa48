import { newId } from '../../contract/ids.js';
import { parseShallow } from '../../text/stored-json.js';
import { brokenAnswer, isFields } from '../../providers/index.js';
import type { NativeEvent } from '../../providers/index.js';
import type { Fields } from '../dialects/checks.js';
import type { EventLog } from './events.js';
import { itemId } from './request.js';

/** An event's data; null if it is not an object. @throws UpstreamError if it begins like an object but is not JSON */
export function parsedEvent({ data }: NativeEvent): Fields | null {
  let parsed: unknown;
  try {
    parsed = parseShallow(data);
  } catch {
    if (!data.trimStart().startsWith('{')) return null;
    throw brokenAnswer('an event of broken JSON');
  }
  return isFields(parsed) ? parsed : null;
}

/** The item of an event whose item was not announced, by the type of the event. */
const OWNERS: [RegExp, Fields][] = [
  [/^response\.reasoning/, { type: 'reasoning', summary: [] }],
  [/^response\.function_call_arguments/, { type: 'function_call', name: '', call_id: '', arguments: '' }],
  [/^response\.custom_tool_call/, { type: 'custom_tool_call', name: '', call_id: '', input: '' }],
];
const MESSAGE: Fields = { type: 'message', role: 'assistant', status: 'in_progress', content: [] };

const ownerOf = (type: string): Fields => OWNERS.find(([pattern]) => pattern.test(type))?.[1] ?? MESSAGE;

/** The prefix of an item's id from its maker. */
const PREFIX = /^([a-z]{1,8})_/;

/** One item of an upstream's answer, as it grows. */
export class NativeItem {
  /** Its index in the response for the caller; null if it is not shown. */
  index: number | null = null;
  isDone = false;
  /** Texts of its deltas, as JSON. */
  readonly pieces: string[] = [];
  private readonly parts = new Set<string>();

  private constructor(
    /** Its id in the response for the caller. */
    public id: string,
    /** The id that its maker gave it. */
    readonly upId: string,
    /** The item as it was announced. */
    readonly given: Fields,
  ) {}

  static announced(event: Fields & { type: string }): NativeItem {
    const { item, item_id: id } = event;
    const announced = isFields(item)
      ? item
      : { ...ownerOf(event.type), ...(typeof id === 'string' ? { id } : {}) };
    const given = event.type === 'response.output_item.done' ? asBegun(announced) : announced;
    const upId = typeof given['id'] === 'string' ? given['id'] : '';
    const prefix = PREFIX.exec(upId)?.[1];
    return new NativeItem(prefix === undefined ? itemId(given['type']) : newId(prefix), upId, given);
  }

  /**
   * Announces the part of an event if its maker did not.
   * @returns false if the event only repeats an announcement
   */
  ensurePart(event: Fields & { type: string }, log: EventLog): boolean {
    const { type } = event;
    const place = { item_id: this.id, output_index: this.index };
    if (type.startsWith('response.reasoning_summary')) {
      const at = event['summary_index'] ?? 0;
      if (this.has(`s${String(at)}`)) return type !== 'response.reasoning_summary_part.added';
      if (type === 'response.reasoning_summary_part.added') return true;
      const part = { type: 'summary_text', text: '' };
      log.pushUnknown({ type: 'response.reasoning_summary_part.added', ...place, summary_index: at, part });
      event['summary_index'] = at;
      return true;
    }
    const kind = /^response\.(output_text|refusal|reasoning_text|content_part)\./.exec(type)?.[1];
    if (kind === undefined) return true;
    const at = event['content_index'] ?? 0;
    event['content_index'] = at;
    if (this.has(`c${String(at)}`)) return type !== 'response.content_part.added';
    if (type === 'response.content_part.added') return true;
    log.pushUnknown({
      type: 'response.content_part.added',
      ...place,
      content_index: at,
      part: kind === 'content_part' ? event['part'] : emptyPart(kind),
    });
    return true;
  }

  /** The complete item: as its maker sent it, with missing texts from its deltas. */
  whole(given: Fields | null): Fields {
    const said = this.said();
    const whole = { ...this.given, ...given };
    if (whole['status'] === 'in_progress') whole['status'] = 'completed';
    if (said === '') return whole;
    const isEmpty = (value: unknown): boolean =>
      value == null || value === '' || (Array.isArray(value) && value.length === 0);
    switch (whole['type']) {
      case 'message':
        if (isEmpty(whole['content'])) whole['content'] = [{ ...emptyPart('output_text'), text: said }];
        break;
      case 'reasoning':
        if (isEmpty(whole['summary']) && isEmpty(whole['content']) && whole['encrypted_content'] == null)
          whole['summary'] = [{ type: 'summary_text', text: said }];
        break;
      case 'function_call':
        if (isEmpty(whole['arguments'])) whole['arguments'] = said;
        break;
      case 'custom_tool_call':
        if (isEmpty(whole['input'])) whole['input'] = said;
        break;
      default:
    }
    return whole;
  }

  /** The text of its deltas. */
  said(): string {
    return this.pieces.length === 0 ? '' : (JSON.parse(`[${this.pieces.join()}]`) as string[]).join('');
  }

  private has(part: string): boolean {
    return this.parts.size === this.parts.add(part).size;
  }
}

function emptyPart(kind: string): Fields {
  if (kind === 'refusal') return { type: 'refusal', refusal: '' };
  if (kind === 'reasoning_text') return { type: 'reasoning_text', text: '' };
  return { type: 'output_text', text: '', annotations: [], logprobs: [] };
}

/** Converts a complete item to its announcement. */
function asBegun(item: Fields): Fields {
  const begun: Fields = { ...item };
  if ('status' in begun) begun['status'] = 'in_progress';
  if (item['type'] === 'message') begun['content'] = [];
  return begun;
}
