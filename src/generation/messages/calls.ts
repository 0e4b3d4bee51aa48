import { newId } from '../../contract/ids.js';
import { isFields } from '../../providers/index.js';
import type { Fields } from '../dialects/checks.js';
import type { MessageLog } from './events.js';

/** A call of a tool as the model asked for it. */
export interface AskedCall {
  /** The id that its maker knows it by. */
  id: string;
  name: string;
  /** As JSON. */
  arguments: string;
}

interface OpenCall extends AskedCall {
  isSearch: boolean;
  /** Of its block; null while an earlier call is written. */
  index: number | null;
  /** Arguments that wait to be written. */
  waiting: string[];
  isDone: boolean;
}

interface CallOptions {
  log: MessageLog;
  content: Fields[];
  search: string | null;
}

/** What a tool is called with, as an object; what is none, or was cut off, is an empty one. */
export function inputOf(said: string): Fields {
  try {
    const parsed = JSON.parse(said) as unknown;
    return isFields(parsed) ? parsed : {};
  } catch {
    return {};
  }
}

function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The tool calls of one round as blocks. They are written one after the other: what comes of a later one while an earlier is not whole
 * waits.
 */
export class OpenCalls {
  private readonly calls = new Map<unknown, OpenCall>();
  readonly searches: AskedCall[] = [];
  /** Whether the caller is to run something. */
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
      if (!call.isDone && call.index !== null && isWhole(call.arguments)) this.close(call);
  }

  /** Closes all of them, in their order. */
  end(): void {
    for (const call of this.calls.values()) {
      if (call.isDone) continue;
      this.writeOne(call);
      this.close(call);
    }
  }

  private begin(part: Fields, asked: Fields): OpenCall {
    const name = typeof asked['name'] === 'string' ? asked['name'] : '';
    const isSearch = name !== '' && name === this.options.search;
    const id = typeof part['id'] === 'string' && part['id'] !== '' ? part['id'] : newId('toolu');
    const call: OpenCall = { id, name, arguments: '', isSearch, index: null, waiting: [], isDone: false };
    this.calls.set(part['index'], call);
    if (!isSearch) this.hasOthers = true;
    this.write();
    return call;
  }

  /** Writes what may be written in order. */
  private write(): void {
    const open = [...this.calls.values()].filter(({ isDone, isSearch }) => !isDone && !isSearch);
    for (const [at, call] of open.entries()) {
      this.writeOne(call);
      if (at === open.length - 1 || !isWhole(call.arguments)) return;
      this.close(call);
    }
  }

  private writeOne(call: OpenCall): void {
    if (call.isSearch) return;
    const { log } = this.options;
    if (call.index === null) this.add(call);
    for (const partial_json of call.waiting.splice(0))
      log.push({
        type: 'content_block_delta',
        index: call.index ?? 0,
        delta: { type: 'input_json_delta', partial_json },
      });
  }

  private add(call: OpenCall): void {
    const { content, log } = this.options;
    const block = { type: 'tool_use' as const, id: call.id, name: call.name, input: {} };
    call.index = content.push(block) - 1;
    log.push({
      type: 'content_block_start',
      index: call.index,
      content_block: { ...block, caller: { type: 'direct' } },
    });
  }

  private close(call: OpenCall): void {
    call.isDone = true;
    if (call.isSearch) {
      this.searches.push(call);
      return;
    }
    const index = call.index ?? 0;
    const block = { type: 'tool_use', id: call.id, name: call.name, input: inputOf(call.arguments) };
    this.options.content[index] = { ...block, caller: { type: 'direct' } };
    this.options.log.push({ type: 'content_block_stop', index });
  }
}
