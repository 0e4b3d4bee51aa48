import { z } from 'zod';
import { ApiError } from '../../contract/errors.js';
import { decodeUpstreamMedia, costBound, makeImages } from '../../generation/index.js';
import { UpstreamError } from '../../providers/index.js';
import { defineTool } from './define-tool.js';
import { CHART, PICTURE } from './request-words.js';
import { storeMade } from './stored-file.js';
import { ToolError } from './tool.types.js';

const SIZES = ['512x512', '1024x1024', '1792x1024', '1024x1792', '1536x1024', '1024x1536'] as const;

/** Contract 4.8: one picture by the default image model; its price is the tool's credits and nothing else (decisions 2). */
export const generateImage = defineTool({
  id: 'generate_image',
  description: 'Make a picture from a description. Answers the address of a PNG.',
  credits: 15,
  timeoutMs: 180_000,
  input: z.object({
    prompt: z.string().trim().min(1).max(4000),
    size: z.enum(SIZES).default('1024x1024'),
  }),
  sandbox: {
    thought: 'A picture is wanted: I make it.',
    fits: ({ text, wanted }) =>
      PICTURE.test(wanted) || (/\b(?:draw|paint)\b/i.test(text) && !CHART.test(text)),
    input: ({ topic }) => ({ prompt: topic }),
    heading: 'Picture',
    made: 'I made the picture:',
  },
  costs(_, { principal: caller }, { models }) {
    const model = models.resolve('image', null);
    return { model: model.id, most: costBound({ models, caller }, model, { units: { image: 1 } }) };
  },
  async run({ prompt, size }, context, { models, upstreams, files, imaging }) {
    const model = models.resolve('image', null);
    const [width = 1024, height = 1024] = size.split('x').map(Number);
    try {
      const made = await makeImages(upstreams, model, {
        prompt,
        n: 1,
        size,
        aspectRatio: undefined,
        seed: undefined,
        files: undefined,
        mask: undefined,
        providerOptions: { penstock: {} },
        abortSignal: context.signal,
        tally: context.tally,
        finish: (bytes) =>
          decodeUpstreamMedia('image', () => imaging.fit(bytes, { width, height }, context.signal)),
      });
      const [image] = made.images;
      if (image === undefined) throw new ToolError('No image was made');
      const file = { bytes: image.bytes, contentType: 'image/png', extension: 'png', width, height };
      const stored = await storeMade(files, context, file);
      return {
        output: { url: stored.reference, content_type: 'image/png', width, height, model: made.model.id },
        text: `The image is at ${stored.url}`,
      };
    } catch (error) {
      if (context.signal.aborted) throw error;
      if (error instanceof UpstreamError) throw new ToolError('The image could not be made', error);
      if (error instanceof ApiError && error.cause instanceof UpstreamError)
        throw new ToolError(error.message, error, 'image model');
      throw error;
    }
  },
});
