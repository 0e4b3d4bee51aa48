import { characterCount, isLonger } from '../../text/characters.js';
import { invalid } from '../../contract/errors.js';

export interface AttachmentInput {
  type: 'image' | 'document';
  url: string;
  name: string;
}

/** Body of POST /agents/{id}/run (contract 4.8). */
export interface RunInput {
  input: string;
  attachments: AttachmentInput[];
  history: { role: 'user' | 'assistant'; content: string }[];
  sessionId: string | null;
  endUser: string | null;
}

/** The first limit is the contract's (4.8). The others are ours: enough for a long conversation, and not more than a model's context window holds. */
const MAX_INPUT = 10_000;
/** The maximum length of an end user's name. */
export const MAX_USER = 200;
const MAX_SESSION_ID = 200;
const MAX_NAME = 200;
const MAX_ATTACHMENTS = 10;
/** As in a chat message (contract 8.6). */
const MAX_IMAGES = 4;
const MAX_MESSAGES = 200;
const MAX_HISTORY = 400_000;

const FIELDS = new Set(['input', 'attachments', 'conversation_history', 'session_id', 'user']);
const ATTACHMENT_FIELDS = new Set(['type', 'url', 'name']);
const MESSAGE_FIELDS = new Set(['role', 'content']);

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function refuseOthers(given: Fields, known: ReadonlySet<string>): void {
  for (const name of Object.keys(given))
    if (!known.has(name) && given[name] !== null) throw invalid(`Unknown parameter: ${name}`, name);
}

function optionalText(value: unknown, field: string, max: number): string | null {
  if (value == null) return null;
  if (typeof value !== 'string') throw invalid(`${field} must be a string`, field);
  if (isLonger(value, max)) throw invalid(`${field} must be at most ${max} characters`, field);
  return value;
}

function inputOf(value: unknown): string {
  const text = optionalText(value, 'input', MAX_INPUT);
  if (text === null || text.trim() === '') throw invalid('input is required', 'input');
  return text;
}

function attachmentsOf(value: unknown): AttachmentInput[] {
  if (value == null) return [];
  if (!Array.isArray(value)) throw invalid('attachments must be an array', 'attachments');
  if (value.length > MAX_ATTACHMENTS)
    throw invalid(`attachments can be at most ${MAX_ATTACHMENTS}`, 'attachments');
  const read = value.map((item: unknown, index) => attachmentOf(item, index));
  if (read.filter(({ type }) => type === 'image').length > MAX_IMAGES)
    throw invalid(`attachments can hold at most ${MAX_IMAGES} images`, 'attachments');
  return read;
}

function attachmentOf(item: unknown, index: number): AttachmentInput {
  if (!isFields(item)) throw invalid(`attachments[${index}] must be an object`, 'attachments');
  refuseOthers(item, ATTACHMENT_FIELDS);
  const { type, url, name } = item;
  if (type !== 'image' && type !== 'document') throw invalid('Unsupported attachment type', 'attachments');
  if (typeof url !== 'string' || url === '') throw invalid(`attachments[${index}].url is required`, 'url');
  return {
    type,
    url,
    name: optionalText(name, `attachments[${index}].name`, MAX_NAME) ?? `${type} ${index + 1}`,
  };
}

function historyOf(value: unknown): RunInput['history'] {
  const field = 'conversation_history';
  if (value == null) return [];
  if (!Array.isArray(value)) throw invalid(`${field} must be an array`, field);
  if (value.length > MAX_MESSAGES) throw invalid(`${field} can be at most ${MAX_MESSAGES} messages`, field);
  let length = 0;
  return value.map((item: unknown, index) => {
    if (!isFields(item)) throw invalid(`${field}[${index}] must be an object`, field);
    refuseOthers(item, MESSAGE_FIELDS);
    const { role, content } = item;
    if (role !== 'user' && role !== 'assistant')
      throw invalid(`${field}[${index}].role must be user or assistant`, field);
    if (typeof content !== 'string') throw invalid(`${field}[${index}].content is required`, field);
    if (isLonger(content, MAX_HISTORY - length))
      throw invalid(`${field} must be at most ${MAX_HISTORY} characters together`, field);
    length += characterCount(content);
    return { role, content };
  });
}

/** @throws ApiError invalid_request with `param` */
export function parseRun(body: Fields): RunInput {
  refuseOthers(body, FIELDS);
  return {
    input: inputOf(body['input']),
    attachments: attachmentsOf(body['attachments']),
    history: historyOf(body['conversation_history']),
    sessionId: optionalText(body['session_id'], 'session_id', MAX_SESSION_ID) || null,
    endUser: optionalText(body['user'], 'user', MAX_USER) || null,
  };
}
