import { converseStream } from './amazon-events.js';

/** The data for a provider's answers. */
export interface Makings {
  /** The provider's address without a path. */
  origin: string;
  picture: Buffer;
  sound: Buffer;
  film: Buffer;
}

export interface Success {
  type: string;
  /** Objects are sent as JSON. */
  body: object | Buffer | string;
}

interface Asked {
  method: string;
  /** The path without the query. */
  path: string;
  /** The request's body if it is JSON. */
  json: Record<string, unknown>;
}

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const TOKENS = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 };
const stream = (...events: (object | string)[]): string =>
  events
    .map((event) => {
      const type = (event as { type?: unknown }).type;
      const name = typeof type === 'string' ? `event: ${type}\n` : '';
      return `${name}data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`;
    })
    .join('');

type Answer = (asked: Asked, makings: Makings) => object | Buffer | string;

/** An object's answers in the convention: whole, or as chunks. */
const conventionChat: Answer = ({ json }) => {
  const chat = { id: 'c', object: 'chat.completion', created: 1, model: 'own' };
  if (json['stream'] !== true)
    return {
      ...chat,
      choices: [{ index: 0, message: { role: 'assistant', content: 'Yes' }, finish_reason: 'stop' }],
      usage: USAGE,
    };
  const chunk = { ...chat, object: 'chat.completion.chunk' };
  return stream(
    { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', content: 'Yes' } }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: USAGE },
    '[DONE]',
  );
};

const anthropicChat: Answer = ({ json }) => {
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'own', stop_sequence: null };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const text = { type: 'text', text: 'Yes' };
  if (json['stream'] !== true) return { ...message, content: [text], stop_reason: 'end_turn', usage };
  return stream(
    { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Yes' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  );
};

const cohereChat: Answer = ({ json }) => {
  const counted = { input_tokens: 1, output_tokens: 1 };
  const usage = { tokens: counted, billed_units: counted };
  if (json['stream'] !== true) {
    const message = { role: 'assistant', content: [{ type: 'text', text: 'Yes' }] };
    return { generation_id: 'g', message, finish_reason: 'COMPLETE', usage };
  }
  return stream(
    { type: 'message-start', id: 'g' },
    { type: 'content-start', index: 0, delta: { message: { content: { type: 'text', text: '' } } } },
    { type: 'content-delta', index: 0, delta: { message: { content: { text: 'Yes' } } } },
    { type: 'content-end', index: 0 },
    { type: 'message-end', delta: { finish_reason: 'COMPLETE', usage } },
  );
};

/** Texts, pictures and sounds have the same endpoint. */
const googleContent: Answer = ({ path, json }, { picture, sound }) => {
  const wanted = JSON.stringify(json['generationConfig'] ?? {});
  const data = (mimeType: string, bytes: Buffer) => ({
    inlineData: { mimeType, data: bytes.toString('base64') },
  });
  const part = wanted.includes('AUDIO')
    ? data('audio/L16;codec=pcm;rate=24000', sound.subarray(44))
    : wanted.includes('IMAGE')
      ? data('image/png', picture)
      : { text: 'Yes' };
  const content = { role: 'model', parts: [part] };
  const answer = { candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata: TOKENS };
  return path.includes('stream') ? stream(answer) : answer;
};

const fileAt = ({ origin }: Makings, name: string): string => `${origin}/files/${name}`;
const predicted: Answer = ({ path }, makings) => {
  const name = /video|film/.test(path) ? 'film' : /music|song/.test(path) ? 'sound' : 'picture';
  const urls = { get: `${makings.origin}/replicate/v1/predictions/p-${name}` };
  return { id: `p-${name}`, status: 'succeeded', output: [fileAt(makings, name)], urls };
};
const queued: Answer = ({ path }, makings) => ({
  request_id: 'r',
  response_url: `${makings.origin}${path}/requests/r`,
});
const falResult: Answer = ({ path }, makings) => {
  if (path.includes('ears')) return { text: 'Yes', chunks: [{ text: 'Yes', timestamp: [0, 1] }] };
  const [picture, film, song] = ['picture', 'film', 'sound'].map((name) => ({ url: fileAt(makings, name) }));
  return path.includes('film')
    ? { video: film }
    : path.includes('song')
      ? { audio: song }
      : { images: [picture] };
};
const lumaState: Answer = ({ path }, makings) => ({
  id: path.endsWith('i') ? 'i' : 'v',
  state: 'completed',
  assets: { image: fileAt(makings, 'picture'), video: fileAt(makings, 'film') },
});
const heard = { word: 'Yes', text: 'Yes', type: 'word', start: 0, end: 0.5 };
const veo: Answer = (_, makings) => ({
  done: true,
  response: { generateVideoResponse: { generatedSamples: [{ video: { uri: fileAt(makings, 'film') } }] } },
});

/** In order: the first matching entry answers. */
const ANSWERS: [pattern: RegExp, answer: Answer][] = [
  [/^GET \/files\/picture/, (_, { picture }) => picture],
  [/^GET \/files\/film/, (_, { film }) => film],
  [/^GET .*\/files\/sound/, (_, { sound }) => sound],
  [/^POST \/anthropic\//, anthropicChat],
  [/^POST \/cohere\/.*\/chat$/, cohereChat],
  [
    /^POST \/cohere\/.*\/embed$/,
    () => ({
      id: 'e',
      texts: ['Hi'],
      embeddings: { float: [[1, 2]] },
      meta: { billed_units: { input_tokens: 1 } },
    }),
  ],
  [/:batchEmbedContents$/, () => ({ embeddings: [{ values: [1, 2] }] })],
  [/:embedContent$/, () => ({ embedding: { values: [1, 2] } })],
  [/:predictLongRunning$/, () => ({ name: 'operations/o' })],
  [/\/operations\/o(:cancel)?$/, veo],
  [/enerateContent$/, googleContent],
  [/\/converse-stream$/, () => converseStream('Yes')],
  [
    /\/converse$/,
    () => ({
      output: { message: { role: 'assistant', content: [{ text: 'Yes' }] } },
      stopReason: 'end_turn',
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    }),
  ],
  [
    /^POST \/amazon-bedrock\/.*\/invoke$/,
    (_, { picture }) => ({ images: [picture.toString('base64')], embedding: [1, 2], inputTextTokenCount: 1 }),
  ],
  [/^(POST|GET) \/replicate\/.*\/predictions/, predicted],
  [/^POST \/fal\/v1\/.*picture$/, falResult],
  [/^POST .*\/vendor\/voice$/, () => ({ audio: { url: 'https://fal.run/files/sound' } })],
  [/^GET .*\/requests\/r\/status$/, () => ({ status: 'COMPLETED' })],
  [/^GET .*\/requests\/r$/, falResult],
  [/^POST .*(\/fal\/v1\/vendor\/|\/fal-ai\/)/, queued],
  [/\/dream-machine\/v1\/generations\/image$/, () => ({ id: 'i', state: 'queued' })],
  [/^POST .*\/dream-machine\/v1\/generations$/, () => ({ id: 'v', state: 'queued' })],
  [/\/dream-machine\/v1\/generations\/[iv]$/, lumaState],
  [/\/(text-to-speech\/[^/]+|v1\/music\/stream|v1\/speak)$/, (_, { sound }) => sound],
  [
    /\/speech-to-text$/,
    () => ({ language_code: 'en', language_probability: 1, text: 'Yes', words: [heard] }),
  ],
  [
    /\/v1\/listen$/,
    () => ({
      metadata: { duration: 1 },
      results: {
        channels: [{ detected_language: 'en', alternatives: [{ transcript: 'Yes', words: [heard] }] }],
      },
    }),
  ],
  [/\/v2\/upload$/, (_, makings) => ({ upload_url: fileAt(makings, 'sound') })],
  [/\/v2\/transcript$/, () => ({ id: 't', status: 'queued' })],
  [
    /\/v2\/transcript\/t$/,
    () => ({
      id: 't',
      status: 'completed',
      text: 'Yes',
      language_code: 'en',
      words: [heard],
      audio_duration: 1,
    }),
  ],
  [/\/workflows\/|\/image_generation\//, (_, { picture }) => picture],
  [/\/chat\/completions$/, conventionChat],
  [/\/rerank$/, () => ({ id: 'r', results: [{ index: 0, relevance_score: 0.5 }], meta: {} })],
  [
    /\/embeddings$/,
    () => ({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: [1, 2] }], usage: USAGE }),
  ],
  [
    /\/images\/(generations|edits)$/,
    (_, { picture }) => ({ created: 1, data: [{ b64_json: picture.toString('base64') }] }),
  ],
  [/^POST \/xai\/.*\/videos\/generations$/, () => ({ request_id: 'v' })],
  [
    /^GET \/xai\/.*\/videos\/v$/,
    (_, makings) => ({ status: 'done', video: { url: fileAt(makings, 'film') } }),
  ],
  [/^POST .*\/videos$/, () => ({ id: 'v', status: 'queued' })],
  [/\/videos\/v\/content$/, (_, { film }) => film],
  [/^GET .*\/videos\/v$/, () => ({ id: 'v', status: 'completed' })],
  [/\/audio\/speech$/, (_, { sound }) => sound],
  [
    /\/audio\/transcriptions$/,
    () => ({ text: 'Yes', language: 'english', segments: [{ start: 0, end: 1, text: 'Yes' }] }),
  ],
];

const typeOf = (body: object | Buffer | string): string =>
  typeof body === 'string'
    ? 'text/event-stream'
    : Buffer.isBuffer(body)
      ? 'application/octet-stream'
      : 'application/json';

/** A provider's answer to a successful request, in the form that its API documents; null if none is known. */
export function successOf(asked: Asked, makings: Makings): Success | null {
  const line = `${asked.method} ${decodeURIComponent(asked.path)}`;
  const [, answer] = ANSWERS.find(([pattern]) => pattern.test(line)) ?? [];
  if (answer === undefined) return null;
  const body = answer(asked, makings);
  return { type: typeOf(body), body };
}
