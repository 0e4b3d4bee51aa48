import { LRUCache } from 'lru-cache';
import type { Principal } from '../../access/access.types.js';
import { storageLimitOf } from '../../access/index.js';
import { ApiError, notFound } from '../../contract/errors.js';
import type { Database } from '../../database/database.types.js';
import type { Storage } from '../../files/index.js';
import type { Fields } from './checks.js';
import type { ResponseObject } from './object.js';
import { CHAIN, DELETE, FIND, INSERT, ITEMS } from './response.queries.js';

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

const outputOf = (response: string): Fields[] => (JSON.parse(response) as { output: Fields[] }).output;

const isGone = (id: string): ApiError =>
  new ApiError('invalid_request', `Previous response with id '${id}' not found`, {
    param: 'previous_response_id',
  });

export function createResponseStore({
  database,
  storage,
}: {
  database: Database;
  storage: Pick<Storage, 'fault'>;
}): ResponseStore {
  const room = new LRUCache<string, Promise<ApiError | null>>({ max: 10_000, ttl: ROOM_MS });
  const known = async (orgId: string, id: string): Promise<{ text: string; input: Fields[] }> => {
    const [row] = ID.test(id)
      ? await database.tenantQuery<{ response: string; input: string }>(orgId, FIND, [orgId, id])
      : [];
    if (row === undefined) throw notFound(`Response with id '${id}' not found`);
    return { text: row.response, input: JSON.parse(row.input) as Fields[] };
  };
  return {
    async requireRoom({ orgId, plan }) {
      let fault = room.get(orgId);
      if (fault === undefined) {
        fault = storage.fault(orgId, storageLimitOf(plan));
        room.set(orgId, fault);
        fault.catch(() => room.delete(orgId));
      }
      const found = await fault;
      if (found === null) return;
      room.delete(orgId);
      throw found;
    },
    async save({ principal, response, input }) {
      const { id, status, model, previous_response_id: previous, output } = response;
      const ids = [...input, ...output].flatMap(({ id: own }: { id?: unknown }) =>
        typeof own === 'string' ? [own] : [],
      );
      const { orgId, keyId, userId } = principal;
      const texts = [JSON.stringify(response), JSON.stringify(input)];
      await database.system.query(INSERT, [
        id,
        orgId,
        keyId,
        userId,
        status ?? 'completed',
        model,
        previous ?? null,
        ...texts,
        ids,
      ]);
    },
    async forget(orgId, id) {
      await database.tenantQuery(orgId, DELETE, [orgId, id]);
    },
    async chain(orgId, id) {
      if (!ID.test(id)) throw isGone(id);
      const turns = await database.tenantQuery<Turn>(orgId, CHAIN, [orgId, id, MAX_TURNS]);
      const first = turns.at(-1);
      if (first === undefined) throw isGone(id);
      if (first.previous_id !== null) throw isGone(first.previous_id);
      return turns
        .reverse()
        .flatMap(({ input, response }) => [...(JSON.parse(input) as Fields[]), ...outputOf(response)]);
    },
    async items(orgId, ids) {
      const rows = await database.tenantQuery<Omit<Turn, 'previous_id'>>(orgId, ITEMS, [orgId, [...ids]]);
      const all = rows.flatMap(({ input, response }) => [
        ...(JSON.parse(input) as Fields[]),
        ...outputOf(response),
      ]);
      return new Map(all.map((item) => [String(item['id']), item]));
    },
    find: known,
    async delete(orgId, id) {
      const rows = ID.test(id) ? await database.tenantQuery<{ id: string }>(orgId, DELETE, [orgId, id]) : [];
      if (rows.length === 0) throw notFound(`Response with id '${id}' not found`);
    },
  };
}
