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

/** A call whose function stands beside its id, instead of in a field of its own. */
function withFunctionField(call: Fields): Fields {
  const { name, arguments: given, ...others } = call;
  if (call['function'] != null || typeof name !== 'string') return call;
  return { ...others, function: { name, ...(given === undefined ? {} : { arguments: given }) } };
}

/** The object with its `tool_calls` exchanged, each for any number of them; itself where none of them had to be. */
function withCalls(given: Fields, mend: (call: Fields) => readonly Fields[]): Fields {
  const { tool_calls: said, ...others } = given;
  const calls: unknown[] | null = Array.isArray(said) ? said : isFields(said) ? [said] : null;
  if (calls === null) return given;
  const mended = calls.flatMap((call): readonly unknown[] =>
    isFields(call) ? mend(withFunctionField(call)) : [call],
  );
  if (calls === said && mended.length === calls.length && mended.every((call, at) => call === calls[at]))
    return given;
  return mended.length === 0 ? others : { ...given, tool_calls: mended };
}

/** An index, which some write as a word; null where there is none. */
function indexOf({ index }: Fields): number | null {
  if (Number.isSafeInteger(index)) return index as number;
  return typeof index === 'string' && /^\d{1,6}$/.test(index) ? Number(index) : null;
}

/** What a part says of its call besides id, type and function. */
function othersOf({ id: _id, type: _type, index: _index, function: _function, ...others }: Fields): Fields {
  return others;
}

/** A whole message with its calls as the convention has them; itself where they are. */
export function withWholeCalls(message: Fields): Fields {
  const taken = new Set<string>();
  return withCalls(message, (call) => [begun(call, taken)]);
}

/** A call that a stream has begun. */
class OpenCall {
  /** So far. */
  name = '';
  arguments = '';
  /** Its parts tell all of the arguments so far. */
  private tellsAll = false;
  /** Its first part, while its name may still come or go on, or its arguments are those that some send ahead: clients take each of them once. */
  held: Fields | null = null;

  constructor(
    /** The index that its reader knows it by. */
    readonly number: number,
    /** As the upstream gave it; may be empty. */
    readonly id: string,
  ) {}

  /** Arguments that say that there are none, which some send ahead of the others. */
  hasNone(): boolean {
    return this.arguments.length < 10 && /^\s*\{\s*\}\s*$/.test(this.arguments);
  }

  /** A part's function without what was said of it before. */
  rest(asked: unknown, names: readonly string[], begins: boolean): unknown {
    if (!isFields(asked)) return asked;
    const { name, arguments: given, ...more } = asked;
    const { name: saidName, arguments: said } = callPieces(asked);
    if (this.held !== null && this.hasNone() && said.trimStart().startsWith('{')) this.arguments = '';
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

/** Whether arguments behind whole ones are those of another call: they neither say the same again nor come after those that are sent ahead. */
const isNews = (open: OpenCall, said: string): boolean =>
  !open.hasNone() && argumentsRest(open.arguments, said, true).trim() !== '';

/** The calls of one choice, numbered as the convention has it. */
class NumberedCalls {
  private readonly byIndex = new Map<unknown, OpenCall>();
  private readonly byId = new Map<string, OpenCall>();
  private readonly ids = new Set<string>();
  /** Calls with a first part that is held back. */
  private readonly waiting = new Set<OpenCall>();
  private last: OpenCall | undefined;
  private next = 0;

  constructor(private readonly names: readonly string[]) {}

  /** The part as it goes on to the reader: none while it waits for more of its call, and what waited for the call before. */
  mended(part: Fields): readonly Fields[] {
    const index = indexOf(part);
    const id = textIn(part['id']);
    const open = index !== null ? this.byIndex.get(index) : (this.byId.get(id) ?? this.last);
    const begins = open === undefined || this.isAnother(part, open, index !== null);
    const before = begins ? this.flush() : [];
    const call = begins ? new OpenCall(this.next++, id) : open;
    this.byIndex.set(index ?? call.number, call);
    if (id !== '') this.byId.set(id, call);
    this.last = call;
    const asked = call.rest(part['function'], this.names, begins);
    if (begins) {
      const first = withMembers(begun(part, this.ids), { index: call.number });
      return [...before, ...this.heldBack(call, first)];
    }
    if (call.held !== null) return this.heldBack(call, { ...call.held, ...othersOf(part) });
    // Said once: clients join what they are told again.
    const { id: _id, type: _type, ...more } = part;
    const isBare = !('id' in part) && !('type' in part);
    const rest = { index: call.number, ...(asked === undefined ? {} : { function: asked }) };
    return [withMembers(isBare ? part : more, rest)];
  }

  hasHeld(): boolean {
    return this.waiting.size > 0;
  }

  /** Calls whose names got no further. */
  flush(): Fields[] {
    return [...this.waiting].flatMap((call) => (call.held === null ? [] : [this.released(call, call.held)]));
  }

  /** The first part of a call with all that was said of it, once its name is whole. */
  private heldBack(call: OpenCall, first: Fields): readonly Fields[] {
    if (call.name === '' || call.hasNone() || (call.arguments === '' && mayGoOn(call.name, this.names))) {
      call.held = first;
      this.waiting.add(call);
      return [];
    }
    return [call.held === null ? first : this.released(call, first)];
  }

  private released(call: OpenCall, first: Fields): Fields {
    call.held = null;
    this.waiting.delete(call);
    const asked = isFields(first['function']) ? first['function'] : {};
    return { ...first, function: { ...asked, name: call.name, arguments: call.arguments } };
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
    const repeats = nameRest(open.name, name, this.names) === '';
    // Some make up a new id for every part.
    if (isOther) return !(numbered && repeats && open.arguments !== '' && !isWhole(open.arguments));
    if (numbered) return isWhole(open.arguments) && (!repeats || isNews(open, said));
    if (id === '' || open.id === '') return !this.goesOn(open, name);
    return isWhole(open.arguments) && (!repeats || isNews(open, said));
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
    if (!isFields(asked) && (!Array.isArray(asked) || asked.length === 0)) return given;
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
