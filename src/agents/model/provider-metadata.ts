import { storedJson } from '../../text/stored-json.js';
import { isFields } from '../../providers/index.js';

type Fields = Record<string, unknown>;

/** Provider-specific parts of an assistant's turn (reasoning, signatures), which its provider must get back unchanged in the next round. */
export interface TurnMetadata {
  /** The model that answered: no other model understands these parts. */
  model: string;
  /** Fields of the message, as JSON text: a database would reorder them. */
  message?: string;
}

/** Provider-specific parts of a tool call. */
export interface ToolCallMetadata {
  /** The provider's id of the call: other parts of the message may refer to it. */
  id: string;
  /** Its arguments as the original JSON text, if they are an object: a database would reorder them. */
  arguments?: string;
  /** Fields of the call beside the convention's, as JSON text; of its function under `function`. */
  call?: string;
}

/** Fields of the convention, which the agent itself writes, or turns into text. */
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

/** The provider-specific parts of a message; undefined if there are none. */
export function metadataOf(message: Fields): string | undefined {
  return textOf(others(message, SAID));
}

/** The fields of a call besides id, name and arguments. */
export function metadataOfCall(call: Fields): string | undefined {
  const requested = isFields(call['function']) ? others(call['function'], OF_FUNCTION) : {};
  return textOf({
    ...others(call, OF_CALL),
    ...(Object.keys(requested).length === 0 ? {} : { function: requested }),
  });
}

/** Parses the fields of a stored text. */
export function fieldsOf(carried: unknown): Fields {
  if (typeof carried !== 'string') return {};
  const fields = JSON.parse(carried) as unknown;
  return isFields(fields) ? fields : {};
}
