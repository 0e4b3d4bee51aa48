import type { Model } from '../../models/models.types.js';
import type { Provider } from '../../providers/index.js';
import { carriedOf } from '../carried-seal.js';
import type { CarriedSeal } from '../carried-seal.js';
import type { ChatEngine } from '../chat/engine.js';
import type { Sealing } from './chat-output.js';
import type { Fields } from './checks.js';
import { WebSearches } from './searches.js';
import type { Turn } from './turn.js';

/** What every call of a dialect needs. */
export interface DialectParts {
  engine: ChatEngine;
  seal: CarriedSeal;
}

/** A request that may go to an upstream. */
export interface PreparedCall {
  tools: {
    /** The function that stands for web search; null: the model is not offered it. */
    search: string | null;
    /** @returns searches: whether an upstream of the dialect gets that function */
    native(provider: Provider): { searches: boolean };
  };
}

/** One call of a dialect at work: its turn, and what its rounds have in common. */
export abstract class DialectWork<
  Parts extends DialectParts = DialectParts,
  Prepared extends PreparedCall = PreparedCall,
> {
  /** Of the answer. */
  abstract readonly id: string;
  readonly searches: WebSearches;
  /** Rounds so far. */
  rounds = 1;

  protected constructor(
    readonly parts: Parts,
    readonly prepared: Prepared,
    readonly turn: Turn,
  ) {
    const { search, metering } = parts.engine.options;
    this.searches = new WebSearches({ search, metering }, turn.chat);
  }

  /** What the answer is kept as for a retry with the call's Idempotency-Key. */
  abstract get keptAs(): unknown;

  /** Takes what a round's upstream told of its usage, in the words of chat or of the dialect. */
  abstract addUsage(reported: unknown): void;

  /** Removes what was stored of an answer that is not given. */
  forget(): Promise<void> {
    return Promise.resolve();
  }

  /** The provider of a model that answered. */
  providerOf(model: Model): Provider | null {
    return this.parts.engine.options.providers.find(model.upstream?.providerId ?? '');
  }

  /** The function that stands for web search. */
  get search(): string | null {
    return this.prepared.tools.search;
  }

  /** The same, where a model that speaks the dialect gets it. */
  nativeSearch(model: Model): string | null {
    const provider = this.providerOf(model);
    return provider !== null && this.prepared.tools.native(provider).searches ? this.search : null;
  }

  /** @param message of the round so far, as a chat has it */
  sealing(model: Model, message: () => Fields): Sealing {
    const { orgId } = this.turn.call.principal;
    return {
      carried: () => carriedOf(model.id, message()),
      seal: (carried) => this.parts.seal.seal(orgId, carried),
    };
  }
}
