import type { EmbeddingModelV4, RerankingModelV4 } from '@ai-sdk/provider';
import type { LightAbortSignal } from '../collections/light-abort-signal.js';
import type { ModelType, Tier } from '../contract/words.js';
import type { PriceEntry } from '../pricing/pricing.types.js';
import type { DialectProvider, NativeDialect } from './dialect.types.js';
import type { ImageEditor, PixelEditor } from './image-edit.types.js';
import type { ImageModel } from './image.types.js';
import type { MusicModel } from './music.types.js';
import type { TtsModel } from './tts.types.js';
import type { SttModel } from './stt.types.js';
import type { VideoModel } from './video.types.js';

/** The body of a chat-completions request: validated, with only the fields that an upstream may see. */
export type ChatBody = Record<string, unknown> & { messages: unknown[] };

/** Token counts as an upstream reported them. */
export interface TokenUsage {
  promptTokens: number;
  completionTokens: number;
}

export interface ChatCall {
  /** The upstream's own model name. */
  modelId: string;
  body: ChatBody;
  /** The maximum of output tokens to send, under the parameter name in the model's entry. */
  maxTokens: number;
  /** The maximum that the caller asked for, before the model's limit and the credits reduced it; default: `maxTokens`. */
  requestedTokens?: number;
  outputCap: 'max_tokens' | 'max_completion_tokens';
  /** The prompt's tokens as Penstock counted them (the sandbox reports them). */
  promptTokens: number;
  /** Fields of `body` that Penstock added: they are left out if the upstream refuses them. Default: none. */
  optional?: readonly string[];
  /** Whether the model may call only tools in `body`, and none if there are none; the sandbox obeys this. Default: false. */
  offeredOnly?: boolean;
  signal: LightAbortSignal;
}

/** A parsed `chat.completion` object. Only `choices` is guaranteed to be an array. */
export type ChatObject = Record<string, unknown> & { choices: unknown[] };

/** An upstream's whole answer, as text (passed on with single values spliced) and parsed (read only). */
export interface ChatAnswer {
  text: string;
  parsed: ChatObject;
}

/**
 * An upstream's chunks as they arrive: JSON texts of `chat.completion.chunk` objects, read one at a time. While nobody reads, the upstream is
 * paused (backpressure).
 */
export interface ChatChunks {
  /** The next chunk, or null after the last. @throws UpstreamError */
  next(): Promise<string | null>;
  /** Ends the upstream's work; `next` is not called any more. Idempotent. */
  cancel(): void;
}

/** An upstream with a chat-completions interface: over HTTP, or in the process (the sandbox). */
export interface ChatProvider {
  /** @throws UpstreamError */
  complete(call: ChatCall): Promise<ChatAnswer>;
  /** The promise resolves when the first chunk is there. @throws UpstreamError */
  stream(call: ChatCall): Promise<ChatChunks>;
}

/** How often a call is repeated at the same provider before the fallbacks. */
export interface RetryPolicy {
  /** Further attempts after the first. */
  retries: number;
  /** The delay before the first repetition; doubled each time, with jitter. */
  backoffMs: number;
}

/** A generation whose work has not begun. */
export interface DelayedJob {
  inputParams: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
  /** 0 to 100. */
  onProgress(percent: number): void;
}

