import type { ImageEditCall, ImageEditor } from '../image-edit.types.js';
import { inputOf } from '../predictions/model-fields.js';
import type { ModelFields } from '../predictions/model-fields.js';
import { multipartOf } from './multipart.js';
import { readImages } from './openai-image.js';
import { keyWithout } from './optional-fields.js';
import { readPictureEvents } from './picture-events.js';
import type { PictureEvents } from './picture-events.js';
import type { OpenAiImageOptions } from './openai-image.js';

const PATH = '/images/edits';
/** Pictures are read as base64 or from their address, and brought to their size here. */
const OPTIONAL = {
  response_format: ['b64_json'],
  n: [],
  size: [],
  output_format: [],
  quality: [],
  stream: [],
  partial_images: [],
};

/** These know sizes by shape and transparency, and always answer base64. */
const SHAPED = /(^|\/)(chatgpt-image|gpt-image)/;
/** Wider or higher than this is landscape or portrait. */
const LEANING = 1.2;

function sizeOf(width: number, height: number): string {
  if (width / height > LEANING) return '1536x1024';
  return height / width > LEANING ? '1024x1536' : '1024x1024';
}

/** Names of edits that are not the convention's, where an upstream's entry has a field for them. */
function extrasOf(inputs: ModelFields['inputs'], call: ImageEditCall): [string, string][] {
  const known = inputOf({ inputs }, { ...call.modelInputs, strength: call.strength });
  return Object.entries(known).map(([name, value]) => [name, String(value)]);
}

/**
 * Image edits of an upstream that speaks the common convention (`POST /images/edits`): one picture, a mask with a hole, words. It has no
 * word for `strength` and `seed`; `inputs` names the fields of an upstream that takes them.
 */
export function createOpenAiCompatibleImageEditor(
  options: OpenAiImageOptions,
  inputs: ModelFields['inputs'],
): ImageEditor {
  const { transport, modelId, refused } = options;
  return {
    capabilities: {
      operations: null,
      strength: inputs['strength'] !== undefined,
      modelInputs: Object.keys(inputs).filter((name) => name !== 'strength'),
      mask: 'hole',
    },
    async edit(call) {
      const { prompt, image, mask, width, height, transparent, quality, signal, orders, partials } = call;
      let events: PictureEvents | null = null;
      const fields: [string, string][] = [
        ['model', modelId],
        ['prompt', prompt],
        ['n', '1'],
        ...extrasOf(inputs, call),
      ];
      if (SHAPED.test(modelId)) {
        fields.push(['size', sizeOf(width, height)]);
        if (quality !== undefined) fields.push(['quality', quality]);
        if (partials) fields.push(['stream', 'true'], ['partial_images', String(partials.count)]);
        if (transparent) fields.push(['background', 'transparent'], ['output_format', 'png']);
      } else fields.push(['response_format', 'b64_json']);
      const png = { contentType: 'image/png' };
      const files = [
        { name: 'image', filename: 'image.png', ...png, bytes: image },
        ...(mask === undefined ? [] : [{ name: 'mask', filename: 'mask.png', ...png, bytes: mask }]),
      ];
      const answer = await refused.send({ path: PATH, modelId, optional: () => OPTIONAL }, (without) => {
        const sent = fields.filter(([name]) => !without.has(name));
        const streams = sent.some(([name]) => name === 'stream');
        events = partials && streams ? readPictureEvents(partials.onPartial) : null;
        return transport.postForBytes(PATH, multipartOf(sent, files), {
          signal,
          idempotencyKey: keyWithout(orders?.key, without),
          onBytes: events?.push,
        });
      });
      const parsed = (events as PictureEvents | null)?.end() ?? (await transport.readAnswer(answer));
      const { images, tokens } = await readImages(parsed, options, signal);
      if (tokens !== null) call.onTokens?.(tokens);
      const [edited] = images;
      return edited as Uint8Array;
    },
  };
}
