import { LRUCache } from 'lru-cache';
import { toPage } from '../../collections/page.js';
import type { Page, PageQuery } from '../../collections/page.js';
import type { Principal } from '../../access/access.types.js';
import { storageLimitOf } from '../../access/index.js';
import { ApiError, invalid, notFound } from '../../contract/errors.js';
import type { Database } from '../../database/database.types.js';
import type { Storage } from '../../files/index.js';
import { createBatcher } from '../../jobs/index.js';
import type { Batcher } from '../../jobs/index.js';
import type { Fields } from '../dialects/checks.js';
import type { ResponseObject } from './object.js';
import { countWholeEvents, wholeEvents } from './whole-events.js';
import {
  CHAIN,
  COUNT,
  createSaves,
  DELETE,
  EVENTS,
  FIND,
  GET_MANY,
  ITEMS,
  listStatement,
  POSITIONS,
  TEXTS,
} from './response.queries.js';

const ID = /^resp_[0-9a-z]{26}$/;
/** The maximum of turns in a chain. */
const MAX_TURNS = 1000;
/** How long a check of an organisation's storage is valid. Responses that are stored meanwhile may exceed the limit a little. */
const ROOM_MS = 10_000;

/** An ended response with its input. */
export interface EndedTurn {
  principal: Principal;
  response: ResponseObject;
  /** The same as JSON, if it was already serialised. */
  text?: string | undefined;
  /** Its own input, without the input of earlier turns. */
  input: readonly Fields[];
  /** Null if they can be derived from the response. */
  events: readonly string[] | null;
}

/** The stored responses. */
export interface ResponseStore {
  /** @throws ApiError quota_exceeded if the organisation's storage is full */
  requireRoom(principal: Principal): Promise<void>;
  save(ended: EndedTurn): Promise<void>;
  /** Removes a saved response that was not charged after all. */
  forget(orgId: string, id: string): Promise<void>;
  /** Input and output items of a response and of all responses before it, oldest first. @throws ApiError invalid_request if one of them does not exist any more */
  chain(orgId: string, id: string): Promise<Fields[]>;
  /** Stored items by their ids. */
  items(orgId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Fields>>;
  /** @throws ApiError not_found */
  find(orgId: string, id: string): Promise<FoundResponse>;
  /** Newest first. @throws ApiError invalid_request */
  list(orgId: string, query: ResponseQuery): Promise<Page<string>>;
  /** The progress of those responses that belong to the organisation. */
  getMany(orgId: string, ids: readonly string[]): Promise<ResponsePosition[]>;
  /** The objects of those responses that belong to the organisation, as JSON texts by id. */
  texts(orgId: string, ids: readonly string[]): Promise<Map<string, string>>;
  /** The number of the last event of each response. */
  positions(ids: readonly string[]): Promise<{ id: string; sequence: number }[]>;
  /** Events after a number, in order. Calls for many responses at the same time share one read. */
  events(orgId: string, id: string, ...range: [after: number, limit: number]): Promise<StoredEvent[]>;
  /** @throws ApiError not_found */
  delete(orgId: string, id: string): Promise<void>;
}

export interface FoundResponse {
  /** The current object as JSON. */
  text: string;
  input: Fields[];
  status: string;
  /** The number of its last event; 0 if it has no events. */
  sequence: number;
}

export interface ResponseQuery extends PageQuery {
  status?: string | null | undefined;
}

/** The progress of a response: its status and the number of its last event. */
export interface ResponsePosition {
  id: string;
  orgId: string;
  kind: 'response' | 'chat';
  status: string;
  sequence: number;
}

/** An event as its reader got it. */
export interface StoredEvent {
  /** Counted from 1, without gaps. */
  sequence: number;
  /** The convention's event, as JSON. */
  text: string;
}

interface Turn {
  status: string;
  previous_id: string | null;
  input: string;
  response: string;
}

const itemsOf = ({ input, response }: Turn): Fields[] => [
  ...(JSON.parse(input) as Fields[]),
  ...(JSON.parse(response) as { output: Fields[] }).output,
];

export const isOpen = (status: string): boolean => status === 'queued' || status === 'in_progress';

/** The stored object of a response in progress was written before a worker began it, so its status is set here. */
const textOf = ({ response, status }: Pick<Turn, 'response' | 'status'>): string =>
  status === 'in_progress' ? JSON.stringify({ ...(JSON.parse(response) as Fields), status }) : response;

/** The ids of items that have one. */
export const idsOf = (items: readonly { id?: unknown }[]): string[] =>
  items.flatMap(({ id }) => (typeof id === 'string' ? [id] : []));

const noResponse = (id: string): ApiError => notFound(`Response with id '${id}' not found`);

const isGone = (id: string): ApiError =>
  new ApiError('invalid_request', `Previous response with id '${id}' not found`, {
    param: 'previous_response_id',
    reason: 'previous_response_not_found',
  });

interface StoreOptions {
  database: Database;
  storage: Pick<Storage, 'fault'>;
}

export function createResponseStore(options: StoreOptions): ResponseStore {
  return new StoredResponses(options);
}

class StoredResponses implements ResponseStore {
  private readonly room = new LRUCache<string, Promise<ApiError | null>>({ max: 10_000, ttl: ROOM_MS });

  private readonly saves: ReturnType<typeof createSaves>;
  private readonly reads: Batcher<EventsOf, StoredEvent[]>;

  constructor(private readonly options: StoreOptions) {
    this.saves = createSaves(options.database.system);
    this.reads = createBatcher({
      run: (items) => readEvents(options.database, items),
      retryable: () => false,
      maxBatch: MAX_READS,
    });
  }

