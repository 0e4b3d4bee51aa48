import { newId } from '../../contract/ids.js';
import { argumentsRest, callPieces, isWhole, mayGoOn, nameRest } from './call-pieces.js';
import { argumentsText, isFields } from './said.js';

type Fields = Record<string, unknown>;

/** The given object itself where it has these members already. */
function withMembers(given: Fields, members: Fields): Fields {
  return Object.keys(members).every((name) => given[name] === members[name])
    ? given
    : { ...given, ...members };
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What every call begins with: an id of its own to answer it by, its type, and arguments as text. */
function begun(call: Fields, taken: Set<string>): Fields {
  const given = textIn(call['id']);
  const id = given === '' || taken.has(given) ? newId('call') : given;
  taken.add(id);
  const { function: asked } = call;
  return withMembers(call, {
    id,
    type: textIn(call['type']) || 'function',
    function: isFields(asked) ? withMembers(asked, { arguments: argumentsText(asked['arguments']) }) : asked,
  });
}

/** The object with its `tool_calls` exchanged; itself where none of them had to be. Null takes one out. */
function withCalls(given: Fields, mend: (call: Fields) => Fields | null): Fields {
  const { tool_calls: calls, ...others } = given;
  if (!Array.isArray(calls)) return given;
  const mended = calls.map((call: unknown) => (isFields(call) ? mend(call) : call));
  if (mended.every((call, at) => call === calls[at])) return given;
  const left = mended.filter((call) => call !== null);
  return left.length === 0 ? others : { ...given, tool_calls: left };
}

/** What a part says of its call besides id, type and function. */
function othersOf({ id: _id, type: _type, index: _index, function: _function, ...others }: Fields): Fields {
  return others;
}

/** A whole message with its calls as the convention has them; itself where they are. */
export function withWholeCalls(message: Fields): Fields {
  const taken = new Set<string>();
  return withCalls(message, (call) => begun(call, taken));
}

/** A call that a stream has begun. */
class OpenCall {
  /** So far. */
  name = '';
  arguments = '';
  /** Its parts tell all of the arguments so far. */
  private tellsAll = false;
  /** Its first part, while its name may come in more pieces: clients take a name in one. */
  held: Fields | null = null;

  constructor(
    /** The index that its reader knows it by. */
    readonly number: number,
    /** As the upstream gave it; may be empty. */
    readonly id: string,
  ) {}

  /** A part's function without what was said of it before. */
  rest(asked: unknown, names: readonly string[], begins: boolean): unknown {
    if (!isFields(asked)) return asked;
    const { name, arguments: given, ...more } = asked;
    const { name: saidName, arguments: said } = callPieces(asked);
    const named = nameRest(this.name, saidName, names);
    const argued = argumentsRest(this.arguments, said, saidName !== '' || this.tellsAll);
    this.tellsAll ||= argued !== said;
    this.name += named;
    this.arguments += argued;
    if (begins) return withMembers(asked, { arguments: argued });
    const isNew = named === '' ? !('name' in asked) : named === name;
    if (isNew && (given === undefined || argued === given)) return asked;
    return {
      ...(named === '' ? {} : { name: named }),
      ...(given === undefined ? {} : { arguments: argued }),
      ...more,
    };
  }
}

/** The calls of one choice, numbered as the convention has it. */
class NumberedCalls {
  private readonly byIndex = new Map<unknown, OpenCall>();
  private readonly byId = new Map<string, OpenCall>();
  private readonly taken = new Set<number>();
  private readonly ids = new Set<string>();
  private last: OpenCall | undefined;
  private next = 0;

  constructor(private readonly names: readonly string[]) {}

  /** The part as it goes on to the reader; null: it waits for more of its call. */
  mended(part: Fields): Fields | null {
    const { index } = part;
    const id = textIn(part['id']);
    const numbered = Number.isSafeInteger(index);
    const open = numbered ? this.byIndex.get(index) : (this.byId.get(id) ?? this.last);
    const begins = open === undefined || this.isAnother(part, open, numbered);
    const call = begins ? this.begin(numbered ? (index as number) : this.next, id) : open;
    this.byIndex.set(numbered ? index : call.number, call);
    if (id !== '') this.byId.set(id, call);
    this.last = call;
    const asked = call.rest(part['function'], this.names, begins);
    if (begins) {
      const first = withMembers(begun(part, this.ids), { index: call.number });
      return this.heldBack(call, first);
    }
    if (call.held !== null) return this.heldBack(call, { ...call.held, ...othersOf(part) });
    // Said once: clients join what they are told again.
    const { id: _id, type: _type, ...more } = part;
    const isBare = !('id' in part) && !('type' in part);
    return withMembers(isBare ? part : more, {
      index: call.number,
      ...(asked === undefined ? {} : { function: asked }),
    });
  }

  hasHeld(): boolean {
    return [...this.byIndex.values()].some((call) => call.held !== null);
  }

  /** Calls whose names got no further. */
  flush(): Fields[] {
    return [...this.byIndex.values()].flatMap((call) =>
      call.held === null ? [] : [this.released(call, call.held)],
    );
  }

  /** The first part of a call with all that was said of it, once its name is whole. */
  private heldBack(call: OpenCall, first: Fields): Fields | null {
    if (call.arguments === '' && mayGoOn(call.name, this.names)) {
      call.held = first;
      return null;
    }
    return call.held === null ? first : this.released(call, first);
  }

  private released(call: OpenCall, first: Fields): Fields {
    call.held = null;
    const asked = isFields(first['function']) ? first['function'] : {};
    return { ...first, function: { ...asked, name: call.name, arguments: call.arguments } };
  }

  private begin(wanted: number, id: string): OpenCall {
    const number = this.taken.has(wanted) ? this.next : wanted;
    this.taken.add(number);
    this.next = Math.max(this.next, number + 1);
    return new OpenCall(number, id);
  }

  /**
   * Whether a part is not the rest of the call that its index, or the lack of one, points at. Some upstreams number nothing, some call
   * every call 0, and some say id and name again with every part.
   */
  private isAnother(part: Fields, open: OpenCall, numbered: boolean): boolean {
    if (open.name === '') return false;
    const { name, arguments: said } = callPieces(part['function']);
    const id = textIn(part['id']);
    const isOther = id !== '' && open.id !== '' && id !== open.id;
    // A call may be announced before its name; without one a new id may be any part's.
    if (name === '') return isOther && numbered && said === '' && isWhole(open.arguments);
    if (isOther) return true;
    const repeats = nameRest(open.name, name, this.names) === '';
    if (numbered) return !repeats && isWhole(open.arguments);
    if (id === '' || open.id === '') return !this.goesOn(open, name);
    return isWhole(open.arguments);
  }

  /** Whether a name without a number is the next piece of one that is not whole yet. */
  private goesOn(open: OpenCall, name: string): boolean {
    if (open.arguments !== '') return false;
    const joined = open.name + name;
    return !this.names.includes(open.name) && this.names.some((known) => known.startsWith(joined));
  }
}

/** The tool calls of one stream: brings those that upstreams send otherwise into the convention's form, which clients put together by. */
export class StreamedCalls {
  /** By the choice's index. Most streams have no calls. */
  private choices: Map<number, NumberedCalls> | null = null;
  private functions: Map<number, OpenCall> | null = null;

  /** @param names of the tools on offer, where they are known: they tell pieces of a name from its repetition */
  constructor(private readonly names: readonly string[] = []) {}

  /** Whether a choice asked for anything so far. */
  has(choice: number): boolean {
    return this.choices?.has(choice) === true || this.functions?.has(choice) === true;
  }

  /** A delta with its calls as the convention has them; itself where they are. */
  mended(delta: Fields, choice: number): Fields {
    const { tool_calls: asked, function_call: old } = delta;
    const given = isFields(old) ? this.withFunction(delta, old, choice) : delta;
    if (!Array.isArray(asked) || asked.length === 0) return given;
    this.choices ??= new Map();
    const calls = this.choices.get(choice) ?? new NumberedCalls(this.names);
    this.choices.set(choice, calls);
    return withCalls(given, (part) => calls.mended(part));
  }

  /** What is left of a choice's calls at its end, in its last delta. */
  ended(delta: Fields, choice: number): Fields {
    const left = this.choices?.get(choice)?.flush() ?? [];
    if (left.length === 0) return delta;
    const { tool_calls: calls } = delta;
    return { ...delta, tool_calls: [...left, ...(Array.isArray(calls) ? (calls as unknown[]) : [])] };
  }

  /** A chunk that ends the choices whose calls still wait, for an upstream that ends without a finish reason; null where none do. */
  closing(): string | null {
    const open = [...(this.choices ?? [])].filter(([, calls]) => calls.hasHeld());
    if (open.length === 0) return null;
    const choices = open.map(([index]) => ({ index, delta: {}, finish_reason: 'tool_calls' }));
    return JSON.stringify({ choices });
  }

  /** The convention's older form, which has room for one call. */
  private withFunction(delta: Fields, part: Fields, choice: number): Fields {
    this.functions ??= new Map();
    const open = this.functions.get(choice);
    const call = open ?? new OpenCall(0, '');
    this.functions.set(choice, call);
    return withMembers(delta, { function_call: call.rest(part, this.names, open === undefined) });
  }
}
