import type { Model } from '../../models/models.types.js';
import { runForOrg } from '../../processes/index.js';
import type { Attempted } from '../../metering/index.js';
import type { TokenClasses } from '../../metering/metering.types.js';
import {
  abortedError,
  brokenAnswer,
  hasContent,
  deliveredText,
  latestUsage,
  parseChunk,
  spliceObject,
  StreamedCalls,
  UpstreamError,
} from '../../providers/index.js';
import type { ChatCall, ChatChunks, Chunk } from '../../providers/index.js';
import type { Answered } from '../pipeline/upstreams.js';
import type { AdmittedChat } from './admission.js';
import type { ChatCaller } from './callers.js';
import { plainText } from './chunk.js';
import { upstreamCall } from './engine.js';
import type { ChatEngine } from './engine.js';
import { openAnswer } from './open.js';
import type { OpenAnswer } from './open.js';
import { boundAt, countTexts } from './tokens.js';
import { interruptedClasses } from './usage.js';

type Fields = Record<string, unknown>;

/** The data for a stream's next part: the text that was delivered and its tokens. */
interface Delivered {
  text: string;
  tokens: number;
}

/** A call whose answer may come from several upstreams. */
type Live = { chat: AdmittedChat; caller: ChatCaller };

/** A leg: the part of an answer that one upstream generates. */
interface Leg {
  model: Model;
  open: OpenAnswer;
  /** Counted tokens of its prompt: the call's prompt, and the text that was delivered before. */
  prompt: number;
}

interface Continuation extends Live {
  first: Leg;
  /** @throws UpstreamError if all fallbacks with `prefill` failed, or none is left */
  continueAnswer(delivered: Delivered): Promise<Answered<OpenAnswer>>;
  count(text: string): number | Promise<number>;
}

/** The request to an upstream that continues a text: the text is the last message, and its tokens are subtracted from the maximum. */
function callFrom(live: Live, target: Model, { text, tokens }: Delivered): ChatCall {
  const call = upstreamCall(live, target);
  const promptTokens = live.chat.promptTokens + tokens;
  const maxTokens = boundAt(target, { promptTokens, maxTokens: live.chat.maxTokens - tokens });
  const messages = [...call.body.messages, { role: 'assistant', content: text }];
  return { ...call, body: { ...call.body, messages }, promptTokens, maxTokens, requestedTokens: maxTokens };
}

/** @param targets each is used once: an upstream that broke off is not called again */
function continuation(
  { options: { tokenizer }, upstreams }: ChatEngine,
  live: Live,
  { first, targets }: { first: Leg; targets: readonly Model[] },
): Continuation {
  const { chat, caller } = live;
  let left = targets;
  return {
    ...live,
    first,
    count: (text) => countTexts([text], { tokenizer, limit: Number.POSITIVE_INFINITY }),
    async continueAnswer(delivered) {
      const found = await upstreams.tryModels(
        left,
        { signal: caller, tally: chat.tally },
        (provider, target) => {
          if (!provider.chat)
            throw new UpstreamError('No chat at this provider', { status: null, retryable: false });
          const { chat: upstream } = provider;
          const call = callFrom(live, target, delivered);
          return runForOrg(chat.call.principal.orgId, () => openAnswer(upstream, call));
        },
      );
      left = left.slice(left.indexOf(found.model) + 1);
      return found;
    },
  };
}

/**
 * If its upstream breaks off in the middle, a fallback with `prefill` continues the answer (beyond 12.6). Returns the answer unchanged if the operator has not
 * switched that on.
 */
export function withFallbackContinuation(
  engine: ChatEngine,
  live: Live,
  { value: open, model }: Answered<OpenAnswer>,
): OpenAnswer {
  const { chat } = live;
  const targets = engine.options.models.continuations(chat.model.id).filter(({ id }) => id !== model.id);
  if (targets.length === 0) return open;
  const first = { model, open, prompt: chat.promptTokens };
  return { ...open, chunks: new ContinuedChunks(continuation(engine, live, { first, targets })) };
}

/** A text that an upstream delivered before it broke off, in whatever form. */
export interface BrokenOffText {
  model: Model;
  text: string;
  /** What it told of its usage, in the words of chat. */
  usage: Fields | null;
  id: unknown;
}

