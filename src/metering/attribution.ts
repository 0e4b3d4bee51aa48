import { isTag as isTagText, MAX_END_USER, MAX_TAGS } from '../access/index.js';
import { invalid } from '../contract/errors.js';
import { isLonger } from '../text/characters.js';
import type { CallContext } from './call-context.js';
import type { Attribution } from './metering.types.js';

/** The result for nearly all calls, which have no attribution. */
const NOBODY: Attribution = { endUser: null, tags: [] };

/** The fields of a body that contain its attribution. */
const NAMES = ['safety_identifier', 'user', 'metadata'] as const;

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The attribution of a call (beyond 13.1): the key's end user comes before the body's, the key's tags before the call's. Fields that are not texts are
 * checked by the code that reads the body.
 * @throws ApiError invalid_request with `param`
 */
export function attributionOf(
  { principal: { stamps }, tagsHeader, sentFor }: Pick<CallContext, 'principal' | 'tagsHeader' | 'sentFor'>,
  body: Fields,
): Attribution {
  const sent: Fields = sentFor ?? body;
  if (stamps === undefined && tagsHeader === undefined && NAMES.every((name) => sent[name] == null))
    return NOBODY;
  const metadata = isFields(sent['metadata']) ? sent['metadata'] : {};
  const endUser = endUserIn(sent, metadata);
  const given = [...tagsIn(tagsHeader, 'X-Tags'), ...tagsIn(metadata['tags'], 'metadata')];
  if (stamps === undefined && endUser === null && given.length === 0) return NOBODY;
  const tags = [...new Set([...(stamps?.tags ?? []), ...given])];
  if (tags.length > MAX_TAGS)
    throw invalid(
      `A call has at most ${MAX_TAGS} tags, those of its key among them`,
      metadata['tags'] == null ? 'X-Tags' : 'metadata',
    );
  return { endUser: stamps?.endUser ?? endUser, tags };
}

/** The first value that is present. */
function endUserIn(body: Fields, metadata: Fields): string | null {
  for (const [value, name, param] of [
    [body['safety_identifier'], 'safety_identifier', 'safety_identifier'],
    [body['user'], 'user', 'user'],
    [metadata['user_id'], 'metadata.user_id', 'metadata'],
  ] as const) {
    if (typeof value !== 'string' || value === '') continue;
    if (isLonger(value, MAX_END_USER))
      throw invalid(`${name} must be at most ${MAX_END_USER} characters`, param);
    return value;
  }
  return null;
}

/** Tags as a list, or as one text with commas between them. */
function tagsIn(value: unknown, param: string): string[] {
  if (value == null) return [];
  const where = param === 'metadata' ? 'metadata.tags' : param;
  const list = typeof value === 'string' ? listIn(value) : value;
  const isTag = (tag: unknown) => typeof tag === 'string' && isTagText(tag);
  if (!Array.isArray(list) || !list.every(isTag))
    throw invalid(`${where} must be tags of at most 64 letters, digits and _.:/-`, param);
  if (list.length > MAX_TAGS) throw invalid(`${where} must have at most ${MAX_TAGS} tags`, param);
  return list as string[];
}

const listIn = (text: string): string[] =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');
