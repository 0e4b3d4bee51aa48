import { storedJson } from '../../text/stored-json.js';
import { isFields } from '../../providers/index.js';

type Fields = Record<string, unknown>;

/** What an assistant's turn carries for the maker of its model (reasoning, signatures), which wants it back in the next round as it was. */
export interface CarriedTurn {
  /** The model that answered: another would not understand it. */
  model: string;
  /** Fields of the message, as JSON text: a database would reorder them. */
  message?: string;
}

/** What one of its calls carries. */
export interface CarriedCall {
  /** The id that its maker gave it: details of the message may name it. */
  id: string;
  /** Its arguments in the words that they came in, where they are an object: a database would reorder them. */
  arguments?: string;
  /** Fields of the call beside the convention's, as JSON text; of its function under `function`. */
  call?: string;
}

/** What the agent says in the convention's own fields, or in the text that it makes of them. */
const SAID: ReadonlySet<string> = new Set([
  'role',
  'content',
  'tool_calls',
  'function_call',
  'refusal',
  'usage',
]);
const OF_CALL: ReadonlySet<string> = new Set(['id', 'type', 'index', 'function']);
const OF_FUNCTION: ReadonlySet<string> = new Set(['name', 'arguments']);

function others(fields: Fields, known: ReadonlySet<string>): Fields {
  return Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => !known.has(name) && !isNothing(value)),
  );
}

function isNothing(value: unknown): boolean {
  return value == null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);
}

const textOf = (fields: Fields): string | undefined =>
  Object.keys(fields).length === 0 ? undefined : storedJson(fields);

/** What a message carries beside what it says; undefined where that is nothing. */
export function carriedOf(message: Fields): string | undefined {
  return textOf(others(message, SAID));
}

/** What a call carries beside id, name and arguments. */
export function carriedOfCall(call: Fields): string | undefined {
  const asked = isFields(call['function']) ? others(call['function'], OF_FUNCTION) : {};
  return textOf({
    ...others(call, OF_CALL),
    ...(Object.keys(asked).length === 0 ? {} : { function: asked }),
  });
}

/** The fields of a carried text again. */
export function fieldsOf(carried: unknown): Fields {
  if (typeof carried !== 'string') return {};
  const fields = JSON.parse(carried) as unknown;
  return isFields(fields) ? fields : {};
}