/**
 * The rest of a text, by the fallbacks with `prefill` of the model that was asked: chunks of what is not yet delivered, and the usage of the whole
 * (beyond 12.6).
 * @returns null where nobody goes on with it
 */
export async function continueWithFallback(
  engine: ChatEngine,
  live: Live,
  { model, text, usage, id }: BrokenOffText,
): Promise<OpenAnswer | null> {
  const targets = engine.options.models
    .continuations(live.chat.model.id)
    .filter((one) => one.id !== model.id);
  if (targets.length === 0) return null;
  const calls = new StreamedCalls();
  const delivered = parseChunk(textChunk(text), calls);
  const open: OpenAnswer = { chunks: UNDELIVERED, first: [delivered], calls, usage, id };
  const first = { model, open, prompt: live.chat.promptTokens };
  const chunks = new ContinuedChunks(continuation(engine, live, { first, targets }));
  if (!(await chunks.isTakenOver())) return null;
  // All that was delivered is behind its reader.
  const ahead = new StreamedCalls();
  return { chunks, first: [parseChunk(textChunk(''), ahead)], calls: ahead, usage: null, id };
}

/** A text as one chunk of a chat. */
export const textChunk = (content: string): string =>
  JSON.stringify({ choices: [{ index: 0, delta: { content }, finish_reason: null }] });

const UNDELIVERED: ChatChunks = {
  next: () => Promise.reject(brokenAnswer('interrupted')),
  cancel: () => undefined,
};

/**
 * An answer that another process began and did not end, from its beginning: the chunks that it delivered, then the chunks of a model that continues
 * them (beyond 12.5).
 * @returns null if it cannot be continued: it had more than text, or no model that may answer has `prefill`
 */
export async function resumeInterruptedAnswer(
  engine: ChatEngine,
  live: Live,
  delivered: readonly [string, ...string[]],
): Promise<Answered<OpenAnswer> | null> {
  const { models } = engine.options;
  const { chat } = live;
  const targets = [chat.model, ...models.continuations(chat.model.id)].filter(
    ({ upstream }) => upstream?.prefill,
  );
  if (targets.length === 0) return null;
  const calls = new StreamedCalls();
  const [beginning, ...rest] = delivered;
  const begun = parseChunk(beginning, calls);
  const model = models.find(String(begun.parsed['model'])) ?? chat.model;
  const open: OpenAnswer = {
    chunks: UNDELIVERED,
    first: [begun],
    calls,
    usage: null,
    id: begun.parsed['id'],
  };
  const first = { model, open, prompt: chat.promptTokens };
  const chunks = new ContinuedChunks(continuation(engine, live, { first, targets }), rest);
  return (await chunks.isTakenOver()) ? { model, value: { ...open, chunks } } : null;
}

/** Members of a delta that the next upstream can send again. */
const TEXT_MEMBERS = new Set(['role', 'content']);

function isText({ parsed }: Chunk): boolean {
  return parsed.choices.every(({ delta }) =>
    Object.entries(delta).every(
      ([name, value]) => TEXT_MEMBERS.has(name) || value == null || value === '' || isEmptyList(value),
    ),
  );
}

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** The chunks of one upstream after the other, each of which begins where the one before broke off. Their reader sees one stream. */
class ContinuedChunks implements ChatChunks {
  private leg: Leg;
  private calls = new StreamedCalls();
  /** Chunks that were read ahead. */
  private readonly early: string[] = [];
  private text = '';
  /** Whether only text was delivered; with anything else, another model cannot continue the answer. */
  private isText = true;
  private hasFinished = false;
  /** The usage that this leg reported. */
  private told: Fields | null;
  /** Legs that broke off, with the tokens that each delivered. */
  private readonly broken: (Attempted & { tokens: TokenClasses })[] = [];
  private deliveredBefore = 0;
  private isTold = false;
  private isCancelled = false;
  private prefix = '';

  /** @param history chunks after the first that were delivered before; they are returned unchanged */
  constructor(
    private readonly options: Continuation,
    private readonly history: readonly string[] = [],
  ) {
    this.leg = options.first;
    this.told = this.leg.open.usage;
    for (const chunk of this.leg.open.first) this.take(chunk);
    for (const raw of history) this.take(parseChunk(raw, this.calls));
    this.early.push(...history);
  }

