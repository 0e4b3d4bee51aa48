import type {
  EmbeddingModelV4,
  ImageModelV4,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
  SpeechModelV4,
  TranscriptionModelV4,
} from '@ai-sdk/provider';
import type { ModelType } from '../../contract/words.js';
import type { NativeDialect } from '../dialect.types.js';
import type { DialectDoor } from '../openai-compatible/dialect-upstream.js';
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

/** The environment, or as much of it as is looked at. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** Known models that a provider hosts for others: our id → the name that it has there. */
export type ModelAliases = Readonly<Record<string, string>>;

/**
 * All that is known here of one provider: each is one file of this folder and one line of `registry.ts`. No other code names any of them.
 * Whatever is left out, the provider has not, or has it as most do.
 */
export interface NativeProvider {
  /** Its `kind` in PROVIDERS_FILE, and what stands before the slash in ids of its models. */
  id: string;
  /** Variables that switch it on, all of them; the first is its API key. */
  variables: readonly string[];
  /** Its usual address in the form that its adapter expects, without a trailing slash; null: the environment does not say enough. */
  baseUrl(env: Variables): string | null;
  /** What signs its requests besides the key. */
  credentials?(env: Variables): UpstreamSettings['aws'];
  /** Header that carries the key, with what stands before it. Default `authorization: Bearer`. */
  keyHeader?: { name: string; prefix: string };
  /** How it is asked whether it takes a key; null: its requests are signed one by one, and a question would tell nothing. */
  probe?: Probe | null;
  /** True: it speaks the common convention (chat and whatever else it has). */
  convention: boolean;
  /** Dialects besides chat that it speaks itself (beyond 11.9). */
  dialects?: readonly NativeDialect[];
  /** How those are reached, where it is otherwise than as their makers are; it carries the key then. */
  dialectDoor?(upstream: UpstreamSettings): DialectDoor;
  outputCap: 'max_tokens' | 'max_completion_tokens';
  /** Types of its known models that this adapter can call. */
  types: readonly ModelType[];
  /** Known models of others that it offers: our id → its own name. */
  aliases?: ModelAliases;
  package?: SdkPackage;
  /** How its package's orders are held and taken back; absent: its package orders nothing. */
  orders?: HeldOrderRules;
  /** Where its own API is, besides the address that is configured. */
  ownApi?(baseUrl: string): { baseUrl?: string; alsoOwn?: readonly string[] };
  /** It runs other people's models by their name: videos, music and edits. */
  predictions?: Predictions;
  video?(upstream: VideoUpstream): VideoModel;
  music?(api: ApiClient, modelId: string): MusicModel;
  chat?: ChatWays;
  image?: ImageWays;
  tts?: TtsWays;
  stt?: SttWays;
  /** Its word for `dimensions` of embeddings. Default `dimensions`. */
  dimensionsName?(modelId: string): string;
}

/** A question that costs nothing and that only whoever has a right key is answered. */
export interface Probe {
  /** Default `/models`. */
  path?: string;
  /** The key as the package sends it. Default: the provider's key header. */
  headers?(apiKey: string): Record<string, string>;
  /** Statuses that refuse the key, besides 401 and 403. */
  refusals?: readonly number[];
}

/** What a provider package makes, as far as we use it. */
export interface SdkProvider {
  languageModel?(modelId: string): LanguageModelV4;
  embeddingModel?(modelId: string): EmbeddingModelV4;
  imageModel?(modelId: string): ImageModelV4;
  speechModel?(modelId: string): SpeechModelV4;
  transcriptionModel?(modelId: string): TranscriptionModelV4;
}

/** What a provider package is made with. */
export interface SdkSettings {
  apiKey: string;
  baseURL: string;
  headers: Record<string, string>;
  fetch: typeof globalThis.fetch;
}

