import type {
  ImageGenCompletedEvent,
  ImageGenPartialImageEvent,
  ImageEditCompletedEvent,
  ImageEditPartialImageEvent,
  ImagesResponse,
} from 'openai/resources/images';
import { EDIT_OPERATIONS } from '../../../src/contract/edit-operations.js';
import { invalid } from '../../../src/contract/errors.js';
import { withoutAsync } from '../../contract/generation.js';
import { imageEditRoutes as contractEdits } from '../../contract/image-edits.js';
import { answerWithFiles, imageRoutes as contractImages } from '../../contract/images.js';
import type { DialectCall, JsonSchema, LiveForm, ReadRequest, Route } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';
import { readFlag, pickFields, typedEvent, typedFields, wholeNumberOf } from './fields.js';
import type { Body } from './fields.js';
import { describeImages, EDIT_BODY, eventsOf, GENERATION_BODY } from './images-schema.js';

/** Fields of the convention and of Penstock that the engine reads unchanged. */
const SHARED = [
  'model',
  'prompt',
  'response_format',
  'output_format',
  'output_compression',
  'quality',
  'background',
];
const OF_GENERATIONS = [...SHARED, 'n', 'style', 'negative_prompt', 'seed', 'upscale'];
const OF_EDITS = [...SHARED, 'size', 'strength', 'direction', 'expand_pixels', 'scale', 'model_inputs'];
const NUMBERS = ['n', 'output_compression', 'partial_images', 'strength', 'expand_pixels', 'scale'];

interface Item {
  url?: string | null;
  b64_json: string | null;
  revised_prompt?: string | null;
  width: number;
  height: number;
}

interface Answer {
  job: { id: string };
  created: number;
  data: Item[];
  model: string;
  usage: Record<string, unknown> & { input_tokens: number; output_tokens: number; total_tokens: number };
}

/** The division of the tokens by their use is unknown. */
const DETAILS = { input_tokens_details: { image_tokens: 0, text_tokens: 0 } };
const usageOf = ({ usage }: Answer) => ({ ...usage, ...DETAILS });

interface Wishes {
  format: string;
  background: 'transparent' | 'opaque';
  /** Whether only the convention's form of a picture is requested. */
  hidesUrl?: boolean;
}

function wishesOf(body: Body, usual: string): Wishes {
  const format = (body['output_format'] as string | null) ?? usual;
  return { format, background: body['background'] === 'transparent' ? 'transparent' : 'opaque' };
}

function written(answer: Answer, { format, background, hidesUrl }: Wishes) {
  const [first] = answer.data;
  const size = first === undefined ? {} : { size: `${first.width}x${first.height}` };
  if (hidesUrl) for (const item of answer.data) delete item.url;
  const named = { ...answer, usage: usageOf(answer), output_format: format, background, ...size };
  const shown: Omit<ImagesResponse, 'data' | 'output_format'> & { data: Item[] } = named;
  return answerWithFiles(shown as unknown as Body);
}

type Completed = ImageGenCompletedEvent | ImageEditCompletedEvent;
type Partial = ImageGenPartialImageEvent | ImageEditPartialImageEvent;

/** The prefix of the names of a stream's events. */
type Of = 'image_generation' | 'image_edit';

/** Writes previews when they arrive, and then the complete pictures. Unknown properties (the quality) get the convention's value for them. */
function asEvents({ of, wishes: { format, background }, partials, size }: Streamed): LiveForm<string> {
  let index = 0;
  const facts = { background, output_format: format, quality: 'auto' };
  const partial = (bytes: Buffer): object => ({
    type: `${of}.partial_image`,
    b64_json: bytes.toString('base64'),
    partial_image_index: index++,
    created_at: Math.floor(Date.now() / 1000),
    size,
    ...facts,
  });
  return {
    liveOptions: { partials },
    part: (bytes) => typedEvent(partial(bytes) as Partial),
    async *rest(given) {
      const answer = given as Answer;
      for (const { b64_json, width, height } of answer.data)
        yield typedEvent({
          type: `${of}.completed`,
          b64_json,
          created_at: answer.created,
          size: `${width}x${height}`,
          ...facts,
          usage: usageOf(answer),
        } as Completed & { b64_json: string });
    },
  };
}

interface Asked {
  of: Of;
  wishes: Wishes;
}

interface Streamed extends Asked {
  partials: number;
  /** The requested size. */
  size: string;
}

/** @throws ApiError invalid_request */
function callOf(body: Body, input: Body, requested: Asked): DialectCall {
  const { wishes } = requested;
  const streams = readFlag(body, 'stream');
  const partials = wholeNumberOf(body, 'partial_images', { min: 0, max: 3 }) ?? 0;
  const size = String(body['size'] ?? 'auto');
  if (streams) delete input['response_format'];
  return {
    input,
    streams,
    whole: (answer) => written(answer as Answer, wishes),
    answerEvents: () => asEvents({ ...requested, partials, size }),
  };
}

/** @throws ApiError invalid_request */
function readGeneration(body: Body): DialectCall {
  const { size } = body;
  const input = { ...pickFields(body, OF_GENERATIONS), ...(size == null || size === 'auto' ? {} : { size }) };
  return callOf(body, input, { of: 'image_generation', wishes: wishesOf(body, 'png') });
}

