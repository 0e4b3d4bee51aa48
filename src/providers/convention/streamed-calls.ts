import { newId } from '../../contract/ids.js';
import { argumentsRest, callPieces, isWhole, isNamePrefix, nameRest } from './call-pieces.js';
import { argumentsText, isFields, offersTools, toolNames } from './answer-text.js';

type Fields = Record<string, unknown>;

/** Returns the object with these members; the same object if it has them already. */
function withMembers(given: Fields, members: Fields): Fields {
  return Object.keys(members).every((name) => given[name] === members[name])
    ? given
    : { ...given, ...members };
}

const textIn = (value: unknown): string => (typeof value === 'string' ? value : '');

/** What every call must begin with: a unique id, its type, and arguments as text. */
function normalizedCall(call: Fields, taken: Set<string>): Fields {
  const given = textIn(call['id']);
  const id = given === '' || taken.has(given) ? newId('call') : given;
  taken.add(id);
  const { function: requested } = call;
  return withMembers(call, {
    id,
    type: textIn(call['type']) || 'function',
    function: isFields(requested)
      ? withMembers(requested, { arguments: argumentsText(requested['arguments']) })
      : requested,
  });
}

/** A call whose function's fields are beside its id, and not in `function`. */
function withFunctionField(call: Fields): Fields {
  const { name, arguments: given, input, ...others } = call;
  if (call['function'] != null || typeof name !== 'string') return call;
  const told = given ?? input;
  return { ...others, function: { name, ...(told === undefined ? {} : { arguments: told }) } };
}

function saysSomething(call: Fields): boolean {
  for (const name in call) if (name !== 'index') return true;
  return false;
}

/** The object with each of its `tool_calls` replaced by any number of calls; the same object if nothing was replaced. */
function withCalls(given: Fields, mend: (call: Fields) => readonly Fields[]): Fields {
  const { tool_calls: said, ...others } = given;
  const calls: unknown[] | null = Array.isArray(said) ? said : isFields(said) ? [said] : null;
  if (calls === null) return given;
  const normalized = calls.flatMap((call): readonly unknown[] =>
    isFields(call) && saysSomething(call) ? mend(withFunctionField(call)) : [],
  );
  if (
    calls === said &&
    normalized.length === calls.length &&
    normalized.every((call, at) => call === calls[at])
  )
    return given;
  return normalized.length === 0 ? others : { ...given, tool_calls: normalized };
}

/** An index, which some upstreams write as a string; null if there is none. */
function indexOf({ index }: Fields): number | null {
  if (Number.isSafeInteger(index)) return index as number;
  return typeof index === 'string' && /^\d{1,6}$/.test(index) ? Number(index) : null;
}

/** The fields of a part besides id, type and function. */
function othersOf({ id: _id, type: _type, index: _index, function: _function, ...others }: Fields): Fields {
  return others;
}

/** A message or delta whose call has the older form, from an upstream that was offered tools; the same if it has none. */
export function withoutFunctionCall(message: Fields): Fields {
  const { function_call: old, ...others } = message;
  if (!isFields(old)) return message;
  return Array.isArray(message['tool_calls']) ? others : { ...others, tool_calls: [{ function: old }] };
}

/** A whole message with its calls in the convention's form; the same message if they have it already. */
export function withWholeCalls(message: Fields): Fields {
  const taken = new Set<string>();
  return withCalls(message, (call) => [normalizedCall(call, taken)]);
}

/** A call that has begun in a stream. */
class OpenCall {
  /** Its arguments so far. */
  name = '';
  arguments = '';
  /** Whether each of its parts repeats all arguments so far. */
  private repeatsArguments = false;
  /**
   * Its first part, held back while its name may still continue, or while its arguments may be the empty ones that some upstreams send first.
   * Clients accept each field once.
   */
  held: Fields | null = null;

  constructor(
    /** The index that the reader gets. */
    readonly number: number,
    /** The upstream's id; may be empty. */
    readonly id: string,
  ) {}

  /** Empty arguments, which some upstreams send before the others. */
  hasNone(): boolean {
    return this.arguments.length < 10 && /^\s*\{\s*\}\s*$/.test(this.arguments);
  }

