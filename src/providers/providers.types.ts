import type { EmbeddingModelV4 } from '@ai-sdk/provider';
import type { LightAbortSignal } from '../collections/light-abort-signal.js';
import type { ModelType, Tier } from '../contract/words.js';
import type { DialectProvider, NativeDialect } from './dialect.types.js';
import type { ImageEditor, PixelEditor } from './image-edit.types.js';
import type { ImageModel } from './image.types.js';
import type { MusicModel } from './music.types.js';
import type { TtsModel } from './tts.types.js';
import type { SttModel } from './stt.types.js';
import type { VideoModel } from './video.types.js';

/** Body of a chat request in the common chat-completions convention: validated, only fields that an upstream may see. */
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
  /** Output cap to send, in the spelling that the model's entry names. */
  maxTokens: number;
  /** What the caller asked for, before model and credits cut it to that cap; default: the cap. */
  askedTokens?: number;
  outputCap: 'max_tokens' | 'max_completion_tokens';
  /** Tokens of the prompt as the caller counted them (the sandbox reports them). */
  promptTokens: number;
  /** Fields of `body` that nobody asked for: they are left out where the upstream refuses them. Default: none. */
  optional?: readonly string[];
  /** Nobody hears of a tool that `body` does not offer, also where it offers none: the sandbox asks for no other. Default: false. */
  offeredOnly?: boolean;
  signal: LightAbortSignal;
}

/** A `chat.completion` object of the convention, parsed; only `choices` is sure to be an array. */
export type ChatObject = Record<string, unknown> & { choices: unknown[] };

/** An upstream's whole answer, as text (passed on with single values spliced) and parsed (read only). */
export interface ChatAnswer {
  text: string;
  parsed: ChatObject;
}

/**
 * An upstream's chunks as they come: JSON texts of `chat.completion.chunk` objects. Pulled one at a time; the upstream is paused while
 * nobody pulls.
 */
export interface ChatChunks {
  /** The next chunk, or null after the last. @throws UpstreamError */
  next(): Promise<string | null>;
  /** Ends the upstream's work; `next` is not called any more. Idempotent. */
  cancel(): void;
}

/** An upstream that speaks the chat-completions convention over HTTP, or acts as if (the sandbox). */
export interface ChatProvider {
  /** @throws UpstreamError */
  complete(call: ChatCall): Promise<ChatAnswer>;
  /** The promise resolves when the first chunk is there. @throws UpstreamError */
  stream(call: ChatCall): Promise<ChatChunks>;
}

/** How often a call is tried again at the same provider before the fallbacks. */
export interface RetryPolicy {
  /** Further attempts after the first. */
  retries: number;
  /** Delay before the first of them; doubled each time, with jitter. */
  backoffMs: number;
}

/** A generation whose work has not begun. */
export interface DelayedJob {
  inputParams: Readonly<Record<string, unknown>>;
  signal: AbortSignal;
  /** 0 to 100. */
  onProgress(percent: number): void;
}

/** One configured provider with what it is capable of. */
export interface Provider {
  id: string;
  retry: RetryPolicy;
  chat?: ChatProvider;
  /** Dialects that it speaks itself, beside chat. */
  dialects?: Partial<Record<NativeDialect, DialectProvider>>;
  /** Makers' tools, by type, that the operator lets through to it although they cost money there. Default none. */
  allowedTools?: readonly string[];
  image?(modelId: string): ImageModel;
  tts?(modelId: string): TtsModel;
  music?(modelId: string): MusicModel;
  stt?(modelId: string): SttModel;
  video?(modelId: string): VideoModel;
  embedding?(modelId: string): EmbeddingModelV4;
  /** Its embeddings take token ids: `providerOptions.penstock.input` goes in the place of the values. */
  takesTokenIds?: boolean;
  image_edit?(modelId: string): ImageEditor | PixelEditor;
  /**
   * Its models follow rules and say so: what stands in for a service that is not configured may be shown to them. A real model would take it
   * for the service's.
   */
  takesStandIns?: boolean;
  /**
   * Runs a job's work after the delay that its request asks of this provider. Meanwhile the job holds neither a worker's slot nor files.
   * Absent: no request asks for any.
   */
  afterDelay?<T>(job: DelayedJob, work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/**
 * What kind of fault: `rejected` is the caller's (400, 413 and 422 of an upstream; its message is clean and may be shown), `aborted` the
 * caller's going away; all others are the upstream's, and a fallback may do better.
 */
export type UpstreamFault = 'rejected' | 'aborted' | 'failed';

/** An upstream's fault: whether trying again at the same upstream makes sense is decided by `retryable`. */
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

  /** What the upstream said, to look for names in: it is in no log and no answer. */
  #said = '';

  /** Keeps what an upstream said of its refusal for {@link names}. */
  saying(said: string): this {
    this.#said = said.toLowerCase();
    return this;
  }

  /** Whether the upstream's refusal says that it does not know or take what it names. */
  saysUnsupported(): boolean {
    return /unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|not permitted/.test(
      this.#said,
    );
  }

  /** Whether the upstream's refusal names a field or a value: a plain word only where it stands in quotes or brackets, or first. */
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
  /** Further fields of chat requests that it gets: its own and its provider's. */
  allowedParameters: readonly string[];
}

/** What PROVIDERS_FILE says of models, after the substitution of `${NAME}`. */
export interface ProviderSettings {
  /** False: the sandbox's models are gone. */
  sandbox: boolean;
  models: ConfiguredModel[];
  defaults: Partial<Record<ModelType, string>>;
  /** Model id → ids to try in order when it fails. */
  fallbacks: Record<string, string[]>;
  /** Further names of models; one that ends in `*` stands for all that begin so. Default none. */
  aliases?: Readonly<Record<string, string>>;
  /** Known models that native upstreams switch on. Default none. */
  natives?: readonly NativeModels[];
}

/** Which of the known models (contract 8.4) a native upstream makes available. */
export interface NativeModels {
  providerId: string;
  /** Its own models are those whose ids start with this and a slash. */
  prefix: string;
  /** Of its own models: only these types. */
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
  /** Rereads PROVIDERS_FILE; where it has a fault the old one stays in force. @throws ProvidersFileError */
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
