import { isFields } from '../../providers/index.js';
import { OpenCalls } from '../dialects/calls.js';
import type { OpenCall } from '../dialects/calls.js';
import type { Fields } from '../dialects/checks.js';
import type { MessageLog } from './events.js';

interface CallOptions {
  log: MessageLog;
  content: Fields[];
  search: string | null;
}

/** A call's arguments as an object; empty if they are not an object or were cut off. */
export function inputOf(said: string): Fields {
  try {
    const parsed = JSON.parse(said) as unknown;
    return isFields(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

/** Writes the tool calls of one round as blocks. */
export class BlockCalls extends OpenCalls {
  constructor(private readonly options: CallOptions) {
    super(options.search, 'toolu');
  }

  protected opened(call: OpenCall): OpenCall {
    return call;
  }

  protected add({ id, name }: OpenCall): number {
    const { content, log } = this.options;
    const block = { type: 'tool_use' as const, id, name, input: {} };
    const index = content.push(block) - 1;
    log.push({
      type: 'content_block_start',
      index,
      content_block: { ...block, caller: { type: 'direct' } },
    });
    return index;
  }

  protected writePieces({ index }: OpenCall, pieces: readonly string[]): void {
    for (const partial_json of pieces)
      this.options.log.push({
        type: 'content_block_delta',
        index: index ?? 0,
        delta: { type: 'input_json_delta', partial_json },
      });
  }

  protected writeEnd(call: OpenCall): void {
    const { content, log } = this.options;
    const index = call.index ?? 0;
    const block = { type: 'tool_use', id: call.id, name: call.name, input: inputOf(call.arguments) };
    content[index] = { ...block, caller: { type: 'direct' } };
    log.push({ type: 'content_block_stop', index });
  }
}
