import type { Model } from '../../models/models.types.js';
import { runForOrg } from '../../processes/index.js';
import {
  abortedError,
  bringsSomething,
  deliveredText,
  laterUsage,
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

type Fields = Record<string, unknown>;

/** What a stream's next part needs: the text that was delivered and its tokens. */
interface Delivered {
  text: string;
  tokens: number;
}

interface Continuation {
  open: OpenAnswer;
  chat: AdmittedChat;
  /** @throws UpstreamError where the fallbacks with `prefill` failed, or there are no more */
  goOn(delivered: Delivered): Promise<OpenAnswer>;
  count(text: string): number | Promise<number>;
}

/** What an upstream gets that goes on with a text: the text is the last message, and its tokens are no longer to be generated. */
function callFrom(
  live: { chat: AdmittedChat; caller: ChatCaller },
  target: Model,
  { text, tokens }: Delivered,
): ChatCall {
  const call = upstreamCall(live, target);
  const promptTokens = live.chat.promptTokens + tokens;
  const maxTokens = boundAt(target, { promptTokens, maxTokens: live.chat.maxTokens - tokens });
  const messages = [...call.body.messages, { role: 'assistant', content: text }];
  return { ...call, body: { ...call.body, messages }, promptTokens, maxTokens, askedTokens: maxTokens };
}

/**
 * An answer that goes on at a fallback with `prefill` where its upstream breaks off in the middle (beyond 12.6). Itself where the operator has not
 * switched that on.
 */
export function continuable(
  { options: { models, tokenizer }, upstreams }: ChatEngine,
  live: { chat: AdmittedChat; caller: ChatCaller },
  { value: open, model }: Answered<OpenAnswer>,
): OpenAnswer {
  const { chat, caller } = live;
  const { orgId } = chat.call.principal;
  let left = models.continuations(chat.model.id).filter(({ id }) => id !== model.id);
  if (left.length === 0) return open;
  const goOn: Continuation['goOn'] = async (delivered) => {
    const { value, model: found } = await upstreams.goOn(left, caller, (provider, target) => {
      if (!provider.chat)
        throw new UpstreamError('No chat at this provider', { status: null, retryable: false });
      const { chat: upstream } = provider;
      return runForOrg(orgId, () => openAnswer(upstream, callFrom(live, target, delivered)));
    });
    // Each goes on once: whoever broke off is not asked again.
    left = left.slice(left.indexOf(found) + 1);
    return value;
  };
  const count = (text: string) => countTexts([text], { tokenizer, limit: Number.POSITIVE_INFINITY });
  return { ...open, chunks: new ContinuedChunks({ open, chat, goOn, count }) };
}

/** Members of a delta that can be repeated in the next upstream's words. */
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
  private inner: ChatChunks;
  private calls: StreamedCalls;
  private readonly early: string[] = [];
  private text = '';
  /** Whether nothing but text was delivered: the rest cannot be handed to another model. */
  private isText = true;
  private hasFinished = false;
  private told: Fields | null;
  private isFirst = true;
  private isTold = false;
  private isCancelled = false;
  private prefix = '';

  constructor(private readonly options: Continuation) {
    const { chunks, first, usage } = options.open;
    this.inner = chunks;
    this.told = usage;
    this.calls = new StreamedCalls();
    for (const chunk of first) this.take(chunk);
  }

  async next(): Promise<string | null> {
    for (;;) {
      try {
        const raw = this.early.shift() ?? (await this.inner.next());
        if (raw === null) return await this.end();
        const shown = this.shown(raw);
        if (shown !== null) return shown;
      } catch (error) {
        await this.goOn(error);
      }
    }
  }

  cancel(): void {
    this.isCancelled = true;
    this.inner.cancel();
  }

  /** A chunk as the reader gets it, or null for one that has nothing for the reader. */
  private shown(raw: string): string | null {
    const literal = this.isFirst ? plainText(raw, this.prefix) : null;
    if (literal !== null) {
      this.text += JSON.parse(literal) as string;
      return raw;
    }
    const chunk = parseChunk(raw, this.calls);
    this.take(chunk);
    if (this.isFirst) return raw;
    // A later upstream counts what it was given as its prompt: the usage of the whole answer follows at the end.
    if (chunk.parsed.choices.length === 0) return null;
    return 'usage' in chunk.parsed ? spliceObject(chunk.raw, { usage: null }) : raw;
  }

  private take(chunk: Chunk): void {
    if (this.isFirst) this.told = laterUsage(this.told, chunk.usage);
    this.isText &&= isText(chunk);
    this.hasFinished ||= chunk.finishes;
    this.text += deliveredText(chunk);
    const at = chunk.raw.indexOf('"choices"');
    if (at !== -1) this.prefix = chunk.raw.slice(0, at);
  }

  /** Opens the next upstream's answer. @throws the error that the stream broke off with, where nothing can go on */
  private async goOn(error: unknown): Promise<void> {
    const isBroken = error instanceof UpstreamError && error.fault === 'failed';
    if (!isBroken || !this.isText || this.hasFinished || this.isCancelled || this.text === '') throw error;
    this.inner.cancel();
    const tokens = await this.options.count(this.text);
    const open = await this.options.goOn({ text: this.text, tokens }).catch(() => {
      throw error;
    });
    this.inner = open.chunks;
    if (this.isCancelled) {
      this.inner.cancel();
      throw abortedError();
    }
    this.isFirst = false;
    this.calls = new StreamedCalls();
    this.early.push(
      ...open.first.filter((chunk) => chunk.finishes || bringsSomething(chunk)).map(({ raw }) => raw),
    );
  }

  /** The usage of a continued answer, once: the caller pays for the prompt and for what was delivered, whoever generated it. */
  private async end(): Promise<string | null> {
    if (this.isFirst || this.isTold) return null;
    this.isTold = true;
    const { chat, count } = this.options;
    const told = Number(this.told?.['prompt_tokens'] ?? 0);
    const prompt = told > 0 ? told : chat.promptTokens;
    const completion = await count(this.text);
    const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
    return JSON.stringify({ choices: [], usage });
  }
}
