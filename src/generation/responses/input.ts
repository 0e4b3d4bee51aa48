import { invalid } from '../../contract/errors.js';
import { isFields } from '../../providers/index.js';
import { withMetadata } from '../metadata-seal.js';
import type { CarriedMetadata } from '../metadata-seal.js';
import { listAt, nameAt, objectAt, textAt } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';

/** An item of the input, and its path in the request for error messages. Items of earlier turns have no path. */
export interface InputItem {
  item: Fields;
  /** Such as `input[3]`; null for a stored item. */
  where: string | null;
}

/** A part with a picture or file for an upstream of the dialect, and the position of the chat part that holds its content. */
export interface Media {
  part: Fields;
  message: number;
  content: number;
}

/** The input in the form of chat, and in the form of the dialect. */
export interface Translated {
  messages: Fields[];
  /** The path of each message in the request. */
  places: string[];
  /** In the form of the dialect, without our seals, and without ids, because the upstream has not stored these items. */
  items: Fields[];
  media: Media[];
  /** Texts of items that only the dialect can express. */
  texts: string[];
}

export interface TranslateOptions {
  /** The content of a seal for the called model; null if it belongs to another model. */
  open(sealed: unknown): CarriedMetadata | null;
  /** Whether a sealed text is one of our seals, which no maker understands. */
  isSeal(sealed: unknown): boolean;
  /** Whether file ids of the maker are allowed. */
  fileIds: boolean;
}

const ROLES = ['user', 'assistant', 'system', 'developer'];
/** Items of makers' own tools, which mean nothing to another model. */
const MAKERS =
  /^(?:web_search|file_search|code_interpreter|image_generation|mcp|tool_search|computer|local_shell|shell|apply_patch|custom_tool|function)_[a-z_]+$|^(?:compaction|compaction_trigger|additional_tools|configuration_update|program|program_output)$/;

interface Assistant {
  texts: string[];
  refusal: string | null;
  calls: Fields[];
  carried: CarriedMetadata[];
  /** Whether its last item was a message. Then the next message item begins another chat message. */
  isSaid: boolean;
}

/** Reads one item after the other; one object for each request. */
class InputReader {
  readonly result: Translated = { messages: [], places: [], items: [], media: [], texts: [] };
  private assistant: Assistant | null = null;
  private readonly callIds = new Set<string>();

  constructor(private readonly options: TranslateOptions) {}

  system(text: string): void {
    this.add({ role: 'system', content: text }, 'instructions');
  }

  read({ item, where: given }: InputItem): void {
    const where = given ?? 'input';
    const type = item['type'] ?? 'message';
    if (typeof type !== 'string') throw invalid(`${where}.type must be a string`, 'input');
    switch (type) {
      case 'message':
        return this.message(item, where);
      case 'function_call':
      case 'custom_tool_call':
        return this.call(item, { where, isCustom: type === 'custom_tool_call' });
      case 'function_call_output':
      case 'custom_tool_call_output':
        return this.output(item, where);
      case 'reasoning':
        return this.reasoning(item);
      default:
        return this.maker(item, type, where);
    }
  }

  end(): Translated {
    this.flush();
    return this.result;
  }

  private message(item: Fields, where: string): void {
    const { role, content } = item;
    if (typeof role !== 'string' || !ROLES.includes(role))
      throw invalid(`${where}.role must be one of ${ROLES.join(', ')}`, 'input');
    const native: Fields = withoutId(item);
    this.result.items.push(native);
    if (role === 'assistant') return this.assistantMessage(content, where);
    this.flush();
    const message = this.result.messages.length;
    const read = this.content(native, { field: 'content', where: `${where}.content`, message });
    this.add({ role: role === 'developer' ? 'system' : role, content: read }, where);
  }

  private assistantMessage(content: unknown, where: string): void {
    const parts = typeof content === 'string' ? [{ type: 'output_text', text: content }] : content;
    let said = '';
    let refusal: string | null = null;
    listAt(parts, `${where}.content`, 'input').forEach((value, index) => {
      const at = `${where}.content[${index}]`;
      const part = objectAt(value, at, 'input');
      if (part['type'] === 'refusal')
        refusal = (refusal ?? '') + textAt(part['refusal'], `${at}.refusal`, 'input');
      else if (['output_text', 'input_text', 'text'].includes(part['type'] as string))
        said += textAt(part['text'], `${at}.text`, 'input');
      else throw invalid(`${at}.type must be output_text or refusal`, 'input');
    });
    if (this.assistant?.isSaid) this.flush();
    const turn = this.turn();
    if (said !== '' || refusal === null) turn.texts.push(said);
    turn.refusal = refusal ?? turn.refusal;
    turn.isSaid = true;
  }

