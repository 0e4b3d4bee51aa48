import type {
  ImageGenCompletedEvent,
  ImageEditCompletedEvent,
  ImagesResponse,
} from 'openai/resources/images';
import { EDIT_OPERATIONS } from '../../../src/contract/edit-operations.js';
import { invalid } from '../../../src/contract/errors.js';
import { withoutAsync } from '../../contract/generation.js';
import { imageEditRoutes as contractEdits } from '../../contract/image-edits.js';
import { answerWithFiles, imageRoutes as contractImages } from '../../contract/images.js';
import type { DialectCall, JsonSchema, ReadRequest, Route } from '../../shared/route.types.js';
import { BODY_LIMITS } from '../../shared/route.types.js';
import { flagOf, picked, typedEvent, typedFields, wholeNumberOf } from './fields.js';
import type { Body } from './fields.js';
import { describeImages, EDIT_BODY, eventOf, GENERATION_BODY } from './images-schema.js';

/** Fields that mean here what they mean in the engine, the convention's and ours. */
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

/** It is not known what the tokens were used for. */
const DETAILS = { input_tokens_details: { image_tokens: 0, text_tokens: 0 } };
const usageOf = ({ usage }: Answer) => ({ ...usage, ...DETAILS });

interface Wishes {
  format: string;
  background: 'transparent' | 'opaque';
  /** The convention's one form of a picture is wanted alone. */
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

/** Properties that are not known (the quality) have the convention's word for that. */
async function* completedEvents(
  type: Completed['type'],
  answer: Answer,
  { format, background }: Wishes,
): AsyncGenerator<string> {
  for (const { b64_json, width, height } of answer.data)
    yield typedEvent({
      type,
      b64_json,
      background,
      created_at: answer.created,
      output_format: format,
      quality: 'auto',
      size: `${width}x${height}`,
      usage: usageOf(answer),
    } as Completed & { b64_json: string });
}

interface Asked {
  type: Completed['type'];
  wishes: Wishes;
}

/** @throws ApiError invalid_request */
function callOf(body: Body, input: Body, { type, wishes }: Asked): DialectCall {
  const streams = flagOf(body, 'stream');
  wholeNumberOf(body, 'partial_images', { min: 0, max: 3 });
  if (streams) delete input['response_format'];
  return {
    input,
    streams,
    whole: (answer) => written(answer as Answer, wishes),
    told: (answer) => completedEvents(type, answer as Answer, wishes),
  };
}

/** @throws ApiError invalid_request */
function readGeneration(body: Body): DialectCall {
  const { size } = body;
  const input = { ...picked(body, OF_GENERATIONS), ...(size == null || size === 'auto' ? {} : { size }) };
  return callOf(body, input, { type: 'image_generation.completed', wishes: wishesOf(body, 'png') });
}

/** A picture as bytes of a form, or as the contract and the convention's JSON have it. @throws ApiError invalid_request */
function pictureOf(value: unknown, name: string): string {
  if (Buffer.isBuffer(value)) return value.toString('base64');
  if (typeof value === 'string') return value;
  const { image_url: url, file_id: id } = (value ?? {}) as Body;
  if (id != null) throw invalid(`${name}.file_id is not supported`, name);
  if (typeof url === 'string') return url;
  throw invalid(`${name} must be an image`, name);
}

/** The one picture that every model here takes. @throws ApiError invalid_request */
function imageOf(body: Body, { upload }: ReadRequest): string {
  const names = ['image', 'image[]', 'images'].filter((name) => body[name] != null);
  const given = [...(upload ? [upload.bytes] : []), ...names.flatMap((name) => body[name])];
  const [only, ...more] = given as unknown[];
  if (only === undefined) throw invalid('image is required', 'image');
  if (more.length > 0) throw invalid('image must be one image: the model takes no more', 'image');
  return pictureOf(only, 'image');
}

const TAKES_PROMPT = ['inpainting', 'outpainting', 'styleTransfer'];

/** What the operation is told: the convention wants a prompt of every edit. */
function wordsFor(operation: unknown, { prompt, new_background: background }: Body): Body {
  if (operation === 'backgroundReplace') return { new_background: background ?? prompt };
  return TAKES_PROMPT.includes(String(operation)) ? { prompt } : {};
}

/** @throws ApiError invalid_request */
function readEdit(sent: Body, request: ReadRequest): DialectCall {
  const body = typedFields(sent, request, { numbers: NUMBERS, flags: ['stream'], objects: ['model_inputs'] });
  const { mask, n } = body;
  const operation = body['operation'] ?? (mask == null ? 'styleTransfer' : 'inpainting');
  if (n != null && n !== 1) throw invalid('n must be 1: an edit makes one image', 'n');
  const { prompt: _, ...fields } = picked(body, OF_EDITS);
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
  return callOf(body, input, { type: 'image_edit.completed', wishes: { ...wishes, hidesUrl } });
}

const MAX_FORM_BYTES = 42 * 1024 * 1024;
const ITEM_URL = 'data { url width height }';

const generationRows = contractImages.map(({ document }): Route => ({
  method: 'POST',
  path: '/images/generations',
  operationId: 'generateImage',
  tag: 'Images',
  summary: 'Generate images from a text',
  description: 'Without `response_format` each item has `url` and `b64_json`.',
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
  toldSchema: eventOf('image_generation.completed'),
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
  upload: { field: 'image', limit: MAX_FORM_BYTES, accepts: 'image/png, image/jpeg, image/webp' },
  describe: describeImages,
  toldSchema: eventOf('image_edit.completed'),
  schemaName: 'ImageEditsResponse',
}));

export const imageRoutes: readonly Route[] = [...generationRows, ...editRows];
