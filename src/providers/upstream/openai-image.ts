import type { ImageModelV4 } from '@ai-sdk/provider';
import type { Transport } from './transport.js';
import { brokenAnswer } from './upstream-errors.js';

interface Answer {
  data?: { b64_json?: unknown }[];
}

/** Images of an upstream that speaks the common convention, as bytes. `providerOptions.penstock` is added to the body. */
export function createOpenAiCompatibleImage(options: {
  transport: Transport;
  providerId: string;
  modelId: string;
}): ImageModelV4 {
  const { transport, providerId, modelId } = options;
  return {
    specificationVersion: 'v4',
    provider: providerId,
    modelId,
    maxImagesPerCall: 10,
    async doGenerate({ prompt, n, size, seed, providerOptions, abortSignal }) {
      const body = JSON.stringify({
        ...providerOptions['penstock'],
        model: modelId,
        prompt,
        n,
        ...(size === undefined ? {} : { size }),
        ...(seed === undefined ? {} : { seed }),
        response_format: 'b64_json',
      });
      const text = await transport.postJson('/images/generations', body, abortSignal);
      return {
        images: imagesOf(text),
        warnings: [],
        response: { timestamp: new Date(), modelId, headers: undefined },
      };
    },
  };
}

function imagesOf(text: string): Uint8Array[] {
  let parsed: Answer | null;
  try {
    parsed = JSON.parse(text) as Answer | null;
  } catch {
    throw brokenAnswer('broken JSON');
  }
  const data = Array.isArray(parsed?.data) ? parsed.data : [];
  const images = data.map((item) => item.b64_json).filter((item) => typeof item === 'string');
  if (images.length === 0 || images.length !== data.length) throw brokenAnswer('no images');
  return images.map((image) => Buffer.from(image, 'base64'));
}