  private call(item: Fields, { where, isCustom }: { where: string; isCustom: boolean }): void {
    const id = nameAt(item['call_id'], `${where}.call_id`, 'input');
    const name = nameAt(item['name'], `${where}.name`, 'input');
    const said = isCustom
      ? JSON.stringify({ input: textAt(item['input'], `${where}.input`, 'input') })
      : textAt(item['arguments'], `${where}.arguments`, 'input');
    this.result.items.push(withoutId(item));
    this.asked({ id, name, said });
  }

  private asked({ id, name, said }: { id: string; name: string; said: string }): void {
    const turn = this.turn();
    turn.isSaid = false;
    turn.calls.push({ id, type: 'function', function: { name, arguments: said } });
    this.callIds.add(id);
  }

  private output(item: Fields, where: string): void {
    const id = nameAt(item['call_id'], `${where}.call_id`, 'input');
    if (!this.callIds.has(id))
      throw invalid(`${where}: No tool call found for the output with call_id ${id}`, 'input');
    this.flush();
    const native: Fields = withoutId(item);
    this.result.items.push(native);
    const { output } = item;
    if (typeof output === 'string')
      return this.add({ role: 'tool', tool_call_id: id, content: output }, where);
    // Pictures of a tool follow as the user's, because most upstreams accept only texts from a tool.
    const at = this.result.messages.length + 1;
    const parts = this.content(native, { field: 'output', where: `${where}.output`, message: at });
    const all = typeof parts === 'string' ? [{ type: 'text', text: parts }] : parts;
    const texts = all.filter(({ type }) => type === 'text').map(({ text }) => text as string);
    const others = all.filter(({ type }) => type !== 'text');
    const said = texts.join('\n') || (others.length > 0 ? 'The output follows.' : '');
    this.add({ role: 'tool', tool_call_id: id, content: said }, where);
    if (others.length === 0) return;
    for (const media of this.result.media)
      if (media.message === at) media.content = others.indexOf(all[media.content] as Fields);
    this.add({ role: 'user', content: others }, where);
  }

  private reasoning(item: Fields): void {
    const { encrypted_content: sealed } = item;
    if (this.options.isSeal(sealed)) {
      const carried = this.options.open(sealed);
      if (carried !== null) this.turn().carried.push(carried);
      return;
    }
    const turn = this.turn();
    turn.isSaid = false;
    // Without encrypted content, only an upstream that has stored the item knows it.
    if (sealed == null) return;
    this.result.items.push(withoutId(item));
    this.result.texts.push(textOfReasoning(item));
  }

  /** Reads an item of a maker's own tool. In a chat, calls that a client runs become tool calls; other items are left out. */
  private maker(item: Fields, type: string, where: string): void {
    if (!MAKERS.test(type)) throw invalid(`${where}.type ${type} is not supported`, 'input');
    const isSearch = type === 'web_search_call';
    if (!isSearch) {
      this.result.items.push(withoutId(item));
      this.result.texts.push(JSON.stringify(item));
    }
    const { call_id: id, id: own, type: _, status: _status, output, ...said } = item;
    const callId = typeof id === 'string' ? id : own;
    if (typeof callId !== 'string') return;
    if (type.endsWith('_output')) {
      if (!this.callIds.has(callId)) return;
      this.flush();
      const text = typeof output === 'string' ? output : JSON.stringify(output ?? '');
      this.add({ role: 'tool', tool_call_id: callId, content: text }, where);
    } else if (/^(?:computer|local_shell|shell|apply_patch)_call$/.test(type))
      this.asked({ id: callId, name: type.replace(/_call$/, ''), said: JSON.stringify(said) });
  }

  private content(
    native: Fields,
    { field, where, message }: { field: string; where: string; message: number },
  ): string | Fields[] {
    const given = native[field];
    if (typeof given === 'string') return given;
    const parts = listAt(given, where, 'input').map((value, index) => ({
      ...objectAt(value, `${where}[${index}]`, 'input'),
    }));
    native[field] = parts;
    if (parts.length === 0) return '';
    const read = parts.map((part, index) => this.part(part, `${where}[${index}]`));
    parts.forEach((part, content) => {
      if (read[content]?.['type'] !== 'text') this.result.media.push({ part, message, content });
    });
    const [only] = read;
    return read.length === 1 && only?.['type'] === 'text' ? (only['text'] as string) : read;
  }

