import { waveOf } from '../support/audio.js';

/** What a call asks for, in no dialect's words. */
export interface Ask {
  model: string;
  text: string;
  /** Output cap in tokens. */
  cap?: number;
  stream?: boolean;
}

type Fields = Record<string, unknown>;

/** What the trust matrix knows of a way to call: one row holds all of its promises. */
export interface Dialect {
  /** `POST` is understood. */
  path: string;
  /** Of which model's type the row is. */
  type: 'chat' | 'embedding' | 'image' | 'image_edit' | 'rerank' | 'tts' | 'stt';
  /** What a call takes units of. */
  bucket: 'credits' | 'image_generations' | 'image_edits' | 'tts_chars' | 'stt_seconds';
  /** How many of them a small call takes. Default: one. */
  units?(ask: Ask): number;
  /** The call's body. */
  body(ask: Ask): Fields;
  /** The field that `text` goes to, for values that it must not take. */
  textField: string;
  /** Fields of numbers, each with values that it must not take. */
  numbers: Record<string, unknown[]>;
  /** No field of it takes a text. */
  isTextless?: true;
  /** How it streams. Absent: it does not. */
  stream?: {
    /** The words that an event brings. */
    delta(event: Fields): string;
    /** True of the data of the event that says that all has come. */
    isEnd(data: string): boolean;
  };
  /** The error's type and message as the row's clients find them; null where the body is in another form. */
  error(body: unknown): { type: string; message: string } | null;
  /** A field that nothing is known of is a fault. */
  refusesUnknown?: true;
  /** Further headers that its clients send. */
  headers?: Record<string, string>;
  /** What the body may refer to of what the same organisation made before: the body for an id. */
  refers?(ask: Ask, id: string): Fields;
}

const at = (value: unknown, ...path: (string | number)[]): unknown =>
  path.reduce<unknown>((inner, name) => (inner as Fields | null | undefined)?.[name], value);

const said = (type: unknown, message: unknown) =>
  typeof type === 'string' && typeof message === 'string' ? { type, message } : null;

const contractError = (body: unknown) => said(at(body, 'code'), at(body, 'error'));

/** All four fields are there, `param` and `code` also where they are null. */
const openaiError = (body: unknown) =>
  Object.keys((at(body, 'error') ?? {}) as Fields).join() === 'message,type,param,code'
    ? said(at(body, 'error', 'type'), at(body, 'error', 'message'))
    : null;

const anthropicError = (body: unknown) =>
  at(body, 'type') === 'error' && typeof at(body, 'request_id') === 'string'
    ? said(at(body, 'error', 'type'), at(body, 'error', 'message'))
    : null;

const chatBody = ({ model, text, cap, stream }: Ask): Fields => ({
  model,
  messages: [{ role: 'user', content: text }],
  ...(cap === undefined ? {} : { max_tokens: cap }),
  ...(stream ? { stream } : {}),
});

const NOT_A_COUNT: unknown[] = [-1, 0, 1.5, '2', [], {}];
const CHAT_NUMBERS = { max_tokens: NOT_A_COUNT, temperature: [2.1, -1, '1', {}], top_p: [2, -1] };

const chatStream: Dialect['stream'] = {
  delta: (event) => String(at(event, 'choices', 0, 'delta', 'content') ?? ''),
  isEnd: (data) => data === '[DONE]',
};

const chat = {
  type: 'chat',
  bucket: 'credits',
  body: chatBody,
  textField: 'messages',
  numbers: CHAT_NUMBERS,
  stream: chatStream,
} as const;

const image = {
  type: 'image',
  bucket: 'image_generations',
  body: ({ model, text }: Ask) => ({ model, prompt: text, size: '512x512', response_format: 'url' }),
  textField: 'prompt',
  numbers: { n: NOT_A_COUNT },
} as const;

const speech = {
  type: 'tts',
  bucket: 'tts_chars',
  units: ({ text }: Ask) => text.length,
  body: ({ model, text }: Ask) => ({ model, input: text, response_format: 'wav' }),
  textField: 'input',
  numbers: { speed: [0, 5, '1', [], {}] as unknown[] },
} as const;

/** A second of sound, another one for each text. */
const second = (text: string): string =>
  waveOf(new Int16Array(16_000).fill(100 + text.length)).toString('base64');

