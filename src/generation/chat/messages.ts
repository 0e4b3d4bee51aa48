import { invalid } from '../../contract/errors.js';
import type { FurtherParts } from './documents.js';
import type { ImageReader } from './images.js';
import { addTexts } from './texts.js';

/** Roles of a chat message (contract 2.2), and `function`, the role of results for the older `function_call`. */
const ROLES: readonly unknown[] = ['system', 'user', 'assistant', 'tool', 'function'];
/** The newer name of `system` (beyond 11.4). */
const DEVELOPER = 'developer';
const MAX_IMAGES = 4;
/** Fields that are counted separately. */
const COUNTED_FIELDS: ReadonlySet<string> = new Set(['role', 'content', 'images', 'tool_calls']);
const COUNTED_OF_PART: Record<string, ReadonlySet<string>> = {
  text: new Set(['type', 'text']),
  refusal: new Set(['type', 'refusal']),
  image_url: new Set(['type', 'image_url']),
  input_audio: new Set(['type', 'input_audio']),
  file: new Set(['type', 'file']),
};
const COUNTED_OF_PICTURE: ReadonlySet<string> = new Set(['url']);
type Fields = Record<string, unknown>;
/** A part of a message's content in the common convention. */
type Part = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } };

/** The result of reading messages: their form for an upstream, and what to count. */
export interface ReadMessages {
  /** `images` became image_url parts, bare base64 became data: URLs. */
  messages: Fields[];
  /** Every text that counts as tokens. */
  texts: string[];
  images: number;
  /** Audio and files; each counts as an image until its real size is known. */
  attachments: number;
  /** The latest user message's text, the query of a web search. */
  question: string;
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The message without `images`, whose parts are in the content, and with a role that every upstream knows. Most messages need no change. */
function withContent(message: Fields, content: unknown): Fields {
  const isDeveloper = message['role'] === DEVELOPER;
  if (content === message['content'] && !('images' in message) && !isDeveloper) return message;
  const { images: _, ...rest } = message;
  return { ...rest, ...(isDeveloper ? { role: 'system' } : {}), content };
}

/** Reads one message after the other; one object for each request. */
class MessageReader {
  readonly result: ReadMessages = { messages: [], texts: [], images: 0, attachments: 0, question: '' };

  constructor(
    private readonly readImage: ImageReader,
    private readonly further: FurtherParts,
  ) {}

  read(message: unknown, index: number): void {
    const where = `messages[${index}]`;
    if (!isFields(message)) throw invalid(`${where} must be an object`, 'messages');
    if (!ROLES.includes(message['role']) && message['role'] !== DEVELOPER) {
      throw invalid(`${where}.role must be one of system, user, assistant, tool`, 'messages');
    }
    for (const field of ['name', 'refusal', 'tool_call_id'])
      if (message[field] != null && typeof message[field] !== 'string')
        throw invalid(`${where}.${field} must be a string`, 'messages');
    if (message['role'] === 'function' && !message['name'])
      throw invalid(`${where}.name is required`, 'messages');
    this.toolFields(message, where);
    const before = this.result.texts.length;
    const content = this.content(message, where);
    const said = this.result.texts.slice(before).join(' ');
    if (message['role'] === 'user' && said !== '') this.result.question = said;
    this.result.messages.push(withContent(message, content));
    this.countRest(message);
  }

  /** Counts all other fields that go upstream: the upstream charges for their text, so it is reserved, also for unknown fields. */
  private countRest(message: Fields): void {
    const { texts } = this.result;
    addTexts(message, texts, COUNTED_FIELDS);
    for (const call of (message['tool_calls'] as Fields[] | null | undefined) ?? []) addTexts(call, texts);
    if (!Array.isArray(message['content'])) return;
    for (const part of message['content'] as Fields[]) {
      addTexts(part, texts, COUNTED_OF_PART[part['type'] as string]);
      if (part['type'] === 'image_url' && isFields(part['image_url']))
        addTexts(part['image_url'], texts, COUNTED_OF_PICTURE);
    }
  }

