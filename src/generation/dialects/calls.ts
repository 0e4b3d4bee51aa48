import { newId } from '../../contract/ids.js';
import { isFields } from '../../providers/index.js';
import type { Fields } from './checks.js';

/** A tool call of the model. */
export interface RequestedToolCall {
  /** The id that its maker gave it. */
  id: string;
  name: string;
  /** The arguments as JSON. */
  arguments: string;
}

/** A call that is not complete yet. */
export interface OpenCall extends RequestedToolCall {
  isSearch: boolean;
  /** Its index in the answer; null while an earlier call is written. */
  index: number | null;
  /** Arguments that wait to be written. */
  waiting: string[];
  isDone: boolean;
}

/** The status of a closed call: complete, or incomplete because the answer was cut off. */
export type EndStatus = 'completed' | 'incomplete';

/** Whether arguments are complete JSON; then the next call may begin. */
function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Writes the tool calls of one round of a chat in a dialect, one after the other. Pieces of a later call wait until the earlier call is
 * complete. Searches are not written.
 */
export abstract class OpenCalls<C extends OpenCall = OpenCall> {
  private readonly calls = new Map<unknown, C>();
  readonly searches: RequestedToolCall[] = [];
  /** Whether the caller must run a tool. */
  hasOthers = false;

  /**
   * @param search the function that stands for web search
   * @param prefix of new ids, for calls without an id
   */
  constructor(
    private readonly search: string | null,
    private readonly prefix: 'call' | 'toolu',
  ) {}

  /** A call at its beginning, with the dialect's own data. */
  protected abstract opened(call: OpenCall): C;

  /** Begins to write a call. @returns its index in the answer */
  protected abstract add(call: C): number;

  /** Writes pieces of a call's arguments. */
  protected abstract writePieces(call: C, pieces: readonly string[]): void;

  /** Writes the end of a call. */
  protected abstract writeEnd(call: C, status: EndStatus): void;

  /** A piece of a call in the chat convention, with its index. */
  take(part: Fields): void {
    const asked = isFields(part['function']) ? part['function'] : {};
    const said = typeof asked['arguments'] === 'string' ? asked['arguments'] : '';
    const call = this.calls.get(part['index']) ?? this.begin(part, asked);
    if (call.isDone || said === '') return;
    call.arguments += said;
    call.waiting.push(said);
    this.write();
  }

  /** Closes the complete calls, because another part of the answer follows. */
  closeWhole(): void {
    for (const call of this.calls.values())
      if (!call.isDone && call.index !== null && isWhole(call.arguments)) this.close(call, 'completed');
  }

  /** Closes all calls in order. */
  end(status: EndStatus): void {
    for (const call of this.calls.values()) {
      if (call.isDone) continue;
      this.writeOne(call);
      this.close(call, status);
    }
  }

  private begin(part: Fields, asked: Fields): C {
    const name = typeof asked['name'] === 'string' ? asked['name'] : '';
    const isSearch = name !== '' && name === this.search;
    const id = typeof part['id'] === 'string' && part['id'] !== '' ? part['id'] : newId(this.prefix);
    const call = this.opened({ id, name, arguments: '', isSearch, index: null, waiting: [], isDone: false });
    this.calls.set(part['index'], call);
    if (!isSearch) this.hasOthers = true;
    this.write();
    return call;
  }

  /** Writes all pieces that are next in order. */
  private write(): void {
    const open = [...this.calls.values()].filter(({ isDone, isSearch }) => !isDone && !isSearch);
    for (const [at, call] of open.entries()) {
      this.writeOne(call);
      if (at === open.length - 1 || !isWhole(call.arguments)) return;
      this.close(call, 'completed');
    }
  }

  private writeOne(call: C): void {
    if (call.isSearch) return;
    call.index ??= this.add(call);
    this.writePieces(call, call.waiting.splice(0));
  }

  private close(call: C, status: EndStatus): void {
    call.isDone = true;
    if (call.isSearch) this.searches.push(call);
    else this.writeEnd(call, status);
  }
}