  /** A part's function without what was already sent. */
  rest(requested: unknown, names: readonly string[], begins: boolean): unknown {
    if (!isFields(requested)) return requested;
    const { name, arguments: given, ...more } = requested;
    const { name: saidName, arguments: said } = callPieces(requested);
    if (this.held !== null && this.hasNone() && said.trimStart().startsWith('{')) this.arguments = '';
    const named = nameRest(this.name, saidName, names);
    const argued = argumentsRest(this.arguments, said, saidName !== '' || this.repeatsArguments);
    this.repeatsArguments ||= argued !== said;
    this.name += named;
    this.arguments += argued;
    if (begins) return withMembers(requested, { arguments: argued });
    const isNew = named === '' ? !('name' in requested) : named === name;
    if (isNew && (given === undefined || argued === given)) return requested;
    return {
      ...(named === '' ? {} : { name: named }),
      ...(given === undefined ? {} : { arguments: argued }),
      ...more,
    };
  }
}

/** Whether arguments that follow complete ones belong to another call: they are no repetition, and the complete ones were not the empty ones sent first. */
const isNews = (open: OpenCall, said: string): boolean =>
  !open.hasNone() && argumentsRest(open.arguments, said, true).trim() !== '';

/** The calls of one choice, numbered in the convention's way. */
class NumberedCalls {
  private readonly byIndex = new Map<unknown, OpenCall>();
  private readonly byId = new Map<string, OpenCall>();
  private readonly ids = new Set<string>();
  /** Calls whose first part is held back. */
  private readonly waiting = new Set<OpenCall>();
  private last: OpenCall | undefined;
  private next = 0;

  constructor(private readonly names: readonly string[]) {}

  /** The parts to send to the reader: none while the call waits for more of itself, and the held-back part of the call before. */
  normalize(part: Fields): readonly Fields[] {
    const index = indexOf(part);
    const id = textIn(part['id']);
    const open = index !== null ? this.byIndex.get(index) : (this.byId.get(id) ?? this.last);
    const begins = open === undefined || this.isAnother(part, open, index !== null);
    const before = begins ? this.flush() : [];
    const call = begins ? new OpenCall(this.next++, id) : open;
    this.byIndex.set(index ?? call.number, call);
    if (id !== '') this.byId.set(id, call);
    this.last = call;
    const requested = call.rest(part['function'], this.names, begins);
    if (begins) {
      const first = withMembers(normalizedCall(part, this.ids), { index: call.number });
      return [...before, ...this.heldBack(call, first)];
    }
    if (call.held !== null) return this.heldBack(call, { ...call.held, ...othersOf(part) });
    // Each is sent once, because clients would append a repetition.
    const { id: _id, type: _type, ...more } = part;
    const isBare = !('id' in part) && !('type' in part);
    const rest = { index: call.number, ...(requested === undefined ? {} : { function: requested }) };
    return [withMembers(isBare ? part : more, rest)];
  }

  hasHeld(): boolean {
    return this.waiting.size > 0;
  }

  hasAny(): boolean {
    return this.next > 0;
  }

  /** The held-back parts of calls whose names did not continue. */
  flush(): Fields[] {
    return [...this.waiting].flatMap((call) => (call.held === null ? [] : [this.released(call, call.held)]));
  }

  /** The first part of a call with all that has arrived, once its name is complete. */
  private heldBack(call: OpenCall, first: Fields): readonly Fields[] {
    if (
      call.name === '' ||
      call.hasNone() ||
      (call.arguments === '' && isNamePrefix(call.name, this.names))
    ) {
      call.held = first;
      this.waiting.add(call);
      return [];
    }
    return [call.held === null ? first : this.released(call, first)];
  }

  private released(call: OpenCall, first: Fields): Fields {
    call.held = null;
    this.waiting.delete(call);
    const requested = isFields(first['function']) ? first['function'] : {};
    return { ...first, function: { ...requested, name: call.name, arguments: call.arguments } };
  }