  async requireRoom({ orgId, plan }: Principal): Promise<void> {
    let fault = this.room.get(orgId);
    if (fault === undefined) {
      fault = this.options.storage.fault(orgId, storageLimitOf(plan));
      this.room.set(orgId, fault);
      fault.catch(() => this.room.delete(orgId));
    }
    const found = await fault;
    if (found === null) return;
    this.room.delete(orgId);
    throw found;
  }

  async save({ principal, response, text, input, events }: EndedTurn): Promise<void> {
    const { id, status = 'completed', model, previous_response_id: previous = null, output } = response;
    const itemIds = idsOf([...input, ...output]);
    const { orgId, keyId, userId } = principal;
    await this.saves.add({
      id,
      orgId,
      keyId,
      userId,
      status,
      model,
      previousId: previous,
      response: text ?? JSON.stringify(response),
      input: JSON.stringify(input),
      itemIds,
      events: events ?? [],
      sequence: events === null ? countWholeEvents(response) : events.length,
    });
  }

  async forget(orgId: string, id: string): Promise<void> {
    await this.options.database.tenantQuery(orgId, DELETE, [orgId, id]);
  }

  async chain(orgId: string, id: string): Promise<Fields[]> {
    if (!ID.test(id)) throw isGone(id);
    const turns = await this.options.database.tenantQuery<Turn>(orgId, CHAIN, [orgId, id, MAX_TURNS]);
    const first = turns.at(-1);
    if (first === undefined) throw isGone(id);
    if (first.previous_id !== null) throw isGone(first.previous_id);
    if (isOpen(turns[0]?.status ?? ''))
      throw invalid(`Previous response with id '${id}' has not ended yet`, 'previous_response_id');
    return turns.toReversed().flatMap(itemsOf);
  }

  async items(orgId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Fields>> {
    const rows = await this.options.database.tenantQuery<Turn>(orgId, ITEMS, [orgId, [...ids]]);
    return new Map(rows.flatMap(itemsOf).map((item) => [String(item['id']), item]));
  }

  async find(orgId: string, id: string): Promise<FoundResponse> {
    const rows = ID.test(id)
      ? await this.options.database.tenantQuery<Turn & { sequence: number }>(orgId, FIND, [orgId, id])
      : [];
    const [row] = rows;
    if (row === undefined) throw noResponse(id);
    const { input, status, sequence } = row;
    return { text: textOf(row), input: JSON.parse(input) as Fields[], status, sequence };
  }

  async list(orgId: string, query: ResponseQuery): Promise<Page<string>> {
    const { status = null, first, after = null, before = null, backwards = false } = query;
    for (const [name, cursor] of Object.entries({ after, before }))
      if (cursor !== null && !ID.test(cursor)) throw invalid('Invalid cursor', name);
    const { database } = this.options;
    const values = [orgId, status, after, before, first + 1];
    const statement = listStatement(backwards);
    const rows = await database.tenantQuery<Turn & { id: string }>(orgId, statement, values);
    const { nodes, ...page } = toPage(rows, query, ({ id }) => id);
    return {
      ...page,
      nodes: nodes.map(textOf),
      async count() {
        const [row] = await database.tenantQuery<{ responses: number }>(orgId, COUNT, [orgId, status]);
        return row?.responses ?? 0;
      },
    };
  }

  async texts(orgId: string, ids: readonly string[]): Promise<Map<string, string>> {
    const known = ids.filter((id) => ID.test(id));
    if (known.length === 0) return new Map();
    const values = [orgId, known];
    const rows = await this.options.database.tenantQuery<Turn & { id: string }>(orgId, TEXTS, values);
    return new Map(rows.map((row) => [row.id, textOf(row)]));
  }

  async getMany(orgId: string, ids: readonly string[]): Promise<ResponsePosition[]> {
    const known = ids.filter((id) => ID.test(id));
    if (known.length === 0) return [];
    const rows = await this.options.database.tenantQuery<Omit<ResponsePosition, 'orgId'>>(orgId, GET_MANY, [
      orgId,
      known,
    ]);
    return rows.map((row) => ({ ...row, orgId }));
  }

  positions(ids: readonly string[]): Promise<{ id: string; sequence: number }[]> {
    return this.options.database.system.query(POSITIONS, [[...ids]]);
  }

  events(orgId: string, id: string, ...[after, limit]: [number, number]): Promise<StoredEvent[]> {
    return this.reads.add({ orgId, id, after, limit });
  }

  async delete(orgId: string, id: string): Promise<void> {
    const rows = ID.test(id)
      ? await this.options.database.tenantQuery<{ id: string }>(orgId, DELETE, [orgId, id])
      : [];
    if (rows.length === 0) throw noResponse(id);
  }
}

/** The maximum of responses whose events are read together. */
const MAX_READS = 100;

interface EventsOf {
  orgId: string;
  id: string;
  after: number;
  limit: number;
}

function eventsWithin(texts: readonly string[], { after, limit }: EventsOf): StoredEvent[] {
  const first = after + 1;
  return texts.slice(after, after + limit).map((text, at) => ({ sequence: first + at, text }));
}

async function readEvents(database: Database, items: EventsOf[]): Promise<StoredEvent[][]> {
  const rows = await database.system.query<StoredEvent & { nth: number }>(EVENTS, [
    items.map(({ orgId }) => orgId),
    items.map(({ id }) => id),
    items.map(({ after }) => after),
    items.map(({ limit }) => limit),
  ]);
  const found: StoredEvent[][] = items.map(() => []);
  for (const { nth, sequence, text } of rows) {
    const asked = items[nth];
    if (sequence > 0) found[nth]?.push({ sequence, text });
    else if (asked !== undefined)
      found[nth] = eventsWithin(wholeEvents(JSON.parse(text) as ResponseObject), asked);
  }
  return found;
}
