import { invalid } from '../../contract/errors.js';
import { isFields } from '../../providers/index.js';
import { isSeal, withMetadata } from '../metadata-seal.js';
import type { CarriedMetadata } from '../metadata-seal.js';
import { listAt, nameAt, objectAt, oneOf, textAt } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';
import { blocksAt, partsOf } from './blocks.js';

/** A block with a URL for an upstream of the dialect, and the chat part that holds the content of that URL. */
export interface Media {
  block: Fields;
  message: number;
  content: number;
}

/** The messages in the form of chat, and in the form of the dialect. */
export interface Translated {
  /** In the form of chat, the system's text first. */
  messages: Fields[];
  /** The place of each message in the request. */
  places: string[];
  /** In the form of the dialect, without our seals. */
  native: Fields[];
  media: Media[];
  /** Texts that only the dialect can express. */
  texts: string[];
}

export interface TranslateOptions {
  system: unknown;
  /** The content of a seal for the called model; null if it belongs to another model. */
  open(sealed: unknown): CarriedMetadata | null;
  /** Whether file ids of the maker are allowed. */
  fileIds: boolean;
}

const PARAM = 'messages';
const ROLES = ['user', 'assistant', 'system'] as const;

/** Marks blocks of our own searches, which no maker understands. */
export const OWN_SEARCH = 'pst1_search';

/** An assistant's blocks that mean nothing to another model: the work of its maker's own tools. */
const MAKERS = /^(?:server_tool_use|mcp_tool_use|container_upload|compaction|fallback|[a-z_]+_tool_result)$/;

/** Whether a block belongs to one of our own searches. */
function isOwnSearch({ type, id, content }: Fields): boolean {
  if (type === 'server_tool_use') return typeof id === 'string' && id.startsWith(OWN_SEARCH_ID);
  if (type !== 'web_search_tool_result') return false;
  return (
    Array.isArray(content) && content.some((one) => isFields(one) && one['encrypted_content'] === OWN_SEARCH)
  );
}

/** The prefix of our own searches' ids. */
export const OWN_SEARCH_ID = 'srvtoolu_pst';

interface Where {
  where: string;
  /** The message of the dialect; the upstream gets its blocks. */
  kept: Fields[];
}

/** Reads one message after the other; one object for each request. */
class MessageReader {
  readonly result: Translated = { messages: [], places: [], native: [], media: [], texts: [] };
  private readonly callIds = new Set<string>();

  constructor(private readonly options: TranslateOptions) {}

  system(given: unknown): void {
    if (given == null) return;
    const text = textOfSystem(given, 'system');
    if (text !== '') this.add({ role: 'system', content: text }, 'system');
  }

  read(value: unknown, index: number): void {
    const where = `messages[${index}]`;
    const message = objectAt(value, where, PARAM);
    const role = oneOf(message['role'], `${where}.role`, ROLES);
    const at = `${where}.content`;
    const blocks = blocksAt(message['content'], at);
    const kept: Fields[] = [];
    if (role === 'system') this.add({ role, content: textOfSystem(message['content'], at) }, where);
    else if (role === 'user') this.user(blocks, { where, kept });
    else this.assistant(blocks, { where, kept });
    const isText = role === 'system' || typeof message['content'] === 'string';
    // A message that has only our own blocks is not sent to a maker.
    if (isText) this.result.native.push(message);
    else if (kept.length > 0 || blocks.length === 0) this.result.native.push({ ...message, content: kept });
  }

  private user(blocks: readonly Fields[], { where, kept }: Where): void {
    const others: { block: Fields; at: string }[] = [];
    blocks.forEach((given, index) => {
      const at = `${where}.content[${index}]`;
      const block = { ...given };
      kept.push(block);
      if (block['type'] === 'tool_result') this.toolResult(block, { at, where, others });
      else others.push({ block, at });
    });
    if (others.length === 0) return;
    const parts: Fields[] = [];
    for (const { block, at } of others) this.take(block, at, parts);
    const isPlain = parts.every(({ type }) => type === 'text');
    const texts = parts.map(({ text }) => text as string);
    this.add({ role: 'user', content: isPlain && parts.length === 1 ? texts[0] : parts }, where);
  }

  /** A tool's result. Its pictures and files follow as the user's, because most upstreams accept only texts from a tool. */
  private toolResult(
    block: Fields,
    { at, where, others }: { at: string; where: string; others: { block: Fields; at: string }[] },
  ): void {
    const id = nameAt(block['tool_use_id'], `${at}.tool_use_id`, PARAM);
    if (!this.callIds.has(id))
      throw invalid(`${at}: there is no tool_use with the id ${id} before it`, PARAM);
    const given = block['content'] == null ? [] : blocksAt(block['content'], `${at}.content`);
    const inner = given.map((one) => ({ ...one }));
    if (Array.isArray(block['content'])) block['content'] = inner;
    const texts: string[] = [];
    let hasOthers = false;
    inner.forEach((one, index) => {
      const inside = `${at}.content[${index}]`;
      if (one['type'] !== 'image' && one['type'] !== 'document')
        return texts.push(...partsOf(one, inside).map(({ text }) => text as string));
      hasOthers = true;
      return others.push({ block: one, at: inside });
    });
    const said = texts.join('\n') || (hasOthers ? 'The output follows.' : '');
    this.add({ role: 'tool', tool_call_id: id, content: said }, where);
  }