  /**
   * Whether a part begins a new call, although its index (or the lack of one) refers to an earlier call. Some upstreams send no index, some send 0
   * for every call, and some repeat id and name in every part.
   */
  private isAnother(part: Fields, open: OpenCall, numbered: boolean): boolean {
    if (open.name === '') return false;
    const { name, arguments: said } = callPieces(part['function']);
    const id = textIn(part['id']);
    const isOther = id !== '' && open.id !== '' && id !== open.id;
    // A call may be announced before its name arrives. Without a name, a part of any call may have a new id.
    if (name === '') return isOther && numbered && said === '' && isWhole(open.arguments);
    const repeats = nameRest(open.name, name, this.names) === '';
    // Some upstreams make a new id for every part.
    if (isOther) return !(numbered && repeats && open.arguments !== '' && !isWhole(open.arguments));
    if (numbered) return isWhole(open.arguments) && (!repeats || isNews(open, said));
    if (id === '' || open.id === '') return !this.continuesName(open, name);
    return isWhole(open.arguments) && (!repeats || isNews(open, said));
  }

  /** Whether a name without an index is the next piece of an unfinished name. */
  private continuesName(open: OpenCall, name: string): boolean {
    if (open.arguments !== '') return false;
    const joined = open.name + name;
    return !this.names.includes(open.name) && this.names.some((known) => known.startsWith(joined));
  }
}

/** Converts the tool calls of one stream to the convention's form, from which clients build the calls. */
export class StreamedCalls {
  /** The calls by the choice's index. Most streams have none. */
  private choices: Map<number, NumberedCalls> | null = null;
  private functions: Map<number, OpenCall> | null = null;

  /**
   * @param names of the tools on offer, where they are known: they tell pieces of a name from its repetition
   * @param hasTools tools are on offer, and no functions of the older form
   */
  constructor(
    private readonly names: readonly string[] = [],
    private readonly hasTools = false,
  ) {}

  /** The calls of the answer to a request. */
  static of(request: Fields): StreamedCalls {
    return new StreamedCalls(toolNames(request), offersTools(request));
  }

  /** Whether a choice has called a tool so far. */
  has(choice: number): boolean {
    return this.choices?.get(choice)?.hasAny() === true || this.functions?.has(choice) === true;
  }

  /** A delta with its calls in the convention's form; the same delta if they have it already. */
  normalize(delta: Fields, choice: number): Fields {
    return this.withToolCalls(this.hasTools ? withoutFunctionCall(delta) : delta, choice);
  }

  private withToolCalls(delta: Fields, choice: number): Fields {
    const { tool_calls: requested, function_call: old } = delta;
    const given = isFields(old) ? this.withFunction(delta, old, choice) : delta;
    if (!isFields(requested) && (!Array.isArray(requested) || requested.length === 0)) return given;
    this.choices ??= new Map();
    const calls = this.choices.get(choice) ?? new NumberedCalls(this.names);
    this.choices.set(choice, calls);
    return withCalls(given, (part) => calls.normalize(part));
  }

  /** Adds the held-back parts of a choice's calls to its last delta. */
  ended(delta: Fields, choice: number): Fields {
    const left = this.choices?.get(choice)?.flush() ?? [];
    if (left.length === 0) return delta;
    const { tool_calls: calls } = delta;
    return { ...delta, tool_calls: [...(Array.isArray(calls) ? (calls as unknown[]) : []), ...left] };
  }

  /** A chunk that ends the choices with held-back calls, for an upstream that sends no finish reason; null if there are none. */
  closing(): string | null {
    const open = [...(this.choices ?? [])].filter(([, calls]) => calls.hasHeld());
    if (open.length === 0) return null;
    const choices = open.map(([index]) => ({ index, delta: {}, finish_reason: 'tool_calls' }));
    return JSON.stringify({ choices });
  }

  /** Converts to the convention's older form, which can have only one call. */
  private withFunction(delta: Fields, part: Fields, choice: number): Fields {
    this.functions ??= new Map();
    const open = this.functions.get(choice);
    const call = open ?? new OpenCall(0, '');
    this.functions.set(choice, call);
    return withMembers(delta, { function_call: call.rest(part, this.names, open === undefined) });
  }
}