  private toolFields(message: Fields, where: string): void {
    if (message['function_call'] != null) checkCall(message['function_call'], `${where}.function_call`);
    const calls = message['tool_calls'];
    if (calls == null) return;
    if (!Array.isArray(calls))
      throw invalid(`${where}.tool_calls must be an array of function calls`, 'messages');
    calls.forEach((call: unknown, index) => {
      const one = `${where}.tool_calls[${index}]`;
      if (!isFields(call)) throw invalid(`${one} must be an object`, 'messages');
      if (call['id'] != null && typeof call['id'] !== 'string')
        throw invalid(`${one}.id must be a string`, 'messages');
      if (call['type'] != null && call['type'] !== 'function')
        throw invalid(`${one}.type must be function`, 'messages');
      checkCall(call['function'], `${one}.function`);
    });
  }

  private content(message: Fields, where: string): unknown {
    const mayBeEmpty = saysOtherwise(message);
    const given = message['content'];
    const content = mayBeEmpty && Array.isArray(given) && given.length === 0 ? null : given;
    const images = this.imageList(message['images'], where);
    if (content == null) {
      if (!mayBeEmpty && images.length === 0) throw invalid(`${where}.content is required`, 'messages');
      return images.length === 0 ? null : images;
    }
    if (typeof content === 'string') {
      this.result.texts.push(content);
      return images.length === 0 ? content : [{ type: 'text', text: content } satisfies Part, ...images];
    }
    if (!Array.isArray(content) || content.length === 0) {
      throw invalid(`${where}.content must be a string or a non-empty array of parts`, 'messages');
    }
    const parts = content.map((part: unknown, index) => this.part(part, `${where}.content[${index}]`));
    const all = [...parts, ...images];
    this.countImages(
      all.filter((part) => part['type'] === 'image_url').length - images.length,
      images.length,
    );
    return all;
  }

  private imageList(images: unknown, where: string): Part[] {
    if (images == null) return [];
    if (!Array.isArray(images)) throw invalid(`${where}.images must be an array of strings`, 'images');
    images.forEach((image: unknown, index) => {
      if (typeof image !== 'string') throw invalid(`${where}.images[${index}] must be a string`, 'images');
    });
    this.countImages(0, images.length);
    this.result.images += images.length;
    return (images as string[]).map((image, index) => ({
      type: 'image_url',
      image_url: { url: this.readImage(image, { param: 'images', where: `${where}.images[${index}]` }) },
    }));
  }

  private countImages(parts: number, listed: number): void {
    if (parts + listed > MAX_IMAGES)
      throw invalid(`A message can have at most ${MAX_IMAGES} images`, listed === 0 ? 'image_url' : 'images');
  }

  private part(part: unknown, where: string): Fields {
    if (!isFields(part)) throw invalid(`${where} must be an object`, 'messages');
    if (part['type'] === 'text' || part['type'] === 'refusal') {
      const text = part[part['type']];
      if (typeof text !== 'string') throw invalid(`${where}.${part['type']} must be a string`, 'messages');
      this.result.texts.push(text);
      return part;
    }
    const further = this.further.read(part, where);
    if (further !== null) {
      this.result.attachments++;
      return further;
    }
    if (part['type'] !== 'image_url') throw invalid(`${where}.type must be text or image_url`, 'messages');
    const given = part['image_url'];
    const url = isFields(given) ? given['url'] : given;
    if (typeof url !== 'string') throw invalid(`${where}.image_url.url is required`, 'image_url');
    this.result.images++;
    return {
      ...part,
      image_url: {
        ...(isFields(given) ? given : {}),
        url: this.readImage(url, { param: 'image_url', where: `${where}.image_url.url` }),
      },
    };
  }
}

/** Whether a message may have no content: the model called a tool, or refused. */
function saysOtherwise({ role, tool_calls: calls, function_call: call, refusal }: Fields): boolean {
  return role === 'assistant' && (calls != null || call != null || refusal != null);
}

function checkCall(call: unknown, where: string): void {
  if (!isFields(call)) throw invalid(`${where} must be a function call`, 'messages');
  for (const field of ['name', 'arguments'])
    if (typeof call[field] !== 'string') throw invalid(`${where}.${field} must be a string`, 'messages');
}

/** @throws ApiError invalid_request */
export function readMessages(
  messages: unknown,
  { readImage, further }: { readImage: ImageReader; further: FurtherParts },
): ReadMessages {
  if (messages == null) throw invalid('messages is required', 'messages');
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid('messages must be a non-empty array', 'messages');
  const reader = new MessageReader(readImage, further);
  messages.forEach((message: unknown, index) => reader.read(message, index));
  return reader.result;
}
