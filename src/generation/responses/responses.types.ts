import type { Principal } from '../../access/access.types.js';
import type { Page } from '../../collections/page.js';
import type { LeaseTimes, LeaseWorker } from '../../jobs/index.js';
import type { CallContext } from '../../metering/call-context.js';
import type { MetadataSeal } from '../metadata-seal.js';
import type { ChatEngine } from '../chat/engine.js';
import type { ResponseQuery, ResponseStore } from './store.js';

/** The dependencies of every response. */
export interface ResponseParts {
  engine: ChatEngine;
  store: ResponseStore;
  seal: MetadataSeal;
}

/** A page of a response's input items. */
export interface InputItemPage {
  /** The items as they were sent, with their ids. */
  items: Record<string, unknown>[];
  hasMore: boolean;
}

export interface InputItemQuery {
  /** Default 20, at most 100. */
  limit?: number | null | undefined;
  /** The id of the item before the page. */
  after?: string | null | undefined;
  /** Default `desc`: the latest first. */
  order?: string | null | undefined;
}

/** Generations of text in the Responses dialect (beyond 11.7). They are stored unless the caller sets `store` to false. */
export interface ResponseService extends Pick<ResponseStore, 'getMany' | 'texts' | 'positions' | 'events'> {
  /** @returns the convention's object as JSON text. @throws ApiError in the order of decisions 1 */
  create(call: CallContext, body: Record<string, unknown>): Promise<{ text: string }>;
  /** @returns the typed events as JSON texts; a failure after the first is thrown. @throws ApiError in the order of decisions 1 */
  stream(call: CallContext, body: Record<string, unknown>): Promise<{ events: AsyncIterable<string> }>;
  /**
   * Starts a response in the background; no caller waits for it.
   * @param key a later call with the same key gets the response of the first call
   * @returns its id. @throws ApiError in the order of decisions 1, idempotency_mismatch
   */
  start(call: CallContext, body: Record<string, unknown>, key?: string | null): Promise<string>;
  /** The same for a chat, whose events are chunks. @throws as `start` */
  startChat(call: CallContext, body: Record<string, unknown>, key: string): Promise<string>;
  /** The stored object's JSON text. @throws ApiError not_found */
  get(orgId: string, id: string): Promise<string>;
  /** Objects as JSON texts, newest first. @throws ApiError invalid_request */
  list(orgId: string, query: ResponseQuery): Promise<Page<string>>;
  /** Deletes a response; an open one is cancelled first. @returns its JSON text; null if it has none. @throws ApiError not_found */
  delete(orgId: string, id: string): Promise<string | null>;
  /** Cancels an open response; an ended one stays unchanged. @returns its JSON text. @throws ApiError not_found */
  cancel(orgId: string, id: string): Promise<string>;
  /** The same for the response or chat that was started with a key. @returns null if there is none */
  cancelByKey(orgId: string, key: string): Promise<string | null>;
  /** @throws ApiError not_found, invalid_request */
  inputItems(orgId: string, id: string, query: InputItemQuery): Promise<InputItemPage>;
  /** Creates the worker that generates responses in the background. */
  worker(options: { refresh(principal: Principal): Promise<Principal> } & LeaseTimes): LeaseWorker;
}

export interface ResponseEventsQuery {
  principal: Principal;
  id: string;
  /** The number of the last event that the reader has. If it is absent, the reader gets the latest event first. */
  after?: number | undefined;
}

/** A chunk of a chat to which a reader can reconnect. */
export interface KeyedChunk {
  /** Counted from 1, without gaps. */
  sequence: number;
  /** The chunk as JSON. */
  chunk: string;
}

/** Live events of stored responses. */
export interface ResponseEvents {
  /** Delivers events as JSON texts, until the last one. @throws ApiError not_found, invalid_request */
  follow(query: ResponseEventsQuery): Promise<AsyncIterableIterator<string>>;
  /** Delivers the chunks of a chat that was started with a key; its failure is thrown. @throws ApiError not_found, invalid_request */
  followChat(query: ResponseEventsQuery & { after: number }): Promise<AsyncIterableIterator<KeyedChunk>>;
}