  /** Converts a block to parts of the user's next message. */
  private take(block: Fields, at: string, parts: Fields[]): void {
    const { source } = block;
    if (
      this.options.fileIds &&
      (block['type'] === 'container_upload' || (isFields(source) && source['type'] === 'file'))
    ) {
      parts.push({ type: 'text', text: `File ${String(block['file_id'] ?? (source as Fields)['file_id'])}` });
      return;
    }
    const made = partsOf(block, at);
    const last = made.at(-1)?.['type'];
    parts.push(...made);
    if (isFields(source) && source['type'] === 'url' && last !== 'text')
      this.result.media.push({ block, message: this.result.messages.length, content: parts.length - 1 });
  }

  private assistant(blocks: readonly Fields[], { where, kept }: Where): void {
    const texts: string[] = [];
    const calls: Fields[] = [];
    const carried: CarriedMetadata[] = [];
    blocks.forEach((block, index) => {
      const at = `${where}.content[${index}]`;
      const sealed = block['type'] === 'thinking' ? block['signature'] : block['data'];
      const isThought = block['type'] === 'thinking' || block['type'] === 'redacted_thinking';
      if (isThought && isSeal(sealed)) {
        const opened = this.options.open(sealed);
        if (opened !== null) carried.push(opened);
        return;
      }
      if (isOwnSearch(block)) return;
      kept.push(block);
      if (isThought) this.result.texts.push(typeof block['thinking'] === 'string' ? block['thinking'] : '');
      else if (block['type'] === 'text') texts.push(textAt(block['text'], `${at}.text`, PARAM));
      else if (block['type'] === 'tool_use') calls.push(this.call(block, at));
      else if (MAKERS.test(String(block['type']))) this.result.texts.push(JSON.stringify(block));
      else throw invalid(`${at}.type ${String(block['type'])} is not supported`, PARAM);
    });
    if (texts.length === 0 && calls.length === 0) return;
    const said = texts.join('');
    const message = {
      role: 'assistant',
      content: said === '' && calls.length > 0 ? null : said,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    // The last seal of a turn has the most complete metadata.
    this.add(carried.reduceRight<Fields>(withMetadata, message), where);
  }

  private call(block: Fields, at: string): Fields {
    const id = nameAt(block['id'], `${at}.id`, PARAM);
    const name = nameAt(block['name'], `${at}.name`, PARAM);
    const { input } = block;
    this.callIds.add(id);
    return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
  }

  private add(message: Fields, where: string): void {
    this.result.messages.push(message);
    this.result.places.push(where);
  }
}

function textOfSystem(given: unknown, where: string): string {
  if (typeof given === 'string') return given;
  return listAt(given, where, where === 'system' ? where : PARAM)
    .map((value, index) => {
      const block = objectAt(value, `${where}[${index}]`, where);
      if (block['type'] !== 'text') throw invalid(`${where}[${index}].type must be text`, where);
      return textAt(block['text'], `${where}[${index}].text`, where);
    })
    .join('\n\n');
}

/**
 * Converts the messages to the form of chat and to the form for upstreams of the dialect.
 * @throws ApiError invalid_request, with the path of the invalid value in its message
 */
export function translate(messages: unknown, options: TranslateOptions): Translated {
  const reader = new MessageReader(options);
  reader.system(options.system);
  const given = messages == null ? [] : listAt(messages, 'messages');
  if (given.length === 0) throw invalid('messages must have at least one message', PARAM);
  given.forEach((message, index) => {
    reader.read(message, index);
  });
  return reader.result;
}

/** Puts the content of URLs (own files as data, documents as text) into the blocks for an upstream of the dialect. */
export function fillMedia({ media }: Translated, messages: readonly unknown[]): void {
  for (const { block, message, content } of media) {
    const made = (messages[message] as Fields | undefined)?.['content'];
    const read: unknown = Array.isArray(made) ? made[content] : null;
    if (!isFields(read)) continue;
    const { image_url: image, file, text } = read;
    if (isFields(image)) fillSource(block, image['url']);
    else if (isFields(file)) fillSource(block, file['file_data']);
    // A maker that reads the page or document itself understands more than its text alone contains.
    else if (typeof text === 'string' && !isPublic(block['source']))
      block['source'] = { type: 'text', media_type: 'text/plain', data: text };
  }
}

const isPublic = (source: unknown): boolean => isFields(source) && /^https:/i.test(String(source['url']));

const DATA = /^data:([^;,]{1,100});base64,/;

function fillSource(block: Fields, url: unknown): void {
  if (typeof url !== 'string') return;
  const media = DATA.exec(url.slice(0, 200));
  if (media?.[1] === undefined) return;
  const data = url.slice(media[0].length);
  block['source'] =
    media[1] === 'text/plain' && block['type'] === 'document'
      ? { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString('utf8') }
      : { type: 'base64', media_type: media[1], data };
}
