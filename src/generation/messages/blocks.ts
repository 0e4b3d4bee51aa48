import { invalid } from '../../contract/errors.js';
import { listAt, objectAt, textAt } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';

const PARAM = 'messages';

/** Reads a list of blocks, or a text in its place. @throws ApiError invalid_request */
export function blocksAt(content: unknown, where: string): Fields[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, where, PARAM).map((block, index) => objectAt(block, `${where}[${index}]`, PARAM));
}

/** Converts a block of a user's message or of a tool's result to chat parts. @throws ApiError invalid_request */
export function partsOf(block: Fields, where: string): Fields[] {
  switch (block['type']) {
    case 'text':
      return [{ type: 'text', text: textAt(block['text'], `${where}.text`, PARAM) }];
    case 'image':
      return [imagePart(block, where)];
    case 'document':
      return documentParts(block, where);
    case 'search_result':
      return [searchResult(block, where)];
    case 'tool_reference':
      return [{ type: 'text', text: `Tool ${String(block['tool_name'])}` }];
    case 'container_upload':
      return fileId(where);
    default:
      throw invalid(`${where}.type ${String(block['type'])} is not supported`, PARAM);
  }
}

/** The `source` of a block, which has the content or its URL. */
interface Source {
  type: unknown;
  /** The data URL or other URL; null if the source is a text or blocks. */
  url: string | null;
  given: Fields;
}

function fileId(where: string): never {
  throw invalid(`${where}: file ids are not supported: send the file itself`, PARAM);
}

function sourceOf(block: Fields, where: string): Source {
  const at = `${where}.source`;
  const given = objectAt(block['source'], at, PARAM);
  const { type } = given;
  if (type === 'file') return fileId(where);
  if (type === 'url') return { type, url: textAt(given['url'], `${at}.url`, PARAM), given };
  if (type !== 'base64') return { type, url: null, given };
  const media = textAt(given['media_type'], `${at}.media_type`, PARAM);
  return { type, url: `data:${media};base64,${textAt(given['data'], `${at}.data`, PARAM)}`, given };
}

function imagePart(block: Fields, where: string): Fields {
  const { url } = sourceOf(block, where);
  if (url === null) throw invalid(`${where}.source.type must be base64 or url`, PARAM);
  return { type: 'image_url', image_url: { url } };
}

/** A file name with the extension of its type. */
function nameOf(title: unknown, { type, given }: Source): string {
  const isPdf = type === 'base64' && given['media_type'] === 'application/pdf';
  const name = typeof title === 'string' && title !== '' ? title : '';
  if (!isPdf) return name;
  return /\.pdf$/i.test(name) ? name : `${name || 'document'}.pdf`;
}

function documentParts(block: Fields, where: string): Fields[] {
  const source = sourceOf(block, where);
  const { title, context } = block;
  const about = [title, context].filter((text) => typeof text === 'string' && text !== '').join('\n');
  const before = about === '' ? [] : [{ type: 'text', text: about }];
  if (source.url !== null) {
    const filename = nameOf(title, source);
    const place = source.type === 'url' ? { file_url: source.url } : { file_data: source.url };
    return [...before, { type: 'file', file: { ...place, ...(filename === '' ? {} : { filename }) } }];
  }
  const at = `${where}.source`;
  if (source.type === 'text')
    return [...before, { type: 'text', text: textAt(source.given['data'], `${at}.data`, PARAM) }];
  if (source.type !== 'content') throw invalid(`${at}.type must be base64, url, text or content`, PARAM);
  const inner = blocksAt(source.given['content'], `${at}.content`);
  return [...before, ...inner.flatMap((one, index) => partsOf(one, `${at}.content[${index}]`))];
}

function searchResult(block: Fields, where: string): Fields {
  const texts = blocksAt(block['content'], `${where}.content`).map(({ text }, index) =>
    textAt(text, `${where}.content[${index}].text`, PARAM),
  );
  const head = [block['title'], block['source']].filter((text) => typeof text === 'string').join(' — ');
  return { type: 'text', text: [head, ...texts].join('\n') };
}
