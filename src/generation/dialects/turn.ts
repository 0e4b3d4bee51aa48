import type { LightAbortSignal } from '../../collections/light-abort-signal.js';
import type { CallContext } from '../../metering/call-context.js';
import type { Model } from '../../models/models.types.js';
import { runForOrg } from '../../processes/index.js';
import {
  brokenAnswer,
  isFields,
  kindOfError,
  typeOfEvent,
  UpstreamError,
  findUsage,
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
import {
  withFallbackContinuation,
  continueWithFallback,
  resumeInterruptedAnswer,
  textChunk,
} from '../chat/continued.js';
import type { BrokenOffText } from '../chat/continued.js';
import { endingOf } from '../chat/settlement.js';
import { openAnswer } from '../chat/open.js';
import type { OpenAnswer } from '../chat/open.js';
import { boundAt } from '../chat/tokens.js';
import { toChatUsage } from '../chat/usage.js';
import type { Tokens } from '../chat/usage.js';

type Fields = Record<string, unknown>;

/** The destination of a round at an upstream with the dialect. */
export interface NativeTarget {
  model: Model;
  provider: Provider;
  /** The maximum of output tokens that is reserved. */
  maxTokens: number;
}

/** The source of a stream of events. */
export interface NativeStreamRequest extends Omit<NativeTarget, 'maxTokens'> {
  signal: LightAbortSignal;
}

/** The call for upstreams with its dialect. */
export interface NativeForm {
  dialect: NativeDialect;
  /** Called for each attempt of each round. Null if this target is called by chat. @throws UpstreamError rejected */
  body(target: NativeTarget): Omit<NativeCall, 'signal'> | null;
  /** Whether an event has content of the answer. After a failure before the first such event, another upstream can be tried. */
  isContentEvent(type: string): boolean;
  /** Wraps the events of a stream, so that the dialect sees each event before it is delivered. */
  follow?(events: NativeEvents, asked: NativeStreamRequest): NativeEvents;
}

export interface TurnRequest {
  /** The call as a chat (contract 4.1): for checks, counts and reservations, and for upstreams without the dialect. */
  chat: Fields;
  /** Texts that exist only in the native form; they are counted too. */
  texts?: readonly string[];
  /** Fields of the chat that are removed if its upstream does not accept them. */
  optional?: readonly string[];
  native: NativeForm;
}

/** A whole answer, in the dialect or in the form of chat. */
export type WholeRound = { model: Model } & (
  | { native: NativeAnswer; chat: null }
  | { native: null; chat: ChatAnswer }
);

/** A text that an upstream of the dialect delivered before it broke off. */
export interface BrokenText extends Omit<BrokenOffText, 'usage'> {
  /** The usage that it reported, with the names of the dialect. */
  reported: unknown;
}

/** Native events with the first content of an answer: the events that were read so far, then the rest. */
export interface OpenEvents {
  events: NativeEvents;
  early: NativeEvent[];
}

export type StreamedRound = { model: Model } & (
  | { native: OpenEvents; chat: null }
  | { native: null; chat: OpenAnswer }
);

async function openEvents(
  { model, provider }: Omit<NativeTarget, 'maxTokens'>,
  form: NativeForm,
  call: NativeCall,
): Promise<OpenEvents> {
  const upstream = provider.dialects?.[form.dialect];
  if (upstream === undefined) throw new Error('a dialect that its provider does not speak');
  const events = await upstream.stream(call);
  return begunEvents(form.follow?.(events, { model, provider, signal: call.signal }) ?? events, form);
}

/** Reads events until the first one with content of the answer. @throws UpstreamError */
async function begunEvents(events: NativeEvents, form: NativeForm): Promise<OpenEvents> {
  const early: NativeEvent[] = [];
  try {
    for (let event = await events.next(); event !== null; event = await events.next()) {
      const type = typeOfEvent(event);
      if (event.name === 'error' || type === 'error' || type === 'response.failed')
        throw brokenAnswer(`an error in its stream${kindOfNativeError(event)}`);
      early.push(event);
      if (form.isContentEvent(type) || event.name === 'whole') return { events, early };
    }
    throw brokenAnswer('no answer');
  } catch (error) {
    events.cancel();
    if (error instanceof UpstreamError) for (const { data } of early) tellUsage(error, data);
    throw error;
  }
}

/** Adds the usage that an earlier event reported to a failure. */
function tellUsage(error: UpstreamError, data: string): void {
  try {
    const parsed = JSON.parse(data) as Record<string, unknown> | null;
    const said = [parsed?.['response'], parsed?.['message'], parsed].find(isFields) ?? {};
    error.withReportedUsage(findUsage(said), said['id'] ?? error.reportedUsage?.id);
  } catch {
    // An event that is not JSON reports no usage.
  }
}

/** The kind of error in an upstream's event, as far as the operator's log may show it. */
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
 * accepts, it is checked, reserved, routed and charged like a chat.
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
    /** The call of this round. */
    public chat: AdmittedChat,
  ) {
    this.caller = engine.callers.enter(chat.call);
  }

  /** @throws ApiError in the order of decisions 1 */
  static async admit(engine: ChatEngine, call: CallContext, request: TurnRequest): Promise<Turn> {
    const chat = await engine.admission.admit(call, request.chat, request.texts);
    return new Turn(engine, request, chat);
  }

  /** Continues a call that was admitted before, by any process. */
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

  /** A streamed answer that has begun. @throws ApiError; the call is settled then */
  stream(): Promise<StreamedRound> {
    return this.routed<StreamedRound>(async (provider, model) => {
      const call = this.nativeCall(provider, model);
      if (call !== null) {
        const native = await openEvents({ model, provider }, this.request.native, call);
        this.chat.tally.began();
        return { model, native, chat: null };
      }
      const value = await openAnswer(chatOf(provider), this.chatCall(model));
      this.chat.tally.began();
      return { model, native: null, chat: withFallbackContinuation(this.engine, this, { value, model }) };
    });
  }

  /** The rest of an answer of which another process delivered some text. @returns null if no model can continue it */
  async takeOver(text: string): Promise<StreamedRound | null> {
    const found = await resumeInterruptedAnswer(this.engine, this, [textChunk(text)]);
    return found && { model: found.model, native: null, chat: found.value };
  }

  /** Whether a fallback may continue the text of a model that broke off (beyond 12.6). */
  canContinue({ id }: Model): boolean {
    return this.engine.options.models.continuations(this.chat.model.id).some((one) => one.id !== id);
  }

  /** The rest of a text that an upstream of the dialect delivered before it broke off. @returns null if no model can continue it */
  continueText({ reported, ...broken }: BrokenText): Promise<OpenAnswer | null> {
    return continueWithFallback(this.engine, this, { ...broken, usage: toChatUsage(reported) });
  }

  /** Opens an answer that its upstream continues by itself. @returns null if it fails before its first content */
  async resume({ model, events }: { model: Model; events: NativeEvents }): Promise<StreamedRound | null> {
    try {
      const native = await begunEvents(events, this.request.native);
      this.chat.tally.began();
      return { model, native, chat: null };
    } catch (error) {
      if (error instanceof UpstreamError && error.fault !== 'aborted') return null;
      throw error;
    }
  }

  /** Starts another round with more messages. @param cost of the round before @throws ApiError; the caller settles the call then */
  async extend(cost: Tokens, added: Added): Promise<void> {
    this.spend(cost);
    const { chat, heldAs } = await this.engine.admission.extend(this.chat, added);
    this.chat = chat;
    this.held.push(heldAs);
  }

  /** Settles a call that failed or was refused before its answer began. @returns the caller's error */
  async fail(error: unknown): Promise<Error> {
    this.caller.leave();
    await this.releaseHeld();
    const { settlement } = this.engine;
    if (this.spent.total === 0) return settlement.fail(this.chat, error);
    await settlement.charge({ ...this.chat, promptTokens: 0 }, this.spent.total, endingOf(error));
    return settlement.answerOf(error);
  }

  /** The cost of all rounds, including a given one. */
  spentWith({ prompt, completion, total }: Tokens): Tokens {
    const { spent } = this;
    return {
      prompt: spent.prompt + prompt,
      completion: spent.completion + completion,
      total: spent.total + total,
    };
  }

  /** Adds a round's cost to the total. */
  spend(cost: Tokens): Tokens {
    this.spent = this.spentWith(cost);
    return this.spent;
  }

  /** Releases the reservations of further rounds, because all rounds are settled under the call's own operation. */
  async releaseHeld(): Promise<void> {
    if (this.held.length === 0) return;
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

/** Whether a provider's model accepts a dialect directly. */
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
