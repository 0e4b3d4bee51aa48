import { Readable } from 'node:stream';
import { ApiError, invalid } from '../../contract/errors.js';
import type { CallContext } from '../../metering/call-context.js';
import { isFields } from '../../providers/index.js';
import type { Provider } from '../../providers/index.js';
import { isSeal } from '../metadata-seal.js';
import { modelFor } from '../pipeline/checks.js';
import { listAt } from '../dialects/checks.js';
import type { Fields } from '../dialects/checks.js';
import { textsBefore } from '../dialects/made.js';
import type { Database } from '../../database/database.types.js';
import { createBackgroundResponses } from './background/background.js';
import { heldOf } from './background/execution.js';
import type { WorkRow } from './background/moves.queries.js';
import { withoutSettlement } from './background/without-settlement.js';
import { completeResponse } from './complete.js';
import { translate } from './input.js';
import type { InputItem, Translated } from './input.js';
import { ResponseKeepers } from './kept.js';
import { isReference, readResponse } from './request.js';
import type { ResponseRequest } from './request.js';
import type { InputItemPage, InputItemQuery, ResponseParts, ResponseService } from './responses.types.js';
import { streamResponse } from './stream.js';
import { checkForced, toolsOf } from './tools.js';
import { keptAs, ResponseWork } from './work.js';
import type { Prepared } from './work.js';

const MAX_PAGE = 100;
const TOO_LONG = /^The prompt is longer/;
const OF_MESSAGES = /^messages\[(\d+)\]/;

/** Steps 5 and 6 of decisions 1. Also reads the stored items that the request refers to. @throws ApiError */
async function prepare(
  parts: ResponseParts,
  call: CallContext,
  { body, isNew = true }: { body: Fields; isNew?: boolean },
): Promise<Prepared> {
  const { models, providers, search } = parts.engine.options;
  const { orgId } = call.principal;
  const model = modelFor(body, { models, caller: call.principal, type: 'chat' });
  const request = readResponse(body);
  const provider = providers.find(model.upstream?.providerId ?? '');
  const isNative = provider?.dialects?.responses !== undefined;
  const tools = toolsOf(body, { hasPort: search.provider !== null });
  checkForced(body, isNative ? tools.native(provider).leftOut : tools.leftOut);
  const { items: own, previousId } = request;
  const isWhole = previousId === null && !own.some(isReference);
  const items = isWhole ? placed(own) : await inputOf(parts, orgId, request);
  const translating = {
    isSeal,
    open: (sealed: unknown) => {
      const carried = parts.seal.open(orgId, sealed);
      return carried?.model === model.id ? carried : null;
    },
    fileIds: isNative && allowsFileIds(provider),
  };
  const translated = translate(items, { ...translating, instructions: request.instructions });
  if (request.store && isNew) await parts.store.requireRoom(call.principal);
  return { request, model, tools, translated, translating };
}

const allowsFileIds = ({ allowedTools = [] }: Provider): boolean => allowedTools.includes('file_ids');

/** The request's items with their paths in it. */
const placed = (items: readonly Fields[]): InputItem[] =>
  items.map((item, index) => ({ item, where: `input[${index}]` }));

/** The whole input: earlier turns, then the request's items, with references replaced by the stored items. @throws ApiError invalid_request */
async function inputOf(
  { store }: ResponseParts,
  orgId: string,
  { items, previousId }: ResponseRequest,
): Promise<InputItem[]> {
  const before = previousId === null ? [] : await store.chain(orgId, previousId);
  const ids = items.filter(isReference).map(({ id }) => String(id));
  const known = ids.length === 0 ? null : await store.items(orgId, ids);
  items.forEach((item, index) => {
    if (!isReference(item)) return;
    const found = known?.get(String(item['id']));
    if (found === undefined)
      throw invalid(`input[${index}]: Item with id '${String(item['id'])}' not found`, 'input');
    items[index] = found;
  });
  return [...before.map((item) => ({ item, where: null })), ...placed(items)];
}

/** Converts an error of the chat call to the field names of the dialect. */
function inOwnWords(fault: unknown, { places }: Translated): unknown {
  if (!(fault instanceof ApiError)) return fault;
  const { code, message, details } = fault;
  const own = message.replace(OF_MESSAGES, (_, index: string) => places[Number(index)] ?? 'input');
  const param = ['messages', 'image_url'].includes(details.param ?? '') ? 'input' : details.param;
  if (own === message && param === details.param) return fault;
  return new ApiError(code, own, { ...details, ...(param === undefined ? {} : { param }) });
}

/** Removes the oldest half of the input, but not the instructions. Calls and their outputs are removed together. Null if nothing more can be removed. */
function shortened({ request, translated, ...prepared }: Prepared): Prepared | null {
  const { messages, places, items } = translated;
  const first = messages.findIndex(({ role }) => role !== 'system');
  const half = first + Math.ceil((messages.length - first) / 2);
  // The rest must begin with a user's message, because each turn begins with one.
  const from = messages.findIndex(({ role }, at) => at >= Math.max(half, first + 1) && role === 'user');
  if (first === -1 || from === -1) return null;
  const kept = messages.slice(from);
  const left = items.length - kept.length;
  const itemsFrom = items.findIndex((item, at) => at >= Math.max(0, left) && item['role'] === 'user');
  return {
    ...prepared,
    request,
    translated: {
      ...translated,
      messages: [...messages.slice(0, first), ...kept],
      places: [...places.slice(0, first), ...places.slice(from)],
      items: itemsFrom === -1 ? items : items.slice(itemsFrom),
      media: translated.media
        .filter(({ message }) => message >= from)
        .map((media) => ({ ...media, message: media.message - from + first })),
    },
  };
}

