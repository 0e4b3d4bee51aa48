import { newId } from '../ids.js';
import { argumentsText, isFields } from './chat-said.js';

type Fields = Record<string, unknown>;

/** The given object itself where it has these members already. */
function withMembers(given: Fields, members: Fields): Fields {
  return Object.keys(members).every((name) => given[name] === members[name])
    ? given
    : { ...given, ...members };
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

function nameOf({ function: asked }: Fields): string {
  return isFields(asked) ? textIn(asked['name']) : '';
}

function saidIn({ function: asked }: Fields): string {
  return isFields(asked) ? argumentsText(asked['arguments']) : '';
}

/** A call's function, its arguments as text. A part that goes on need not bring any. */
function plainFunction(asked: unknown, begins: boolean): unknown {
  if (!isFields(asked)) return asked;
  const { arguments: given } = asked;
  if (given === undefined && !begins) return asked;
  return withMembers(asked, { arguments: argumentsText(given) });
}

/** What every call begins with: an id of its own to answer it by, its type, and arguments as text. */
function begun(call: Fields, taken: Set<string>): Fields {
  const given = textIn(call['id']);
  const id = given === '' || taken.has(given) ? newId('call') : given;
  taken.add(id);
  return withMembers(call, {
    id,
    type: textIn(call['type']) || 'function',
    function: plainFunction(call['function'], true),
  });
}

/** The object with its `tool_calls` exchanged; itself where none of them had to be. */
function withCalls(given: Fields, mend: (call: Fields) => Fields): Fields {
  const { tool_calls: calls } = given;
  if (!Array.isArray(calls)) return given;
  const mended = calls.map((call: unknown) => (isFields(call) ? mend(call) : call));
  return mended.every((call, at) => call === calls[at]) ? given : { ...given, tool_calls: mended };
}

/** A whole message with its calls as the convention has them; itself where they are. */
export function withWholeCalls(message: Fields): Fields {
  const taken = new Set<string>();
  return withCalls(message, (call) => begun(call, taken));
}

/** A call that a stream has begun. */
interface OpenCall {
  /** The index that its reader knows it by. */
  number: number;
  /** As the upstream gave it; may be empty. */
  id: string;
  /** As its reader knows it. */
  shownId: string;
  named: boolean;
  /** So far. */
  arguments: string;
}

/** The calls of one choice, numbered as the convention has it. */
class NumberedCalls {
  private readonly byIndex = new Map<unknown, OpenCall>();
  private readonly taken = new Set<number>();
  private readonly ids = new Set<string>();
  private last: OpenCall | undefined;
  private next = 0;

  mended(part: Fields): Fields {
    const { index } = part;
    const numbered = Number.isSafeInteger(index);
    const open = numbered ? this.byIndex.get(index) : this.last;
    const begins = open === undefined || isAnother(part, open, numbered);
    const call = begins ? this.begin(numbered ? (index as number) : this.next) : open;
    if (begins) call.id = textIn(part['id']);
    call.named ||= nameOf(part) !== '';
    call.arguments += saidIn(part);
    this.byIndex.set(numbered ? index : call.number, call);
    this.last = call;
    const members = { index: call.number };
    if (!begins) {
      const said = 'id' in part ? { id: call.shownId } : {};
      return withMembers(part, { ...members, ...said, function: plainFunction(part['function'], false) });
    }
    const first = begun(part, this.ids);
    call.shownId = String(first['id']);
    return withMembers(first, members);
  }

  private begin(wanted: number): OpenCall {
    const number = this.taken.has(wanted) ? this.next : wanted;
    this.taken.add(number);
    this.next = Math.max(this.next, number + 1);
    return { number, id: '', shownId: '', named: false, arguments: '' };
  }
}

/**
 * Whether a part is not the rest of the call that its index, or the lack of one, points at. Some upstreams number nothing, some call
 * every call 0, and some say id and name again with every part.
 */
function isAnother(part: Fields, open: OpenCall, numbered: boolean): boolean {
  if (!open.named || nameOf(part) === '') return false;
  const id = textIn(part['id']);
  if (id === '' || open.id === '') return !numbered;
  return id !== open.id || (!numbered && isWhole(open.arguments));
}

/** Arguments that came whole: what has a name after them is another call, though some give all calls one id. */
function isWhole(given: string): boolean {
  try {
    JSON.parse(given);
    return true;
  } catch {
    return false;
  }
}

/** The tool calls of one stream: brings those that upstreams send otherwise into the convention's form, which clients put together by. */
export class StreamedCalls {
  /** By the choice's index. Most streams have no calls. */
  private choices: Map<number, NumberedCalls> | null = null;

  /** A delta with its calls as the convention has them; itself where they are. */
  mended(delta: Fields, choice: number): Fields {
    if (!Array.isArray(delta['tool_calls'])) return delta;
    this.choices ??= new Map();
    const calls = this.choices.get(choice) ?? new NumberedCalls();
    this.choices.set(choice, calls);
    return withCalls(delta, (part) => calls.mended(part));
  }
}