  private part(part: Fields, where: string): Fields {
    const { file_id: fileId } = part;
    if (fileId != null) {
      if (!this.options.fileIds)
        throw invalid(`${where}.file_id is not supported: send the file itself`, 'file_id');
      return { type: 'text', text: `File ${textAt(fileId, `${where}.file_id`, 'input')}` };
    }
    switch (part['type']) {
      case 'input_text':
      case 'output_text':
      case 'text':
      case 'summary_text':
        return { type: 'text', text: textAt(part['text'], `${where}.text`, 'input') };
      case 'refusal':
        return { type: 'text', text: textAt(part['refusal'], `${where}.refusal`, 'input') };
      case 'input_image':
      case 'computer_screenshot':
        return imagePart(part, where);
      case 'input_file':
        return filePart(part, where);
      case 'input_audio':
        return {
          type: 'input_audio',
          input_audio: objectAt(part['input_audio'], `${where}.input_audio`, 'input'),
        };
      default:
        throw invalid(`${where}.type must be input_text, input_image, input_file or input_audio`, 'input');
    }
  }

  private turn(): Assistant {
    this.assistant ??= { texts: [], refusal: null, calls: [], carried: [], isSaid: false };
    return this.assistant;
  }

  private flush(): void {
    const { assistant } = this;
    this.assistant = null;
    if (assistant === null) return;
    const { texts, refusal, calls, carried } = assistant;
    if (texts.length === 0 && calls.length === 0 && refusal === null) return;
    const content = texts.length === 0 ? null : texts.join('');
    const message = {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      ...(refusal === null ? {} : { refusal }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    this.add(carried.reduce<Fields>(withMetadata, message), 'input');
  }

  private add(message: Fields, where: string): void {
    if (message['role'] !== 'assistant') this.flush();
    this.result.messages.push(message);
    this.result.places.push(where);
  }
}

function withoutId(item: Fields): Fields {
  const { id: _, ...rest } = item;
  return rest;
}

function textOfReasoning({ summary, content }: Fields): string {
  return JSON.stringify([summary ?? [], content ?? []]);
}

function imagePart(part: Fields, where: string): Fields {
  const { image_url: url, detail } = part;
  if (typeof url !== 'string') throw invalid(`${where}.image_url is required`, 'image_url');
  // Only the dialect has `original`.
  const seen = typeof detail === 'string' ? { detail: detail === 'original' ? 'high' : detail } : {};
  return { type: 'image_url', image_url: { url, ...seen } };
}

function filePart(part: Fields, where: string): Fields {
  const { file_data: data, file_url: url, filename } = part;
  if (typeof data !== 'string' && typeof url !== 'string')
    throw invalid(`${where}.file_data or ${where}.file_url is required`, 'file_data');
  return {
    type: 'file',
    file: {
      ...(typeof data === 'string' ? { file_data: data } : { file_url: url }),
      ...(filename == null ? {} : { filename }),
    },
  };
}

/**
 * Converts the input to the form of chat and to the form for upstreams of the dialect.
 * @throws ApiError invalid_request, with the path of the invalid value in its message
 */
export function translate(
  items: readonly InputItem[],
  { instructions, ...options }: TranslateOptions & { instructions: string | null },
): Translated {
  const reader = new InputReader(options);
  if (instructions !== null) reader.system(instructions);
  for (const item of items) reader.read(item);
  const translated = reader.end();
  if (translated.messages.length === 0) throw invalid('input must not be empty', 'input');
  return translated;
}

/** Puts the content of pictures and files (own files as data, documents as text) into the parts for an upstream of the dialect. */
export function fillMedia({ media }: Translated, messages: readonly unknown[]): void {
  for (const { part, message, content } of media) {
    const made = (messages[message] as Fields | undefined)?.['content'];
    const read: unknown = Array.isArray(made) ? made[content] : null;
    if (!isFields(read)) continue;
    if (read['type'] === 'image_url' && isFields(read['image_url']))
      part['image_url'] = read['image_url']['url'];
    else if (read['type'] === 'file' && isFields(read['file'])) {
      delete part['file_url'];
      Object.assign(part, read['file']);
    } else if (read['type'] === 'text') {
      for (const name in part) delete part[name];
      Object.assign(part, { type: 'input_text', text: read['text'] });
    }
  }
}
