import type {
  EmbeddingModelV4,
  ImageModelV4,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  RerankingModelV4,
  SharedV4ProviderOptions,
  SpeechModelV4,
  TranscriptionModelV4,
} from '@ai-sdk/provider';
import type { ModelType } from '../../contract/words.js';
import type { NativeDialect } from '../dialect.types.js';
import type { DialectConnection } from '../openai-compatible/dialect-upstream.js';
import type { MusicModel } from '../music.types.js';
import type { ApiClient, ApiRequest, Fields } from '../predictions/api-client.js';
import type { KnownFields, ModelFields } from '../predictions/model-fields.js';
import type { OperationLimits } from '../predictions/operation.js';
import type { Predictor } from '../predictions/predictions.types.js';
import type { VideoUpstream } from '../predictions/video-upstream.js';
import type { ChatBody, ChatCall } from '../providers.types.js';
import type { TranscriptionCall } from '../stt.types.js';
import type { UpstreamSettings } from '../upstream-settings.types.js';
import type { VideoModel } from '../video.types.js';
import type { ChatFeature } from './chat-features.js';
import type { SpokenWord } from './spoken-words.js';

/** The environment variables, or the relevant part of them. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Known models of others that a provider hosts: our id → its own name. */
export type ModelAliases = Readonly<Record<string, string>>;

/**
 * The definition of one native provider: one file of this folder and one line of `registry.ts`. No other code names a provider. An omitted member
 * means that the provider does not have it, or has the usual default.
 */
export interface NativeProvider {
  /** Its `kind` in PROVIDERS_FILE, and the prefix of its models' ids. */
  id: string;
  /** The environment variables that enable it, all of them required; the first is its API key. */
  variables: readonly string[];
  /** Its usual address in the form that its adapter expects, without a trailing slash; null if a variable is missing. */
  baseUrl(env: Variables): string | null;
  /** Further credentials that sign its requests. */
  credentials?(env: Variables): UpstreamSettings['aws'];
  /** The header for the key, with the prefix of the value. Default `authorization: Bearer`. */
  keyHeader?: { name: string; prefix: string };
  /** How to check whether it accepts a key; null: its requests are signed individually, so a probe would show nothing. */
  probe?: Probe | null;
  /** Whether it is OpenAI-compatible (chat and everything else that it has). */
  convention: boolean;
  /** Dialects besides chat that it speaks itself (beyond 11.9). */
  dialects?: readonly NativeDialect[];
  /** How to call those conventions, if not in the usual way; it then also sets the key. */
  dialectConnection?(upstream: UpstreamSettings): DialectConnection;
  outputCap: 'max_tokens' | 'max_completion_tokens';
  /** Types of its known models that this adapter can call. */
  types: readonly ModelType[];
  /** Known models of others that it hosts: our id → its own name. */
  aliases?: ModelAliases;
  /** It judges inputs (`POST /moderations`). */
  moderates?: true;
  package?: SdkPackage;
  /** How its package's orders are stored and cancelled; absent: its package places none. */
  orders?: HeldOrderRules;
  /** The address of its own API, if it differs from the configured one. */
  ownApi?(baseUrl: string): { baseUrl?: string; alsoOwn?: readonly string[] };
  /** Runs third-party models by name: videos, music and edits. */
  predictions?: Predictions;
  video?(upstream: VideoUpstream): VideoModel;
  music?(api: ApiClient, modelId: string): MusicModel;
  chat?: ChatWays;
  image?: ImageWays;
  tts?: TtsWays;
  stt?: SttWays;
  /** Its parameter for `dimensions` of embeddings. Default `dimensions`. */
  dimensionsName?(modelId: string): string;
}

/** A request that costs nothing and succeeds only with a valid key. */
export interface Probe {
  /** Default `/models`. */
  path?: string;
  /** The key as the package sends it. Default: the provider's key header. */
  headers?(apiKey: string): Record<string, string>;
  /** Statuses that refuse the key, besides 401 and 403. */
  refusals?: readonly number[];
}

/** The models that a provider package makes, as far as Penstock uses them. */
export interface SdkProvider {
  languageModel?(modelId: string): LanguageModelV4;
  embeddingModel?(modelId: string): EmbeddingModelV4;
  rerankingModel?(modelId: string): RerankingModelV4;
  imageModel?(modelId: string): ImageModelV4;
  speechModel?(modelId: string): SpeechModelV4;
  transcriptionModel?(modelId: string): TranscriptionModelV4;
}

