import type { Model } from '../../models/models.types.js';
import type { Provider } from '../../providers/index.js';
import { metadataOf } from '../metadata-seal.js';
import type { MetadataSeal } from '../metadata-seal.js';
import type { ChatEngine } from '../chat/engine.js';
import type { Sealing } from './chat-output.js';
import type { Fields } from './checks.js';
import { WebSearches } from './searches.js';
import type { Turn } from './turn.js';

/** The dependencies of every call of a dialect. */
export interface DialectParts {
  engine: ChatEngine;
  seal: MetadataSeal;
}

/** A request that passed all checks. */
export interface PreparedCall {
  tools: {
    /** The function that replaces web search; null if the model does not get it. */
    search: string | null;
    /** @returns searches: whether an upstream of the dialect gets that function */
    native(provider: Provider): { searches: boolean };
  };
}

/** A running call of a dialect: its turn, and the data that its rounds share. */
export abstract class DialectWork<
  Parts extends DialectParts = DialectParts,
  Prepared extends PreparedCall = PreparedCall,
> {
  /** The answer's id. */
  abstract readonly id: string;
  readonly searches: WebSearches;
  /** The number of rounds so far. */
  rounds = 1;

  protected constructor(
    readonly parts: Parts,
    readonly prepared: Prepared,
    readonly turn: Turn,
  ) {
    const { search, metering } = parts.engine.options;
    this.searches = new WebSearches({ search, metering }, turn.chat);
  }

  /** The kind of the stored answer, for a retry with the call's Idempotency-Key. */
  abstract get keptAs(): unknown;

  /** Adds the usage that a round's upstream reported, with the names of chat or of the dialect. */
  abstract addUsage(reported: unknown): void;

  /** Removes the stored part of an answer that the caller does not get. */
  forget(): Promise<void> {
    return Promise.resolve();
  }

  /** The provider of the model that answered. */
  providerOf(model: Model): Provider | null {
    return this.parts.engine.options.providers.find(model.upstream?.providerId ?? '');
  }

  /** The function that replaces web search. */
  get search(): string | null {
    return this.prepared.tools.search;
  }

  /** The same function, for a model that accepts the dialect directly. */
  nativeSearch(model: Model): string | null {
    const provider = this.providerOf(model);
    return provider !== null && this.prepared.tools.native(provider).searches ? this.search : null;
  }

  /** @param message of the round so far, in the form of chat */
  sealing(model: Model, message: () => Fields): Sealing {
    const { orgId } = this.turn.call.principal;
    return {
      carried: () => metadataOf(model.id, message()),
      seal: (carried) => this.parts.seal.seal(orgId, carried),
    };
  }
}
