import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { runForOrg } from '../../processes/index.js';
import {
  brokenAnswer,
  isFields,
  kindOfError,
  typeOfEvent,
  UpstreamError,
  usageIn,
} from '../../providers/index.js';
import type {
  ChatAnswer,
  ChatCall,
  NativeAnswer,
  NativeCall,
  NativeDialect,
  NativeEvent,
  NativeEvents,
  Provider,
} from '../../providers/index.js';
import type { Added, AdmittedChat } from '../chat/admission.js';
import { stoppingFault } from '../chat/callers.js';
import type { ChatCaller } from '../chat/callers.js';
import { upstreamCall } from '../chat/engine.js';
import type { ChatEngine } from '../chat/engine.js';
import { continuable, takenOver } from '../chat/continued.js';
import { endingOf } from '../chat/settlement.js';
import { openAnswer } from '../chat/open.js';
import type { OpenAnswer } from '../chat/open.js';
import { boundAt } from '../chat/tokens.js';
import type { Tokens } from '../chat/usage.js';

type Fields = Record<string, unknown>;

/** Where a round goes that an upstream of the dialect gets. */
export interface NativeTarget {
  model: Model;
  provider: Provider;
  /** The reserved cap. */
  maxTokens: number;
}

/** The call as upstreams get it that speak its dialect. */
export interface NativeForm {
  dialect: NativeDialect;
  /** Asked for each try of each round. Null: this target is asked by chat. @throws UpstreamError rejected */
  body(target: NativeTarget): Omit<NativeCall, 'signal'> | null;
  /** Whether an event brings something of the answer: what fails before one that does can be tried elsewhere. */
  brings(type: string): boolean;
}

export interface TurnRequest {
  /** The call as a chat (contract 4.1): what is checked, counted and reserved, and what upstreams get that speak nothing else. */
  chat: Fields;
  /** Texts that only the native form holds: they are counted too. */
  texts?: readonly string[];
  /** Fields of the chat that are left out where its upstream refuses them. */
  optional?: readonly string[];
  native: NativeForm;
}

/** A whole answer, in the dialect or as a chat's. */
export type WholeRound = { model: Model } & (
  | { native: NativeAnswer; chat: null }
  | { native: null; chat: ChatAnswer }
);

/** Native events that have begun to bring an answer: those read so far, then the rest. */
export interface OpenEvents {
  events: NativeEvents;
  early: NativeEvent[];
}

export type StreamedRound = { model: Model } & (
  | { native: OpenEvents; chat: null }
  | { native: null; chat: OpenAnswer }
);

async function openEvents(provider: Provider, form: NativeForm, call: NativeCall): Promise<OpenEvents> {
  const upstream = provider.dialects?.[form.dialect];
  if (upstream === undefined) throw new Error('a dialect that its provider does not speak');
  const events = await upstream.stream(call);
  const early: NativeEvent[] = [];
  try {
    for (let event = await events.next(); event !== null; event = await events.next()) {
      const type = typeOfEvent(event);
      if (event.name === 'error' || type === 'error' || type === 'response.failed')
        throw brokenAnswer(`an error in its stream${kindOfNativeError(event)}`);
      early.push(event);
      if (form.brings(type) || event.name === 'whole') return { events, early };
    }
    throw brokenAnswer('no answer');
  } catch (error) {
    events.cancel();
    if (error instanceof UpstreamError) for (const { data } of early) tellUsage(error, data);
    throw error;
  }
}

/** Keeps with a failure what an event before it told of the usage. */
function tellUsage(error: UpstreamError, data: string): void {
  try {
    const parsed = JSON.parse(data) as Record<string, unknown> | null;
    const said = [parsed?.['response'], parsed?.['message'], parsed].find(isFields) ?? {};
    error.telling(usageIn(said), said['id'] ?? error.told?.id);
  } catch {
    // An event that is no JSON tells nothing.
  }
}

/** What kind of error an upstream's event tells, as far as that is fit for the operator's log. */
export function kindOfNativeError({ data }: NativeEvent): string {
  try {
    const { error, response, ...rest } = JSON.parse(data) as {
      error?: unknown;
      response?: { error?: unknown };
    };
    return kindOfError(error ?? response?.error ?? rest);
  } catch {
    return '';
  }
}

/**
 * One call of a dialect (Responses, Messages) from its admission to its settlement, with all of its rounds: whichever form its upstream
 * takes, it is checked, reserved, routed and charged as a chat is.
 */
export class Turn {
  /** Tokens of the rounds that have ended. */
  spent: Tokens = { prompt: 0, completion: 0, total: 0 };
  /** Reservations of further rounds. */
  private readonly held: string[] = [];

  readonly caller: ChatCaller;

  private constructor(
    readonly engine: ChatEngine,
    private readonly request: TurnRequest,
    /** As it stands in this round. */
    public chat: AdmittedChat,
  ) {
    this.caller = engine.callers.enter(chat.call);
  }