/** Reads a picture: bytes of a form, or the JSON form of the contract or of the convention. @throws ApiError invalid_request */
function pictureOf(value: unknown, name: string): string {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (typeof value === 'string') return value;
  const { image_url: url, file_id: id } = (value ?? {}) as Body;
  if (id != null) throw invalid(`${name}.file_id is not supported`, name);
  if (typeof url === 'string') return url;
  throw invalid(`${name} must be an image`, name);
}

/** Reads the picture of an edit: every model accepts exactly one. @throws ApiError invalid_request */
function imageOf(body: Body, { upload }: ReadRequest): string {
  const names = ['image', 'image[]', 'images'].filter((name) => body[name] != null);
  const given = [...(upload ? [upload.bytes] : []), ...names.flatMap((name) => body[name])];
  const [only, ...more] = given as unknown[];
  if (only === undefined) throw invalid('image is required', 'image');
  if (more.length > 0) throw invalid('image must be one image: the model takes no more', 'image');
  return pictureOf(only, 'image');
}

const TAKES_PROMPT = ['inpainting', 'outpainting', 'styleTransfer'];

/** The prompt in the field that the operation reads, since the convention requires a prompt for every edit. */
function wordsFor(operation: unknown, { prompt, new_background: background }: Body): Body {
  if (operation === 'backgroundReplace') return { new_background: background ?? prompt };
  return TAKES_PROMPT.includes(String(operation)) ? { prompt } : {};
}

const MAX_WORDS = 32_000;

/** Checks the texts also where the operation does not read them. @throws ApiError invalid_request */
function checkWords(body: Body): void {
  for (const name of ['prompt', 'new_background']) {
    const value = body[name] ?? '';
    if (typeof value !== 'string' || value.length > MAX_WORDS)
      throw invalid(`${name} must be a string of at most ${MAX_WORDS} characters`, name);
  }
}

/** @throws ApiError invalid_request */
function readEdit(sent: Body, request: ReadRequest): DialectCall {
  const body = typedFields(sent, request, { numbers: NUMBERS, flags: ['stream'], objects: ['model_inputs'] });
  checkWords(body);
  const { mask, n } = body;
  const operation = body['operation'] ?? (mask == null ? 'styleTransfer' : 'inpainting');
  if (n != null && n !== 1) throw invalid('n must be 1: an edit makes one image', 'n');
  const { prompt: _, ...fields } = pickFields(body, OF_EDITS);
  const input: Body = {
    ...fields,
    ...wordsFor(operation, body),
    image: imageOf(body, request),
    ...(mask == null ? {} : { mask: pictureOf(mask, 'mask') }),
    operation,
  };
  const wishes = wishesOf(body, operation === 'backgroundRemoval' ? 'png' : 'jpeg');
  // An edit of the engine always has its URL.
  const hidesUrl = body['response_format'] === 'b64_json';
  if (hidesUrl) delete input['response_format'];
  return callOf(body, input, { of: 'image_edit', wishes: { ...wishes, hidesUrl } });
}

const MAX_FORM_BYTES = 42 * 1024 * 1024;
const ITEM_URL = 'data { url width height }';

const generationRows = contractImages.map(({ document }): Route => ({
  method: 'POST',
  path: '/images/generations',
  operationId: 'generateImage',
  tag: 'Images',
  summary: 'Generate images from a text',
  description:
    'Without `response_format` each item has `url` and `b64_json`. With `stream` up to `partial_images` previews come before each complete picture.',
  document: withoutAsync(document),
  dialect: 'media',
  read: readGeneration,
  body: {
    limitBytes: BODY_LIMITS.large,
    open: true,
    schema: GENERATION_BODY,
    example: { prompt: 'A red fox in the snow', size: 'auto', output_format: 'webp' },
  },
  describe: describeImages,
  answerEventSchema: eventsOf('image_generation'),
  schemaName: 'ImagesResponse',
}));

const editRows = contractEdits.map(({ document, body: { example = {} } = { example: {} } }): Route => ({
  method: 'POST',
  path: '/images/edits',
  operationId: 'editImage',
  tag: 'Images',
  summary: 'Edit an image',
  description: `The transparent pixels of \`mask\` are the area to edit. \`operation\` is one of ${EDIT_OPERATIONS.join(', ')}; default: inpainting with a mask, styleTransfer without.`,
  document: withoutAsync(document).replace(ITEM_URL, 'data { url b64_json: b64Json width height }'),
  dialect: 'media',
  read: readEdit,
  body: {
    limitBytes: BODY_LIMITS.edits,
    open: true,
    schema: EDIT_BODY,
    example: { image: (example as JsonSchema)['image'], prompt: 'A pencil sketch' },
  },
  upload: {
    field: 'image',
    replaces: ['images'],
    limit: MAX_FORM_BYTES,
    accepts: 'image/png, image/jpeg, image/webp',
  },
  describe: describeImages,
  answerEventSchema: eventsOf('image_edit'),
  schemaName: 'ImageEditsResponse',
}));

export const imageRoutes: readonly Route[] = [...generationRows, ...editRows];
