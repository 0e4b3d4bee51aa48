import type {
  EmbeddingModelV4,
  ImageModelV4,
  LanguageModelV4,
  SpeechModelV4,
  TranscriptionModelV4,
} from '@ai-sdk/provider';
import { chatModel } from './ai-sdk-chat.js';
import { headersOf, send } from './ai-sdk-http.js';
import type { Endpoint } from './ai-sdk-http.js';

/**
 * Penstock as a provider for the AI SDK: `generateText({ model: penstock('sandbox/chat-basic'), … })`. A failed call throws the SDK's errors, with
 * the server's message and status. If a call is aborted, the upstream's work is aborted too. Pass options of the server that the SDK does not know in
 * `providerOptions.penstock`.
 */
export interface PenstockProvider {
  /** The same as `languageModel`. */
  (modelId: string): LanguageModelV4;
  /** The version of the SDK's interface for providers. */
  readonly specificationVersion: 'v4';
  /** A model of POST /v1/chat/completions. It answers whole or streamed, with tools and structured output. */
  languageModel(modelId: string): LanguageModelV4;
  /** A model of POST /v1/embeddings. A call takes at most 2,048 values. */
  embeddingModel(modelId: string): EmbeddingModelV4;
  /** A model of POST /v1/images/generations. It returns images as bytes, at most four for each call. */
  imageModel(modelId: string): ImageModelV4;
  /** A model of POST /v1/audio/speech. It returns sound as bytes. */
  speechModel(modelId: string): SpeechModelV4;
  /** A model of POST /v1/audio/transcriptions. It returns the text with its segments. */
  transcriptionModel(modelId: string): TranscriptionModelV4;
}

/** Makes a provider. @param options the server's address and a key; use it on servers only */
export function createPenstockProvider(options: { url: string; key: string }): PenstockProvider {
  const languageModel = (modelId: string) => chatModel(options, modelId);
  return Object.assign((modelId: string) => languageModel(modelId), {
    specificationVersion: 'v4' as const,
    languageModel,
    embeddingModel: (modelId: string) => embeddingModel(options, modelId),
    imageModel: (modelId: string) => imageModel(options, modelId),
    speechModel: (modelId: string) => speechModel(options, modelId),
    transcriptionModel: (modelId: string) => transcriptionModel(options, modelId),
  });
}

const responseOf = (response: Response, modelId: string) => ({
  timestamp: new Date(),
  modelId,
  headers: headersOf(response),
});

function embeddingModel(endpoint: Endpoint, modelId: string): EmbeddingModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'penstock.embedding',
    modelId,
    maxEmbeddingsPerCall: 2048,
    supportsParallelCalls: true,
    async doEmbed({ values, abortSignal, headers, providerOptions }) {
      const body = { model: modelId, input: values, ...providerOptions?.['penstock'] };
      const response = await send(endpoint, '/embeddings', { body, abortSignal, headers });
      const { data, usage } = (await response.json()) as {
        data: { embedding: number[] }[];
        usage?: { prompt_tokens: number };
      };
      return {
        embeddings: data.map(({ embedding }) => embedding),
        ...(usage === undefined ? {} : { usage: { tokens: usage.prompt_tokens } }),
        warnings: [],
        response: { headers: headersOf(response) },
      };
    },
  };
}

function imageModel(endpoint: Endpoint, modelId: string): ImageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'penstock.image',
    modelId,
    maxImagesPerCall: 4,
    async doGenerate({ prompt, n, size, seed, abortSignal, headers, providerOptions }) {
      const body = {
        model: modelId,
        prompt,
        n,
        ...(size === undefined ? {} : { size }),
        ...(seed === undefined ? {} : { seed }),
        response_format: 'b64_json',
        ...providerOptions['penstock'],
      };
      const response = await send(endpoint, '/images/generations', { body, abortSignal, headers });
      const { data } = (await response.json()) as { data: { b64_json: string }[] };
      return {
        images: data.map(({ b64_json: bytes }) => bytes),
        warnings: [],
        response: responseOf(response, modelId),
      };
    },
  };
}

function speechModel(endpoint: Endpoint, modelId: string): SpeechModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'penstock.speech',
    modelId,
    async doGenerate({
      text,
      voice,
      outputFormat,
      speed,
      instructions,
      abortSignal,
      headers,
      providerOptions,
    }) {
      const given = { voice, response_format: outputFormat, speed, instructions };
      const body = {
        model: modelId,
        input: text,
        ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
        ...providerOptions?.['penstock'],
      };
      const response = await send(endpoint, '/audio/speech', { body, abortSignal, headers });
      const audio = new Uint8Array(await response.arrayBuffer());
      return { audio, warnings: [], response: responseOf(response, modelId) };
    },
  };
}

function transcriptionModel(endpoint: Endpoint, modelId: string): TranscriptionModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'penstock.transcription',
    modelId,
    async doGenerate({ audio, mediaType, abortSignal, headers, providerOptions }) {
      const bytes =
        typeof audio === 'string' ? Uint8Array.from(atob(audio), (one) => one.codePointAt(0) ?? 0) : audio;
      const form = new FormData();
      form.set('model', modelId);
      form.set('response_format', 'verbose_json');
      form.set(
        'file',
        new Blob([bytes as Uint8Array<ArrayBuffer>], { type: mediaType }),
        `audio.${mediaType.split('/')[1] ?? 'wav'}`,
      );
      for (const [name, value] of Object.entries(providerOptions?.['penstock'] ?? {}))
        form.set(name, String(value));
      const response = await send(endpoint, '/audio/transcriptions', { body: form, abortSignal, headers });
      const answer = (await response.json()) as {
        text: string;
        language?: string;
        duration?: number;
        segments?: { text: string; start: number; end: number }[];
      };
      return {
        text: answer.text,
        segments: (answer.segments ?? []).map(({ text, start, end }) => ({
          text,
          startSecond: start,
          endSecond: end,
        })),
        language: answer.language,
        durationInSeconds: answer.duration,
        warnings: [],
        response: responseOf(response, modelId),
      };
    },
  };
}
