import type { Logger } from 'pino';
import type { Audio } from '../audio/index.js';
import type { FileService, InputFetcher } from '../files/files.types.js';
import type { Imaging } from '../imaging/index.js';
import type { CallContext } from '../metering/call-context.js';
import type { ProviderRegistry } from '../providers/index.js';
import type { Video } from '../video/index.js';
import type { PricedUnit } from '../pricing/pricing.types.js';
import type { Upstreams } from './pipeline/upstreams.js';
import type { SpokenTexts } from './tts/spoken-texts.queries.js';
import type { Amounts, Bucket, Dialect, Tool } from '../contract/words.js';
import type { Job, JobContext, JobOutcome } from '../jobs/jobs.types.js';
import type { Model } from '../models/models.types.js';
import type { KindDescriptor, KindJob } from './kind.types.js';

/** The answer of a generation call, for REST and GraphQL. URLs of files in `data` are already signed. */
export interface GenerationAnswer {
  job: Job;
  /** Unix seconds. */
  created: number;
  model: string;
  modelTier: string;
  /** Null when asynchronous. Shape depends on the tool (contract 2.4–2.9). */
  data: unknown;
  usage: Record<string, unknown> | null;
}

export interface Estimate {
  model: string;
  modelTier: string;
  /** Hundredths. */
  amounts: Amounts;
}

/**
 * One kind of generation whose work is a job: its descriptor, and its own code. The shared pipeline (generation/pipeline) does the rest in
 * the order of decisions 1: admission, job, waiting, answer.
 */
export interface GenerationKind<Input> extends KindDescriptor {
  name: Tool;
  job: KindJob;
  /** Checks the request (REST names; more of them in the dialect `media`) without effect; fills defaults; unknown fields are 400 `Unknown parameter: <name>`. @throws ApiError */
  parse(body: Record<string, unknown>, model: Model, dialect?: Dialect): Input;
  /** Fetches and stores files given by URL or base64 (after plan checks, before the price). */
  prepare?(
    call: CallContext,
    input: Input,
    job: { jobId: string },
  ): Promise<{ input: Input; fileIds: string[] }>;
  /** Reads from the files the figures that the price depends on (an estimate stores nothing). */
  measure?(call: CallContext, input: Input): Promise<Input>;
  price(input: Input, model: Model): Amounts;
  /** The maximum that it uses of its model, in the units that makers charge for. Units without a bound before its end are absent. */
  units(input: Input): Partial<Record<PricedUnit, number>>;
  /** The contract's inputParams with defaults filled in. */
  inputParams(input: Input, model: Model): Record<string, unknown>;
  /** Runs in a worker. */
  run(context: JobContext, input: Record<string, unknown>, model: Model): Promise<JobOutcome>;
  /** Cancels an upstream order of a job that ended without its result; `engine` as in the job's orders. @throws UpstreamError */
  withdraw?(engine: string, reference: string): Promise<void>;
  /** `data` of the synchronous answer if it differs from the stored one (files still as references). */
  present?(job: Job, data: unknown): Promise<unknown>;
  /** `usage` of the synchronous answer from the settlement: charged in hundredths, remaining in units (-1: unlimited). */
  usage(charged: Amounts, remaining: (bucket: Bucket) => number, job: Job): Record<string, unknown>;
}

/** The dependencies of the kinds; each uses what it needs. */
export interface JobKindOptions {
  providers: ProviderRegistry;
  upstreams: Upstreams;
  files: FileService;
  inputs: InputFetcher;
  audio: Audio;
  imaging: Imaging;
  video: Video;
  /** Texts that the sandbox spoke, for its transcriptions. */
  spoken: SpokenTexts;
  logger: Logger;
}

export interface GenerationService {
  /** @throws ApiError in the order of decisions 1 */
  generate(
    tool: Tool,
    call: CallContext,
    body: Record<string, unknown>,
    options: { async: boolean },
  ): Promise<GenerationAnswer>;
  estimate(tool: Tool, call: CallContext, body: Record<string, unknown>): Promise<Estimate>;
  /** The synchronous answer for a finished job. @throws ApiError the caller's error if the job has no result */
  answerOf(job: Job): Promise<GenerationAnswer>;
}

/** A whole chat completion. */
export interface ChatCompletion {
  /** The convention's object with `model_tier` and the full usage of 2.3, as JSON text. */
  text: string;
}

/** A streamed chat completion: SSE event payloads (JSON text of one chunk each, without `data: `). */
export interface ChatStream {
  /** Ends normally after the last chunk (the face then writes [DONE]); throws ApiError for a failure after the first chunk. */
  chunks: AsyncIterable<string>;
}

export interface ChatService {
  complete(call: CallContext, body: Record<string, unknown>): Promise<ChatCompletion>;
  stream(call: CallContext, body: Record<string, unknown>): Promise<ChatStream>;
  estimate(call: CallContext, body: Record<string, unknown>): Promise<Estimate>;
  /** Ends all running calls, because the process stops: streams are charged for the delivered part, other calls are not charged. */
  stop(): void;
}

/** Embeddings: charged like a chat call; they are not jobs (decisions 6, "Embeddings"). */
export interface EmbeddingService {
  /** The REST answer `{object: "list", data, model, model_tier, usage}`. @throws ApiError in the order of decisions 1 */
  create(call: CallContext, body: Record<string, unknown>): Promise<Record<string, unknown>>;
  estimate(call: CallContext, body: Record<string, unknown>): Promise<Estimate>;
}

/** Rerank (beyond 11.12); it is not a job. */
export interface RerankService {
  /** `{id, model, model_tier, results, usage}`, in the REST spelling. @throws ApiError in the order of decisions 1 */
  create(call: CallContext, body: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** @throws ApiError */
  estimate(call: CallContext, body: Record<string, unknown>): Estimate;
}

/** Moderations (beyond 11.12). */
export interface ModerationService {
  /** @throws ApiError not_found if no provider moderates, invalid_request, server_error */
  create(
    call: CallContext,
    body: Record<string, unknown>,
  ): Promise<{ id: string; model: string; results: unknown[] }>;
}
