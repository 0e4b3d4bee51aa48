import type { ResponseCustomToolCall, ResponseFunctionToolCall } from 'openai/resources/responses/responses';
import { newId } from '../../contract/ids.js';
import { isFields } from '../../providers/index.js';
import type { Fields } from '../dialects/checks.js';
import type { EventLog } from './events.js';
import { itemId } from './request.js';

/** A call of a tool as the model asked for it. */
export interface AskedCall {
  /** The id that its maker knows it by. */
  id: string;
  name: string;
  arguments: string;
}

interface OpenCall extends AskedCall {
  kind: 'function' | 'custom' | 'search';
  itemId: string;
  /** Of its item; null while an earlier call is written. */
  index: number | null;
  /** Arguments that wait to be written. */
  waiting: string[];
  isDone: boolean;
}

interface CallOptions {
  log: EventLog;
  items: Fields[];
  custom: ReadonlySet<string>;
  search: string | null;
}

/** Whether arguments are a whole JSON text: the next call may begin. */
function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The text that a custom tool gets, from the arguments that it has as a function. */
function inputOf(said: string): string {
  try {
    const parsed = JSON.parse(said) as unknown;
    const { input } = isFields(parsed) ? parsed : {};
    return typeof input === 'string' ? input : said;
  } catch {
    return said;
  }
}

/**
 * The tool calls of one round. They are written one after the other: what comes of a later one while an earlier is not whole waits.
 */
export class OpenCalls {
  private readonly calls = new Map<unknown, OpenCall>();
  readonly searches: AskedCall[] = [];
  hasOthers = false;

  constructor(private readonly options: CallOptions) {}

  /** A part of a call as the convention of chat has it, its index set. */
  take(part: Fields): void {
    const asked = isFields(part['function']) ? part['function'] : {};
    const said = typeof asked['arguments'] === 'string' ? asked['arguments'] : '';
    const call = this.calls.get(part['index']) ?? this.begin(part, asked);
    if (call.isDone || said === '') return;
    call.arguments += said;
    call.waiting.push(said);
    this.write();
  }

  /** Closes the calls that are whole: something else follows. */
  closeWhole(): void {
    for (const call of this.calls.values())
      if (!call.isDone && call.index !== null && isWhole(call.arguments)) this.close(call, 'completed');
  }

  end(status: 'completed' | 'incomplete'): void {
    for (const call of this.calls.values()) {
      if (call.isDone) continue;
      this.writeOne(call);
      this.close(call, status);
    }
  }

  private begin(part: Fields, asked: Fields): OpenCall {
    const { custom, search } = this.options;
    const name = typeof asked['name'] === 'string' ? asked['name'] : '';
    const kind = name !== '' && name === search ? 'search' : custom.has(name) ? 'custom' : 'function';
    const id = typeof part['id'] === 'string' && part['id'] !== '' ? part['id'] : newId('call');
    const type = kind === 'custom' ? 'custom_tool_call' : 'function_call';
    const call: OpenCall = {
      id,
      name,
      kind,
      arguments: '',
      itemId: itemId(type),
      index: null,
      waiting: [],
      isDone: false,
    };
    this.calls.set(part['index'], call);
    if (kind !== 'search') this.hasOthers = true;
    this.write();
    return call;
  }

  /** Writes what may be written in order. */
  private write(): void {
    const open = [...this.calls.values()].filter(({ isDone, kind }) => !isDone && kind !== 'search');
    for (const [at, call] of open.entries()) {
      this.writeOne(call);
      if (at === open.length - 1) return;
      if (!isWhole(call.arguments)) return;
      this.close(call, 'completed');
    }
  }

  private writeOne(call: OpenCall): void {
    if (call.kind === 'search') return;
    if (call.index === null) this.add(call);
    const waiting = call.waiting.splice(0);
    if (call.kind === 'custom') return;
    for (const delta of waiting)
      this.options.log.push({
        type: 'response.function_call_arguments.delta',
        item_id: call.itemId,
        output_index: call.index ?? 0,
        delta,
      });
  }

  private add(call: OpenCall): void {
    const item = itemOf(call, 'in_progress', '');
    call.index = this.options.items.push({ ...item }) - 1;
    this.options.log.push({ type: 'response.output_item.added', output_index: call.index, item });
  }

  private close(call: OpenCall, status: 'completed' | 'incomplete'): void {
    call.isDone = true;
    // Clients parse what a function is called with.
    if (call.arguments === '' && status === 'completed' && call.kind === 'function') {
      call.arguments = '{}';
      call.waiting.push('{}');
      this.writeOne(call);
    }
    if (call.kind === 'search') {
      this.searches.push(call);
      return;
    }
    const { log, items } = this.options;
    const index = call.index ?? 0;
    const place = { item_id: call.itemId, output_index: index };
    const item = itemOf(call, status, call.arguments);
    if (item.type === 'custom_tool_call') {
      const { input } = item;
      if (input !== '') log.push({ type: 'response.custom_tool_call_input.delta', ...place, delta: input });
      log.push({ type: 'response.custom_tool_call_input.done', ...place, input });
    } else
      log.push({
        type: 'response.function_call_arguments.done',
        ...place,
        arguments: item.arguments,
      });
    items[index] = { ...item };
    log.push({ type: 'response.output_item.done', output_index: index, item });
  }
}

function itemOf(
  { kind, id, name, itemId: own }: OpenCall,
  status: 'in_progress' | 'completed' | 'incomplete',
  said: string,
): (ResponseFunctionToolCall & { id: string }) | (ResponseCustomToolCall & { id: string; status: string }) {
  if (kind === 'custom')
    return { id: own, type: 'custom_tool_call', status, call_id: id, name, input: inputOf(said) };
  return { id: own, type: 'function_call', status, call_id: id, name, arguments: said };
}
