import type { Principal } from '../../access/access.types.js';
import type { LeaseTimes, LeaseWorker } from '../../jobs/index.js';
import type { CallContext } from '../../metering/call-context.js';
import type { CarriedSeal } from '../carried-seal.js';
import type { ChatEngine } from '../chat/engine.js';
import type { ResponseQuery, ResponseStore } from './store.js';

/** What every response needs. */
export interface ResponseParts {
  engine: ChatEngine;
  store: ResponseStore;
  seal: CarriedSeal;
}

/** A page of the items that a response was made of. */
export interface InputItemPage {
  /** With their ids, as they were sent. */
  items: Record<string, unknown>[];
  hasMore: boolean;
}

export interface InputItemQuery {
  /** Default 20, at most 100. */
  limit?: number | null | undefined;
  /** Id of the item before the first. */
  after?: string | null | undefined;
  /** Default `desc`: the latest first. */
  order?: string | null | undefined;
}

/** Generations of text in the Responses dialect (beyond 11.7), stored at their end unless the caller says otherwise. */
export interface ResponseService extends Pick<ResponseStore, 'getMany' | 'texts' | 'positions' | 'events'> {
  /** @returns the convention's object as JSON text. @throws ApiError in the order of decisions 1 */
  create(call: CallContext, body: Record<string, unknown>): Promise<{ text: string }>;
  /** @returns the typed events as JSON texts; a failure after the first is thrown. @throws ApiError in the order of decisions 1 */
  stream(call: CallContext, body: Record<string, unknown>): Promise<{ events: AsyncIterable<string> }>;
  /**
   * Starts one that is worked on without its caller.
   * @param key who uses it again gets the response that the first call made
   * @returns its id. @throws ApiError in the order of decisions 1, idempotency_mismatch
   */
  start(call: CallContext, body: Record<string, unknown>, key?: string | null): Promise<string>;
  /** The same of a chat: its events are chunks. @throws as `start` */
  startChat(call: CallContext, body: Record<string, unknown>, key: string): Promise<string>;
  /** The stored object's JSON text. @throws ApiError not_found */
  get(orgId: string, id: string): Promise<string>;
  /** Objects as JSON texts, newest first. @throws ApiError invalid_request */
  list(orgId: string, query: ResponseQuery): Promise<{ texts: string[]; nextCursor: string | null }>;
  /** One that is open is cancelled first. @throws ApiError not_found */
  delete(orgId: string, id: string): Promise<void>;
  /** Ends one that is open; an ended one is answered as it is. @returns its JSON text. @throws ApiError not_found */
  cancel(orgId: string, id: string): Promise<string>;
  /** @throws ApiError not_found, invalid_request */
  inputItems(orgId: string, id: string, query: InputItemQuery): Promise<InputItemPage>;
  /** Answers responses in the background. */
  worker(options: { refresh(principal: Principal): Promise<Principal> } & LeaseTimes): LeaseWorker;
}

export interface ResponseEventsQuery {
  principal: Principal;
  id: string;
  /** Number of the last event that the reader has; absent: it gets the latest one first. */
  after?: number | undefined;
}

/** A chunk of a chat that can be joined again. */
export interface KeyedChunk {
  /** From 1, without a hole. */
  sequence: number;
  /** As JSON. */
  chunk: string;
}

/** Live events of responses that are worked on without their callers. */
export interface ResponseEvents {
  /** Events as JSON texts, to the last one. @throws ApiError not_found, invalid_request */
  follow(query: ResponseEventsQuery): Promise<AsyncIterableIterator<string>>;
  /** Chunks of a chat under its caller's key; its failure is thrown. @throws ApiError not_found, invalid_request */
  followChat(query: ResponseEventsQuery & { after: number }): Promise<AsyncIterableIterator<KeyedChunk>>;
}
