import type { ResponseCustomToolCall, ResponseFunctionToolCall } from 'openai/resources/responses/responses';
import { isFields } from '../../providers/index.js';
import { OpenCalls } from '../dialects/calls.js';
import type { EndStatus, OpenCall } from '../dialects/calls.js';
import type { Fields } from '../dialects/checks.js';
import type { EventLog } from './events.js';
import { itemId } from './request.js';

interface ItemCall extends OpenCall {
  isCustom: boolean;
  itemId: string;
}

interface CallOptions {
  log: EventLog;
  items: Fields[];
  custom: ReadonlySet<string>;
  search: string | null;
}

/** The input text of a custom tool, from the arguments of the function that replaces the tool. */
function inputOf(said: string): string {
  try {
    const parsed = JSON.parse(said) as unknown;
    const { input } = isFields(parsed) ? parsed : {};
    return typeof input === 'string' ? input : said;
  } catch {
    return said;
  }
}

/** Writes the tool calls of one round as items. */
export class ItemCalls extends OpenCalls<ItemCall> {
  constructor(private readonly options: CallOptions) {
    super(options.search, 'call');
  }

  protected opened(call: OpenCall): ItemCall {
    const isCustom = !call.isSearch && this.options.custom.has(call.name);
    return { ...call, isCustom, itemId: itemId(isCustom ? 'custom_tool_call' : 'function_call') };
  }

  protected add(call: ItemCall): number {
    const item = itemOf(call, 'in_progress', '');
    const index = this.options.items.push({ ...item }) - 1;
    this.options.log.push({ type: 'response.output_item.added', output_index: index, item });
    return index;
  }

  protected writePieces(call: ItemCall, pieces: readonly string[]): void {
    if (call.isCustom) return;
    for (const delta of pieces)
      this.options.log.push({
        type: 'response.function_call_arguments.delta',
        item_id: call.itemId,
        output_index: call.index ?? 0,
        delta,
      });
  }

  protected writeEnd(call: ItemCall, status: EndStatus): void {
    // Clients parse the arguments of a function, so they must be JSON.
    if (call.arguments === '' && status === 'completed' && !call.isCustom) {
      call.arguments = '{}';
      this.writePieces(call, ['{}']);
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
  { isCustom, id, name, itemId: own }: ItemCall,
  status: 'in_progress' | EndStatus,
  said: string,
): (ResponseFunctionToolCall & { id: string }) | (ResponseCustomToolCall & { id: string; status: string }) {
  if (isCustom) return { id: own, type: 'custom_tool_call', status, call_id: id, name, input: inputOf(said) };
  return { id: own, type: 'function_call', status, call_id: id, name, arguments: said };
}
