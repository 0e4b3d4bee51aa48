import { LRUCache } from 'lru-cache';
import type { Principal } from '../../access/access.types.js';
import { storageLimitOf } from '../../access/index.js';
import { ApiError, invalid, notFound } from '../../contract/errors.js';
import type { Database } from '../../database/database.types.js';
import type { Storage } from '../../files/index.js';
import { createBatcher } from '../../jobs/index.js';
import type { Batcher } from '../../jobs/index.js';
import type { Fields } from '../dialects/checks.js';
import type { ResponseObject } from './object.js';
import {
  CHAIN,
  createSaves,
  DELETE,
  EVENTS,
  FIND,
  GET_MANY,
  ITEMS,
  LIST,
  POSITIONS,
  TEXTS,
} from './response.queries.js';

const ID = /^resp_[0-9a-z]{26}$/;
/** A chain of turns may be so long. */
const MAX_TURNS = 1000;
/** How long an organisation counts as having room: what is stored meanwhile may go over its limit a little. */
const ROOM_MS = 10_000;

/** A response at its end, with what it was made of. */
export interface EndedTurn {
  principal: Principal;
  response: ResponseObject;
  /** Its own input, without that of earlier turns. */
  input: readonly Fields[];
}

/** Responses as they are kept. */
export interface ResponseStore {
  /** @throws ApiError quota_exceeded where the organisation's storage is full */
  requireRoom(principal: Principal): Promise<void>;
  save(ended: EndedTurn): Promise<void>;
  /** Takes back what was saved of a response that was not charged after all. */
  forget(orgId: string, id: string): Promise<void>;
  /** Input and output of a response and of all before it, oldest first. @throws ApiError invalid_request where one of them is gone */
  chain(orgId: string, id: string): Promise<Fields[]>;
  /** Stored items by their ids. */
  items(orgId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Fields>>;
  /** @throws ApiError not_found */
  find(orgId: string, id: string): Promise<FoundResponse>;
  /** Newest first. @throws ApiError invalid_request */
  list(orgId: string, query: ResponseQuery): Promise<{ texts: string[]; nextCursor: string | null }>;
  /** Those that the organisation has, of many ids. */
  getMany(orgId: string, ids: readonly string[]): Promise<ResponsePosition[]>;
  /** The objects of those that the organisation has, as JSON texts, by id. */
  texts(orgId: string, ids: readonly string[]): Promise<Map<string, string>>;
  /** The numbers of their last events. */
  positions(ids: readonly string[]): Promise<{ id: string; sequence: number }[]>;
  /** Events after a number, in order. Those of many responses that are asked for at once are one read. */
  events(orgId: string, id: string, ...range: [after: number, limit: number]): Promise<StoredEvent[]>;
  /** @throws ApiError not_found */
  delete(orgId: string, id: string): Promise<void>;
}

export interface FoundResponse {
  /** The object as it is now. */
  text: string;
  input: Fields[];
  status: string;
  /** Number of its last event; 0 where none are kept. */
  sequence: number;
}

export interface ResponseQuery {
  status?: string | null | undefined;
  first: number;
  after?: string | null | undefined;
}

/** How far a response is. */
export interface ResponsePosition {
  id: string;
  orgId: string;
  kind: 'response' | 'chat';
  status: string;
  sequence: number;
}

/** An event as it was shown. */
export interface StoredEvent {
  /** From 1, without a hole. */
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

/** The object of one that is under way was written before it began. */
const textOf = ({ response, status }: Pick<Turn, 'response' | 'status'>): string =>
  status === 'in_progress' ? JSON.stringify({ ...(JSON.parse(response) as Fields), status }) : response;

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

  async save({ principal, response, input }: EndedTurn): Promise<void> {
    const { id, status = 'completed', model, previous_response_id: previous = null, output } = response;
    const itemIds = [...input, ...output].flatMap(({ id: own }: { id?: unknown }) =>
      typeof own === 'string' ? [own] : [],
    );
    const { orgId, keyId, userId } = principal;
    await this.saves.add({
      id,
      orgId,
      keyId,
      userId,
      status,
      model,
      previousId: previous,
      response: JSON.stringify(response),
      input: JSON.stringify(input),
      itemIds,
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

  async list(orgId: string, { status = null, first, after = null }: ResponseQuery) {
    if (after !== null && !ID.test(after)) throw invalid('Invalid cursor', 'after');
    const values = [orgId, status, after, first + 1];
    const rows = await this.options.database.tenantQuery<Turn & { id: string }>(orgId, LIST, values);
    const page = rows.slice(0, first);
    return { texts: page.map(textOf), nextCursor: rows.length > first ? (page.at(-1)?.id ?? null) : null };
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

/** Responses whose events are read together. */
const MAX_READS = 100;

interface EventsOf {
  orgId: string;
  id: string;
  after: number;
  limit: number;
}

async function readEvents(database: Database, items: EventsOf[]): Promise<StoredEvent[][]> {
  const rows = await database.system.query<StoredEvent & { nth: number }>(EVENTS, [
    items.map(({ orgId }) => orgId),
    items.map(({ id }) => id),
    items.map(({ after }) => after),
    items.map(({ limit }) => limit),
  ]);
  const found: StoredEvent[][] = items.map(() => []);
  for (const { nth, sequence, text } of rows) found[nth]?.push({ sequence, text });
  return found;
}
