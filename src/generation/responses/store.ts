import { LRUCache } from 'lru-cache';
import type { Principal } from '../../access/access.types.js';
import { storageLimitOf } from '../../access/index.js';
import { ApiError, notFound } from '../../contract/errors.js';
import type { Database } from '../../database/database.types.js';
import type { Storage } from '../../files/index.js';
import type { Fields } from '../dialects/checks.js';
import type { ResponseObject } from './object.js';
import { CHAIN, createSaves, DELETE, FIND, ITEMS } from './response.queries.js';

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
  find(orgId: string, id: string): Promise<{ text: string; input: Fields[] }>;
  /** @throws ApiError not_found */
  delete(orgId: string, id: string): Promise<void>;
}

interface Turn {
  previous_id: string | null;
  input: string;
  response: string;
}

const itemsOf = ({ input, response }: Turn): Fields[] => [
  ...(JSON.parse(input) as Fields[]),
  ...(JSON.parse(response) as { output: Fields[] }).output,
];

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

  constructor(private readonly options: StoreOptions) {
    this.saves = createSaves(options.database.system);
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
    return turns.toReversed().flatMap(itemsOf);
  }

  async items(orgId: string, ids: readonly string[]): Promise<ReadonlyMap<string, Fields>> {
    const rows = await this.options.database.tenantQuery<Turn>(orgId, ITEMS, [orgId, [...ids]]);
    return new Map(rows.flatMap(itemsOf).map((item) => [String(item['id']), item]));
  }

  async find(orgId: string, id: string): Promise<{ text: string; input: Fields[] }> {
    const [row] = ID.test(id) ? await this.options.database.tenantQuery<Turn>(orgId, FIND, [orgId, id]) : [];
    if (row === undefined) throw noResponse(id);
    return { text: row.response, input: JSON.parse(row.input) as Fields[] };
  }

  async delete(orgId: string, id: string): Promise<void> {
    const rows = ID.test(id)
      ? await this.options.database.tenantQuery<{ id: string }>(orgId, DELETE, [orgId, id])
      : [];
    if (rows.length === 0) throw noResponse(id);
  }
}