/** The settings of a provider package. */
export interface SdkSettings {
  apiKey: string;
  baseURL: string;
  headers: Record<string, string>;
  fetch: typeof globalThis.fetch;
}

/** A provider's package of the AI SDK. */
export interface SdkPackage {
  /** Loads it at the first request, so that a start does not wait for it. */
  load(settings: SdkSettings, upstream: UpstreamSettings): Promise<SdkProvider>;
  /** The kinds of models that it supports. */
  does: readonly ('chat' | 'embedding' | 'rerank' | 'image' | 'tts' | 'stt')[];
  /** Addresses that are built into the package without a setting, or that answers contain for orders. */
  builtIn?: readonly string[];
  /** The key of its provider options. Default: the provider's id. */
  optionsName?: string;
}

/** How a package places orders that it then polls. */
export interface HeldOrderRules {
  /** Paths of POSTs that are only polls. Every other POST is an order: it may be charged, even if its answer is lost. */
  question?: RegExp;
  /** Whether an answer means that the work still runs, for packages with a time-out of their own. */
  isOpen?(status: number, text: string): boolean;
  /** The request that cancels the order of the last answer. */
  withdraw?(answer: Fields): Pick<ApiRequest, 'method' | 'path'> | null;
}

export interface Predictions {
  open(api: ApiClient, options: { limits: OperationLimits; secrets: readonly string[] }): Predictor;
  /** How its models take our parameters. */
  known: KnownFields;
}

/** A request's response format and tools. */
export type FormatOptions = Pick<LanguageModelV4CallOptions, 'responseFormat' | 'tools' | 'toolChoice'>;

/** Further options for a provider's request. */
export type FeatureOptions = Pick<
  LanguageModelV4CallOptions,
  'maxOutputTokens' | 'providerOptions' | 'reasoning' | 'temperature'
>;

export interface ChatWays {
  /** Features that its API does not have or its package does not pass on: a request that uses one is refused. */
  unsupportedFeatures?: readonly ChatFeature[];
  /** @throws UpstreamError rejected, for anything else that would silently be dropped or changed */
  check?(call: Pick<ChatCall, 'modelId' | 'body'>): void;
  /** The format and tools as it takes them. */
  format?(requested: FormatOptions): FormatOptions;
  /** @throws UpstreamError rejected, for combinations that the model does not support */
  options?(call: ChatCall, format: FormatOptions): Promise<FeatureOptions>;
  /** The messages as it takes them. */
  prompt?(prompt: LanguageModelV4Prompt, format: FormatOptions): LanguageModelV4Prompt;
  /** Its options for an image's `detail`. */
  pictureOptions?(detail: string): SharedV4ProviderOptions;
  /** Converts a chat-completions body for its API. Such an API does not support `functions`. */
  dialect?(body: ChatBody & { model: string }): Record<string, unknown>;
}

/** Width and height in proportion. */
export type Shape = readonly [across: number, down: number];

export interface ImageWays {
  /** Whether a model takes a seed. Default: none does. */
  takesSeed?(modelId: string): boolean;
  /** Converts the seed for its package. */
  seed?(seed: number | undefined): number | undefined;
  /** The aspect ratios of a model that takes no size; null (the default): the model takes a size. */
  shapes?(modelId: string): readonly Shape[] | null;
  /** The field for the negative prompt, for all its models. */
  unwanted?: ModelFields;
  /** How its models take the negative prompt, if no entry says it. */
  known?: KnownFields;
  /** Whether its package polls orders, with a time-out in its options. */
  polls?: boolean;
}

export interface TtsWays {
  /** The contract's presets (contract 4.6) as voices that every account there has; other names are the provider's own ids. */
  presets?: Readonly<Record<string, string>>;
  /** Its range of speeds, if smaller than the contract's. */
  speed?: { min: number; max: number };
  /** Whether a model is one voice itself. */
  isVoice?(modelId: string): boolean;
  /** Where it sends sound as it is made, for the path that its package asks. Absent: at that path. */
  livePath?(path: string): string;
  /** The allowed form of voice names that become part of a URL path: another form could address another endpoint. */
  names?: RegExp;
}

export interface SttWays {
  /** Its options for language and speakers. */
  settings?(call: TranscriptionCall): SharedV4ProviderOptions[string];
  /** Reads words with times and speakers from its answer; absent: its answers have none. */
  words?(body: unknown): SpokenWord[];
  /** @throws UpstreamError if an answer is not a transcription, which its package would read as silence */
  check?(body: unknown): void;
}