  /** @throws ApiError in the order of decisions 1 */
  static async admit(engine: ChatEngine, call: CallContext, request: TurnRequest): Promise<Turn> {
    const chat = await engine.admission.admit(call, request.chat, request.texts);
    return new Turn(engine, request, chat);
  }

  /** One that was admitted before, by whatever process. */
  static resume(engine: ChatEngine, chat: AdmittedChat, request: TurnRequest): Turn {
    return new Turn(engine, request, chat);
  }

  get call(): CallContext {
    return this.chat.call;
  }

  /** A whole answer. @throws ApiError; the call is settled then */
  complete(): Promise<WholeRound> {
    return this.routed<WholeRound>(async (provider, model) => {
      const call = this.nativeCall(provider, model);
      if (call !== null) {
        const native = await provider.dialects?.[this.request.native.dialect]?.complete(call);
        if (native !== undefined) return { model, native, chat: null };
      }
      const chat = await chatOf(provider).complete(this.chatCall(model));
      return { model, native: null, chat };
    });
  }

  /** An answer as it comes, once it has begun. @throws ApiError; the call is settled then */
  stream(): Promise<StreamedRound> {
    return this.routed<StreamedRound>(async (provider, model) => {
      const call = this.nativeCall(provider, model);
      if (call !== null) {
        const native = await openEvents(provider, this.request.native, call);
        this.chat.tally.began();
        return { model, native, chat: null };
      }
      const value = await openAnswer(chatOf(provider), this.chatCall(model));
      this.chat.tally.began();
      return { model, native: null, chat: continuable(this.engine, this, { value, model }) };
    });
  }

  /** The rest of an answer of which another process delivered a text. @returns null where nothing goes on with it */
  async takeOver(text: string): Promise<StreamedRound | null> {
    const delivered = { choices: [{ index: 0, delta: { content: text }, finish_reason: null }] };
    const found = await takenOver(this.engine, this, [JSON.stringify(delivered)]);
    return found && { model: found.model, native: null, chat: found.value };
  }

  /** Goes on with more messages, after a round that cost so much. @throws ApiError; the caller settles the call then */
  async extend(cost: Tokens, added: Added): Promise<void> {
    this.spend(cost);
    const { chat, heldAs } = await this.engine.admission.extend(this.chat, added);
    this.chat = chat;
    this.held.push(heldAs);
  }

  /** Settles a call that failed or was refused before its answer began. @returns the error to answer */
  async fail(error: unknown): Promise<Error> {
    this.caller.leave();
    await this.releaseHeld();
    const { settlement } = this.engine;
    if (this.spent.total === 0) return settlement.fail(this.chat, error);
    await settlement.charge({ ...this.chat, promptTokens: 0 }, this.spent.total, endingOf(error));
    return settlement.answerOf(error);
  }

  /** What all rounds cost with one that cost so much. */
  spentWith({ prompt, completion, total }: Tokens): Tokens {
    const { spent } = this;
    return {
      prompt: spent.prompt + prompt,
      completion: spent.completion + completion,
      total: spent.total + total,
    };
  }

  /** Adds what a round cost to what all cost. */
  spend(cost: Tokens): Tokens {
    this.spent = this.spentWith(cost);
    return this.spent;
  }

  /** Gives back what was reserved for further rounds: all rounds are settled under the call's own operation. */
  async releaseHeld(): Promise<void> {
    const { metering } = this.engine.options;
    await Promise.all(this.held.splice(0).map((id) => metering.release(id)));
  }

  private nativeCall(provider: Provider, model: Model): NativeCall | null {
    const { native } = this.request;
    if (!speaksDialect(provider, model, native.dialect)) return null;
    const { promptTokens, maxTokens } = this.chat;
    const target = { model, provider, maxTokens: boundAt(model, { promptTokens, maxTokens }) };
    const call = native.body(target);
    return call && { ...call, signal: this.caller };
  }

  private chatCall(model: Model): ChatCall {
    const { optional } = this.request;
    const call = upstreamCall(this, model);
    return optional === undefined ? call : { ...call, optional };
  }

  private routed<R extends { model: Model }>(
    attempt: (provider: Provider, target: Model) => Promise<R>,
  ): Promise<R> {
    const { chat, caller, engine } = this;
    const { orgId } = chat.call.principal;
    return engine.upstreams
      .ask(chat.model, { signal: caller, tally: chat.tally }, (provider, target) =>
        runForOrg(orgId, () => attempt(provider, target)),
      )
      .then(
        ({ value }) => value,
        async (error: unknown) => {
          throw await this.fail(caller.stopped ? stoppingFault() : error);
        },
      );
  }
}

/** Whether a model of a provider speaks a dialect itself. */
export function speaksDialect(
  { dialects }: Pick<Provider, 'dialects'>,
  { upstream, name }: Model,
  dialect: NativeDialect,
): boolean {
  const spoken = dialects?.[dialect];
  return spoken !== undefined && spoken.speaks?.(upstream?.modelId ?? name) !== false;
}

function chatOf({ chat }: Provider) {
  if (!chat) throw new UpstreamError('No chat at this provider', { status: null, retryable: false });
  return chat;
}