/** The text is in the sound. Its usual form is for files; this one is JSON. */
const ears = {
  type: 'stt',
  bucket: 'stt_seconds',
  body: ({ model, text }: Ask) => ({ model, file: second(text) }),
  textField: 'file',
  numbers: {},
} as const;

/** Of one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

const edit = {
  type: 'image_edit',
  bucket: 'image_edits',
  body: ({ model, text }: Ask) => ({ model, operation: 'styleTransfer', image: PIXEL, prompt: text }),
  textField: 'image',
  numbers: {},
} as const;

/** Every way to call that is charged; a new dialect is a row here. */
export const DIALECTS: readonly Dialect[] = [
  { path: '/api/v1/chat/completions', ...chat, error: contractError },
  { path: '/v1/chat/completions', ...chat, error: openaiError },
  {
    path: '/v1/completions',
    type: 'chat',
    bucket: 'credits',
    body: ({ model, text, cap, stream }) => ({
      model,
      prompt: text,
      ...(cap === undefined ? {} : { max_tokens: cap }),
      ...(stream ? { stream } : {}),
    }),
    textField: 'prompt',
    numbers: CHAT_NUMBERS,
    stream: {
      delta: (event) => String(at(event, 'choices', 0, 'text') ?? ''),
      isEnd: (data) => data === '[DONE]',
    },
    error: openaiError,
  },
  {
    path: '/v1/responses',
    type: 'chat',
    bucket: 'credits',
    body: ({ model, text, cap, stream }) => ({
      model,
      input: text,
      ...(cap === undefined ? {} : { max_output_tokens: cap }),
      ...(stream ? { stream } : {}),
    }),
    textField: 'input',
    numbers: { max_output_tokens: NOT_A_COUNT, temperature: [2.1, -1, '1', {}], top_p: [2, -1] },
    stream: {
      delta: (event) => (event['type'] === 'response.output_text.delta' ? String(event['delta']) : ''),
      isEnd: (data) => data.startsWith('{"type":"response.completed"'),
    },
    error: openaiError,
    refers: ({ model, text }, id) => ({ model, input: text, previous_response_id: id }),
  },
  {
    path: '/v1/messages',
    ...chat,
    body: ({ cap = 100, ...ask }) => chatBody({ cap, ...ask }),
    numbers: { max_tokens: NOT_A_COUNT, temperature: [2.1, -1, '1', {}], top_p: [2, -1] },
    stream: {
      delta: (event) => String(at(event, 'delta', 'text') ?? ''),
      isEnd: (data) => data.startsWith('{"type":"message_stop"'),
    },
    error: anthropicError,
    headers: { 'anthropic-version': '2023-06-01' },
  },
  {
    path: '/api/v1/embeddings',
    type: 'embedding',
    bucket: 'credits',
    body: ({ model, text }) => ({ model, input: text }),
    textField: 'input',
    numbers: { dimensions: NOT_A_COUNT },
    error: contractError,
  },
  {
    path: '/v1/embeddings',
    type: 'embedding',
    bucket: 'credits',
    body: ({ model, text }) => ({ model, input: text }),
    textField: 'input',
    numbers: { dimensions: NOT_A_COUNT },
    error: openaiError,
  },
  { path: '/api/v1/images/generations', ...image, error: contractError, refusesUnknown: true },
  { path: '/v1/images/generations', ...image, error: openaiError },
  {
    path: '/v1/rerank',
    type: 'rerank',
    bucket: 'credits',
    body: ({ model, text }) => ({ model, query: text, documents: ['hello', 'goodbye'] }),
    textField: 'query',
    numbers: { top_n: NOT_A_COUNT },
    error: openaiError,
  },
  { path: '/api/v1/images/edits', ...edit, error: contractError, refusesUnknown: true },
  { path: '/v1/images/edits', ...edit, error: openaiError },
  { path: '/api/v1/audio/speech', ...speech, error: contractError, refusesUnknown: true },
  { path: '/v1/audio/speech', ...speech, error: openaiError },
  {
    path: '/api/v1/audio/transcriptions',
    ...ears,
    isTextless: true,
    error: contractError,
    refusesUnknown: true,
  },
  {
    path: '/v1/audio/transcriptions',
    ...ears,
    body: (ask) => ({ ...ears.body(ask), prompt: ask.text }),
    numbers: { temperature: [2, -1, 'x', {}] },
    error: openaiError,
  },
];