  async next(): Promise<string | null> {
    for (;;) {
      const early = this.early.shift();
      if (early !== undefined) return early;
      try {
        const raw = await this.leg.open.chunks.next();
        if (raw === null) return await this.end();
        const shown = this.shown(raw);
        if (shown !== null) return shown;
      } catch (error) {
        await this.continueAnswer(error);
      }
    }
  }

  cancel(): void {
    this.isCancelled = true;
    this.leg.open.chunks.cancel();
  }

  /** Opens the rest of an answer that another process began. @returns false if no model can continue it */
  async isTakenOver(): Promise<boolean> {
    try {
      await this.continueAnswer(brokenAnswer('interrupted'));
      return true;
    } catch (error) {
      if (error instanceof UpstreamError && error.fault === 'failed') return false;
      throw error;
    }
  }

  private get isContinued(): boolean {
    return this.broken.length > 0;
  }

  /** The chunk for the reader, or null if it contains nothing for the reader. */
  private shown(raw: string): string | null {
    const literal = plainText(raw, this.prefix);
    if (literal !== null) {
      this.text += JSON.parse(literal) as string;
      return raw;
    }
    const chunk = parseChunk(raw, this.calls);
    this.take(chunk);
    return this.isContinued ? withoutUsage(chunk) : raw;
  }

  private take(chunk: Chunk): void {
    this.told = latestUsage(this.told, chunk.usage);
    this.isText &&= isText(chunk);
    this.hasFinished ||= chunk.finishes;
    this.text += deliveredText(chunk);
    const at = chunk.raw.indexOf('"choices"');
    if (at !== -1) this.prefix = chunk.raw.slice(0, at);
  }

  /** Opens the next upstream's answer. @throws the error of the broken stream if no upstream can continue */
  private async continueAnswer(error: unknown): Promise<void> {
    const isBroken = error instanceof UpstreamError && error.fault === 'failed';
    if (!isBroken || !this.isText || this.hasFinished || this.isCancelled || this.text === '') throw error;
    this.leg.open.chunks.cancel();
    const tokens = await this.options.count(this.text);
    const { value: open, model } = await this.options
      .continueAnswer({ text: this.text, tokens })
      .catch(() => {
        throw error;
      });
    if (this.isCancelled) {
      open.chunks.cancel();
      throw abortedError();
    }
    this.begin({ open, model, prompt: this.options.chat.promptTokens + tokens }, tokens);
  }

  /** @param delivered tokens of everything that was delivered so far */
  private begin(leg: Leg, delivered: number): void {
    const { chat } = this.options;
    this.broken.push(this.used(delivered - this.deliveredBefore));
    this.deliveredBefore = delivered;
    chat.tally.joins((whole) => [...this.broken, this.used(whole.output - this.deliveredBefore)]);
    this.leg = leg;
    this.calls = new StreamedCalls();
    this.told = leg.open.usage;
    this.prefix = '';
    const parts = leg.open.first.filter((chunk) => chunk.finishes || hasContent(chunk));
    for (const chunk of parts) {
      this.take(chunk);
      const shown = withoutUsage(chunk);
      if (shown !== null) this.early.push(shown);
    }
  }

  /** The usage of this leg. @param delivered tokens that it delivered */
  private used(delivered: number): Attempted & { tokens: TokenClasses } {
    const { model, open, prompt } = this.leg;
    const tokens = interruptedClasses(this.told, { prompt, delivered: Math.max(0, delivered) });
    return { model, tokens, upstreamId: open.id };
  }

  /** The usage of a continued answer: the caller pays once for the prompt, and for the delivered text, whichever upstream generated it. */
  private async end(): Promise<string | null> {
    if (!this.isContinued || this.isTold) return null;
    this.isTold = true;
    const { input } = this.broken[0]?.tokens ?? { input: this.options.chat.promptTokens };
    const completion = await this.options.count(this.text);
    const usage = { prompt_tokens: input, completion_tokens: completion, total_tokens: input + completion };
    return JSON.stringify({ choices: [], usage });
  }
}

/** Removes the usage from a later upstream's chunk, because its prompt includes the delivered text. The whole answer's usage follows at the end. */
function withoutUsage({ raw, parsed }: Chunk): string | null {
  if (parsed.choices.length === 0) return null;
  return 'usage' in parsed ? spliceObject(raw, { usage: null }) : raw;
}
