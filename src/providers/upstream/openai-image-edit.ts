import type { ImageEditor } from '../providers.types.js';
import { multipartOf } from './multipart.js';
import { readImages } from './openai-image.js';
import type { OpenAiImageOptions } from './openai-image.js';

/** These know sizes by shape and transparency, and always answer base64. */
const SHAPED = /(^|\/)(chatgpt-image|gpt-image)/;
/** Wider or higher than this is landscape or portrait. */
const LEANING = 1.2;

function sizeOf(width: number, height: number): string {
  if (width / height > LEANING) return '1536x1024';
  return height / width > LEANING ? '1024x1536' : '1024x1024';
}

/** Image edits of an upstream that speaks the common convention (`POST /images/edits`): one picture, a mask with a hole, words. */
export function createOpenAiCompatibleImageEditor(options: OpenAiImageOptions): ImageEditor {
  const { transport, modelId } = options;
  return async ({ prompt, image, mask, width, height, transparent, signal }) => {
    const fields: [string, string][] = [
      ['model', modelId],
      ['prompt', prompt],
      ['n', '1'],
    ];
    if (SHAPED.test(modelId)) {
      fields.push(['size', sizeOf(width, height)]);
      if (transparent) fields.push(['background', 'transparent'], ['output_format', 'png']);
    } else fields.push(['response_format', 'b64_json']);
    const png = { contentType: 'image/png' };
    const form = multipartOf(fields, [
      { name: 'image', filename: 'image.png', ...png, bytes: image },
      ...(mask === undefined ? [] : [{ name: 'mask', filename: 'mask.png', ...png, bytes: mask }]),
    ]);
    const text = await transport.postForBytes('/images/edits', form, signal);
    const [edited] = await readImages(text.toString('utf8'), options, signal);
    return edited as Uint8Array;
  };
}
