import { invalid } from '../../contract/errors.js';
import { isFields } from '../../providers/index.js';
import { isSeal, withCarried } from '../carried-seal.js';
import type { Carried } from '../carried-seal.js';
import { listAt, nameAt, objectAt, oneOf, textAt } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';
import { blocksAt, partsOf } from './blocks.js';

/** A block with a URL for an upstream of the dialect, and where a chat's reader puts what it made of that. */
export interface Media {
  block: Fields;
  message: number;
  content: number;
}

/** The messages as a chat's, and as an upstream of the dialect gets them. */
export interface Translated {
  /** Those of a chat, the system's text first. */
  messages: Fields[];
  /** Where each of them comes from. */
  places: string[];
  /** Those of the dialect, without seals of ours. */
  native: Fields[];
  media: Media[];
  /** Texts that only the dialect has a place for. */
  texts: string[];
}

export interface TranslateOptions {
  system: unknown;
  /** What a seal carries for the model that is asked; null: it is another's. */
  open(sealed: unknown): Carried | null;
  /** Whether ids of files at the maker may pass. */
  fileIds: boolean;
}

const PARAM = 'messages';
const ROLES = ['user', 'assistant', 'system'] as const;

/** Marks what our own searches put into an answer: no maker would understand it. */
export const OWN_SEARCH = 'pst1_search';

/** Blocks of an assistant that say nothing to another model: what its maker's own tools did. */
const MAKERS = /^(?:server_tool_use|mcp_tool_use|container_upload|compaction|fallback|[a-z_]+_tool_result)$/;

/** Whether a block is of one of our own searches. */
function isOwnSearch({ type, id, content }: Fields): boolean {
  if (type === 'server_tool_use') return typeof id === 'string' && id.startsWith(OWN_SEARCH_ID);
  if (type !== 'web_search_tool_result') return false;
  return (
    Array.isArray(content) && content.some((one) => isFields(one) && one['encrypted_content'] === OWN_SEARCH)
  );
}

/** How ids of our own searches begin. */
export const OWN_SEARCH_ID = 'srvtoolu_pst';

interface Where {
  where: string;
  /** Of the message of the dialect, whose blocks are the upstream's. */
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
    // A message of nothing but our own blocks is none to a maker.
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

  /** What a tool gave. Its pictures and files follow as the user's: most upstreams take texts alone from a tool. */
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

  /** A block as parts of the user's message that comes next. */
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
    const carried: Carried[] = [];
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
    // The last seal of a turn knows the most of it.
    this.add(carried.reduceRight<Fields>(withCarried, message), where);
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
 * The messages as a chat's and as an upstream of the dialect gets them.
 * @throws ApiError invalid_request, with the place of the fault in its message
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

/** Puts what a chat's reader made of addresses (own files as data, documents as words) into the blocks that go to an upstream of the dialect. */
export function fillMedia({ media }: Translated, messages: readonly unknown[]): void {
  for (const { block, message, content } of media) {
    const made = (messages[message] as Fields | undefined)?.['content'];
    const read: unknown = Array.isArray(made) ? made[content] : null;
    if (!isFields(read)) continue;
    const { image_url: image, file, text } = read;
    if (isFields(image)) fillSource(block, image['url']);
    else if (isFields(file)) fillSource(block, file['file_data']);
    // A maker reads a page or a document better than its words tell it.
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
