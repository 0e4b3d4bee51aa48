import { newId } from '../../contract/ids.js';
import { isFields } from '../../providers/index.js';
import type { Fields } from './checks.js';

/** A call of a tool as the model asked for it. */
export interface AskedCall {
  /** The id that its maker knows it by. */
  id: string;
  name: string;
  /** As JSON. */
  arguments: string;
}

/** A call that is being written. */
export interface OpenCall extends AskedCall {
  isSearch: boolean;
  /** Of what it is in the answer; null while an earlier call is written. */
  index: number | null;
  /** Arguments that wait to be written. */
  waiting: string[];
  isDone: boolean;
}

/** How what was open is closed: as whole, or as what an answer that was cut off left. */
export type EndStatus = 'completed' | 'incomplete';

/** Whether arguments are a whole JSON text: the next call may begin. */
function isWhole(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * The tool calls of one round of a chat, as a dialect writes them: one after the other. What comes of a later one while an earlier is not
 * whole waits. Searches are not written.
 */
export abstract class OpenCalls<C extends OpenCall = OpenCall> {
  private readonly calls = new Map<unknown, C>();
  readonly searches: AskedCall[] = [];
  /** Whether the caller is to run something. */
  hasOthers = false;

  /**
   * @param search the function that stands for web search
   * @param prefix of ids for calls that come without one
   */
  constructor(
    private readonly search: string | null,
    private readonly prefix: 'call' | 'toolu',
  ) {}

  /** A call as it begins, with what the dialect holds of it besides. */
  protected abstract opened(call: OpenCall): C;

  /** Begins to write a call. @returns its index in the answer */
  protected abstract add(call: C): number;

  /** Writes pieces of a call's arguments. */
  protected abstract writePieces(call: C, pieces: readonly string[]): void;

  /** Writes the end of a call. */
  protected abstract writeEnd(call: C, status: EndStatus): void;

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

  /** Closes all of them, in their order. */
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

  /** Writes what may be written in order. */
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