/** One configured provider with the models that it can make. */
export interface Provider {
  id: string;
  retry: RetryPolicy;
  chat?: ChatProvider;
  /** Dialects that it speaks itself, beside chat. */
  dialects?: Partial<Record<NativeDialect, DialectProvider>>;
  /** Provider-executed tools, by type, that the operator allows although the upstream charges for them. Default none. */
  allowedTools?: readonly string[];
  image?(modelId: string): ImageModel;
  tts?(modelId: string): TtsModel;
  music?(modelId: string): MusicModel;
  stt?(modelId: string): SttModel;
  video?(modelId: string): VideoModel;
  embedding?(modelId: string): EmbeddingModelV4;
  rerank?(modelId: string): RerankingModelV4;
  /** Says whether an input is harmful, in the convention's words. @throws UpstreamError */
  moderate?(
    body: Record<string, unknown>,
    signal: LightAbortSignal,
  ): Promise<{ id: string; model: string; results: unknown[] }>;
  /** Whether its embeddings accept token ids, in `providerOptions.penstock.input` instead of the values. */
  takesTokenIds?: boolean;
  image_edit?(modelId: string): ImageEditor | PixelEditor;
  /**
   * Whether its models answer by rules and say so. Such models may get a placeholder for a service that is not configured; a real model would
   * take it for the service's result.
   */
  takesStandIns?: boolean;
  /**
   * Runs a job's work after a delay that the request asks for. During the delay the job holds neither a worker's slot nor files. Absent: no
   * request asks for a delay.
   */
  afterDelay?<T>(job: DelayedJob, work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * The kind of error: `rejected` is the caller's fault (400, 413 and 422 of an upstream; its message is sanitised and may be shown); `aborted`
 * means that the caller disconnected; all others are the upstream's fault, and a fallback may succeed.
 */
export type UpstreamFault = 'rejected' | 'aborted' | 'failed';

/** An upstream's error. `retryable` says whether a repetition at the same upstream makes sense. */
export class UpstreamError extends Error {
  constructor(
    message: string,
    readonly options: {
      status: number | null;
      retryable: boolean;
      /** Default `failed`. */
      fault?: UpstreamFault;
      retryAfterMs?: number;
      cause?: unknown;
    },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'UpstreamError';
  }

  /** The upstream's message, to search for names. It is never logged or sent to a caller. */
  #said = '';

  /** Stores the upstream's message for {@link names}. */
  saying(said: string): this {
    this.#said = said.toLowerCase();
    return this;
  }

  /** The usage that the upstream reported before it failed: it charges for that (beyond 13.2). */
  reportedUsage: { usage: Record<string, unknown>; id: unknown } | null = null;

  /** @param usage in the form of chat, as `usageIn` returns it; null if none was reported */
  withReportedUsage(usage: Record<string, unknown> | null, id: unknown): this {
    if (usage !== null) this.reportedUsage = { usage, id };
    return this;
  }

  /** Whether the upstream's message says that it does not know or support something. */
  reportsUnsupported(): boolean {
    return /unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|not permitted/.test(
      this.#said,
    );
  }

  /** Whether the upstream's message names a field or a value. A plain word counts only in quotes or brackets, or at the beginning. */
  names(word: string): boolean {
    const said = this.#said;
    const isPlain = !/[^a-z]/.test(word);
    const sought = word.toLowerCase();
    for (let at = said.indexOf(sought); at !== -1; at = said.indexOf(sought, at + 1)) {
      const [before, after] = [said.charAt(at - 1), said.charAt(at + word.length)];
      if (
        isPlain ? /["'`[]/.test(before) && /["'`.[\]:]/.test(after) : !/\w/.test(before) && !/\w/.test(after)
      )
        return true;
    }
    return false;
  }

  get fault(): UpstreamFault {
    return this.options.fault ?? 'failed';
  }
}

/** A model that PROVIDERS_FILE configures. */
export interface ConfiguredModel {
  id: string;
  providerId: string;
  upstreamId: string;
  type: ModelType;
  tier: Tier;
  /** As the file has it: 1.5, at most two decimals; absent: the tier's standard. */
  multiplier: number | undefined;
  name: string | undefined;
  ownedBy: string | undefined;
  contextWindow: number | undefined;
  maxOutputTokens: number | undefined;
  imageTokens: number | undefined;
  outputCap: 'max_tokens' | 'max_completion_tokens';
  modalities: { input: string[]; output: string[] } | undefined;
  price: { amount?: number; credits?: number } | undefined;
  maxDurationSeconds: number | undefined;
  /** What it costs at its upstream; default: what the catalogue knows. */
  cost: readonly PriceEntry[] | undefined;
  /** Further fields of chat requests that are sent to it: those of its own entry and of its provider's. */
  allowedParameters: readonly string[];
  /** Whether it goes on with an answer whose beginning is the last message. */
  prefill: boolean;
  /** Whether its upstream goes on by itself with answers whose connection breaks, and keeps them meanwhile. */
  background: boolean;
}

/** The models in PROVIDERS_FILE, after the substitution of `${NAME}`. */
export interface ProviderSettings {
  /** False: the sandbox's models are not offered. */
  sandbox: boolean;
  models: ConfiguredModel[];
  defaults: Partial<Record<ModelType, string>>;
  /** Model id → ids to try in order when it fails. */
  fallbacks: Record<string, string[]>;
  /** Whether fallbacks with `prefill` go on with streams that break in the middle. Default false. */
  continueStreams?: boolean;
  /** Further names of models; a name that ends in `*` matches all names with that prefix. Default none. */
  aliases?: Readonly<Record<string, string>>;
  /** Known models that native upstreams switch on. Default none. */
  natives?: readonly NativeModels[];
}

/** Which of the known models (contract 8.4) a native upstream makes available. */
export interface NativeModels {
  providerId: string;
  /** Its own models are those whose ids start with this and a slash. */
  prefix: string;
  /** The types that its own models may have. */
  types: readonly ModelType[];
  outputCap: 'max_tokens' | 'max_completion_tokens';
  /** Others' models that it hosts: our id → its own name. */
  aliases: Readonly<Record<string, string>>;
  allowedParameters: readonly string[];
}

/** The configured providers. The settings change only by {@link ProviderRegistry.reload}. */
export interface ProviderRegistry {
  readonly settings: ProviderSettings;
  find(id: string): Provider | null;
  /** Providers in the file's order, the sandbox first. */
  list(): Provider[];
  /** Reads PROVIDERS_FILE again; if it has an error, the old settings stay in force. @throws ProvidersFileError */
  reload(): Promise<void>;
  onChange(listener: () => void): void;
  close(): Promise<void>;
}

/** PROVIDERS_FILE cannot be used: every fault found. */
export class ProvidersFileError extends Error {
  constructor(readonly faults: string[]) {
    super(`Invalid PROVIDERS_FILE:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'ProvidersFileError';
  }
}
