import type { CallContext } from '../../metering/call-context.js';
import type { CarriedSeal } from '../carried-seal.js';
import type { ChatEngine } from '../chat/engine.js';
import type { ResponseStore } from './store.js';

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
export interface ResponseService {
  /** @returns the convention's object as JSON text. @throws ApiError in the order of decisions 1 */
  create(call: CallContext, body: Record<string, unknown>): Promise<{ text: string }>;
  /** @returns the typed events as JSON texts; a failure after the first is thrown. @throws ApiError in the order of decisions 1 */
  stream(call: CallContext, body: Record<string, unknown>): Promise<{ events: AsyncIterable<string> }>;
  /** The stored object's JSON text. @throws ApiError not_found */
  get(orgId: string, id: string): Promise<string>;
  /** @throws ApiError not_found */
  delete(orgId: string, id: string): Promise<void>;
  /** An ended response as it is: those that can be cancelled are still under way. @throws ApiError not_found */
  cancel(orgId: string, id: string): Promise<string>;
  /** @throws ApiError not_found, invalid_request */
  inputItems(orgId: string, id: string, query: InputItemQuery): Promise<InputItemPage>;
}