/** Shortens the input until it fits the model's window, if the caller allows that with `truncation`. */
async function fitting(parts: ResponseParts, call: CallContext, given: Prepared): Promise<Prepared> {
  let prepared = given;
  for (;;) {
    const { request, translated } = prepared;
    try {
      await parts.engine.admission.check(
        call,
        { ...request.chat, messages: translated.messages },
        translated.texts,
      );
      return prepared;
    } catch (fault) {
      const next = fault instanceof ApiError && TOO_LONG.test(fault.message) ? shortened(prepared) : null;
      if (next === null) return prepared;
      prepared = next;
    }
  }
}

async function admitted(parts: ResponseParts, call: CallContext, body: Fields): Promise<ResponseWork> {
  let prepared: Prepared;
  try {
    prepared = await prepare(parts, call, { body });
    if (prepared.request.truncation === 'auto') prepared = await fitting(parts, call, prepared);
  } catch (fault) {
    return parts.engine.admission.refuse(call, fault);
  }
  try {
    return await ResponseWork.admit(parts, call, prepared);
  } catch (fault) {
    throw inOwnWords(fault, prepared.translated);
  }
}

async function resumed(
  parts: ResponseParts,
  call: CallContext,
  { body, row }: { body: Fields; row: WorkRow },
): Promise<ResponseWork> {
  let prepared = await prepare(parts, call, { body, isNew: false });
  if (prepared.request.truncation === 'auto') prepared = await fitting(parts, call, prepared);
  try {
    return await ResponseWork.resume(
      { ...parts, engine: withoutSettlement(parts.engine) },
      heldOf(row, call),
      prepared,
    );
  } catch (fault) {
    throw inOwnWords(fault, prepared.translated);
  }
}

function pageOf(items: Fields[], { limit, after, order }: InputItemQuery): InputItemPage {
  const size = limit ?? 20;
  if (!Number.isInteger(size) || size < 1 || size > MAX_PAGE)
    throw invalid(`limit must be between 1 and ${MAX_PAGE}`, 'limit');
  if (order != null && order !== 'asc' && order !== 'desc')
    throw invalid('order must be asc or desc', 'order');
  const ordered = order === 'asc' ? items : items.toReversed();
  const at = after == null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after != null && at === -1) throw invalid(`after: there is no item with id '${after}'`, 'after');
  const page = ordered.slice(at + 1, at + 1 + size);
  return { items: page, hasMore: at + 1 + size < ordered.length };
}

/** Converts an item to the form for lists, where a message's text is a list of parts. */
function shown(item: Fields): Fields {
  const { content } = item;
  const listed =
    item['type'] === 'message' && typeof content === 'string'
      ? [{ type: item['role'] === 'assistant' ? 'output_text' : 'input_text', text: content }]
      : content;
  const status = item['type'] === 'message' && item['status'] == null ? { status: 'completed' } : {};
  return { ...item, ...(listed === undefined ? {} : { content: listed }), ...status };
}

interface ServiceParts extends ResponseParts {
  database: Database;
  /** Whether events of responses are also published. */
  isHeard: boolean;
}

/** Generations of text in the Responses dialect. */
export function createResponseService(parts: ServiceParts): ResponseService {
  const { metering, logger } = parts.engine.options;
  const { store, database, isHeard } = parts;
  const keepers = new ResponseKeepers({ database, store, logger, isHeard });
  const background = createBackgroundResponses({
    ...parts,
    admitted: (call, body) => admitted(parts, call, body),
    resumed: (call, body, row) => resumed(parts, call, { body, row }),
  });
  const get = async (orgId: string, id: string) => (await store.find(orgId, id)).text;
  return {
    worker: (options) => background.worker(options),
    async create(call, body) {
      if (body['background'] === true)
        return { text: await get(call.principal.orgId, await background.start(call, body)) };
      const [made] = (await textsBefore(metering, call, keptAs(body))) ?? [];
      if (made !== undefined) return { text: made };
      return { text: await completeResponse(await admitted(parts, call, body), keepers) };
    },
    async stream(call, body) {
      const made = await textsBefore(metering, call, keptAs(body));
      if (made !== null) return { events: Readable.from(made) };
      const work = await admitted(parts, call, body);
      return { events: streamResponse(work, await work.turn.stream(), keepers) };
    },
    start: (call, body, key) => background.start(call, { ...body, background: true }, key),
    startChat: (call, body, key) => background.startChat(call, body, key),
    get,
    list: (orgId, query) => store.list(orgId, query),
    getMany: (orgId, ids) => store.getMany(orgId, ids),
    texts: (orgId, ids) => store.texts(orgId, ids),
    positions: (ids) => store.positions(ids),
    events: (orgId, id, ...range) => store.events(orgId, id, ...range),
    async delete(orgId, id) {
      await background.cancel(orgId, id);
      const text = (await store.texts(orgId, [id])).get(id);
      await store.delete(orgId, id);
      return text ?? null;
    },
    async cancel(orgId, id) {
      await background.cancel(orgId, id);
      return await get(orgId, id);
    },
    async cancelByKey(orgId, key) {
      const id = await background.startedUnder(orgId, key);
      if (id === null) return null;
      await background.cancel(orgId, id);
      return await get(orgId, id);
    },
    async inputItems(orgId, id, query) {
      const { input } = await store.find(orgId, id);
      return pageOf(listAt(input, 'input').filter(isFields).map(shown), query);
    },
  };
}