/** A provider's package of the AI SDK. */
export interface SdkPackage {
  /** Loads it; called with the first request, so that a start pays for none. */
  load(settings: SdkSettings, upstream: UpstreamSettings): Promise<SdkProvider>;
  /** What it can do of what we ask for. */
  does: readonly ('chat' | 'embedding' | 'image' | 'tts' | 'stt')[];
  /** Addresses that it has built in and offers no setting for, or that answers name for what was ordered. */
  builtIn?: readonly string[];
  /** Under which name it looks for its options. Default: the provider's id. */
  optionsName?: string;
}

/** How a package orders work that its provider then does by itself, while the package asks about it. */
export interface HeldOrderRules {
  /** Paths to which it POSTs no more than a question. All else that it POSTs is an order: it may be paid for, whatever became of its answer. */
  question?: RegExp;
  /** Whether an answer says that the work goes on, where the package has a patience of its own. */
  isOpen?(status: number, text: string): boolean;
  /** How the last of those answers is taken back. */
  withdraw?(answer: Fields): Pick<ApiRequest, 'method' | 'path'> | null;
}

export interface Predictions {
  open(api: ApiClient, options: { limits: OperationLimits; secrets: readonly string[] }): Predictor;
  /** How its models take our parameters. */
  known: KnownFields;
}

/** A request's format of the answer with its tools. */
export type FormatAsked = Pick<LanguageModelV4CallOptions, 'responseFormat' | 'tools' | 'toolChoice'>;

/** What a provider is told besides what the request says. */
export type FeatureOptions = Pick<
  LanguageModelV4CallOptions,
  'maxOutputTokens' | 'providerOptions' | 'reasoning' | 'temperature'
>;

export interface ChatWays {
  /** What its API has no word for, or its package does not pass on: a request that uses it is refused. */
  lacks?: readonly ChatFeature[];
  /** @throws UpstreamError rejected, for anything else that would silently be left out or changed */
  check?(call: Pick<ChatCall, 'modelId' | 'body'>): void;
  /** The format and tools as it takes them. */
  format?(asked: FormatAsked): FormatAsked;
  /** @throws UpstreamError rejected, for what the model cannot do at once */
  options?(call: ChatCall, format: FormatAsked): Promise<FeatureOptions>;
  /** The messages as it takes them. */
  prompt?(prompt: LanguageModelV4Prompt, format: FormatAsked): LanguageModelV4Prompt;
  /** Its options of a picture that is to be looked at in some detail. */
  pictureOptions?(detail: string): SharedV4ProviderOptions;
  /** A body of the convention as its API takes it. Such an API has never known `functions`. */
  dialect?(body: ChatBody & { model: string }): Record<string, unknown>;
}

/** Width and height in proportion. */
export type Shape = readonly [across: number, down: number];

export interface ImageWays {
  /** Whether a model takes a seed. Default: none does. */
  takesSeed?(modelId: string): boolean;
  /** The seed as its package is to be given it. */
  seed?(seed: number | undefined): number | undefined;
  /** Shapes of which a model takes one instead of a size; null: it takes a size, as models do by default. */
  shapes?(modelId: string): readonly Shape[] | null;
  /** The field that says what is unwanted, of all its models. */
  unwanted?: ModelFields;
  /** How its models take what is unwanted, where no entry says it. */
  known?: KnownFields;
  /** Whether its package asks about what it ordered, for as long as its options say. */
  polls?: boolean;
}

export interface TtsWays {
  /** The contract's presets (contract 4.6) as voices that every account there has; other names are the provider's own ids. */
  presets?: Readonly<Record<string, string>>;
  /** Speeds that it can be asked for, where they are fewer than the contract's. */
  speed?: { min: number; max: number };
  /** Whether a model is one voice itself. */
  isVoice?(modelId: string): boolean;
  /** The form of voices' names where they stand in its path: any other would lead to another of its endpoints. */
  names?: RegExp;
}

export interface SttWays {
  /** How it is told of the language and of speakers. */
  settings?(call: TranscriptionCall): SharedV4ProviderOptions[string];
  /** Reads words with times and speakers from its own answer; absent: its answers are not known to carry any. */
  words?(body: unknown): SpokenWord[];
  /** @throws UpstreamError where an answer is none, which its package takes for silence */
  check?(body: unknown): void;
}
