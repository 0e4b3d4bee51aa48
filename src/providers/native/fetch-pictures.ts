import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Egress } from '../../egress/index.js';
import { UpstreamError } from '../providers.types.js';

/** The same limit as for images of other endpoints (decisions 6, "Generations"). */
const MAX_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
/** The first bytes of the image formats that vision models accept. */
const STARTS: readonly [string, string][] = [
  ['89504e47', 'image/png'],
  ['ffd8ff', 'image/jpeg'],
  ['52494646', 'image/webp'],
  ['47494638', 'image/gif'],
];

export interface PictureOptions {
  /** Absent: the provider must download every URL itself. */
  egress: Egress | undefined;
  signal: AbortSignal;
}

type Known = Awaited<LanguageModelV4['supportedUrls']>;

/** Whether the model's provider downloads images from this URL itself. */
function readsItself(known: Known, url: URL): boolean {
  return Object.entries(known).some(
    ([type, forms]) =>
      (type === '*' || type === '*/*' || type.startsWith('image/')) &&
      forms.some((form) => form.test(url.href)),
  );
}

const unreadable = (): UpstreamError =>
  new UpstreamError('image_url cannot be fetched', { status: null, retryable: false, fault: 'rejected' });

async function fetchPicture(url: URL, { egress, signal }: PictureOptions) {
  const answer = await egress
    ?.request(url.href, { maxBytes: MAX_BYTES, maxRedirects: 3, totalTimeoutMs: TIMEOUT_MS, signal })
    .catch(() => null);
  if (answer?.status !== 200) throw unreadable();
  const head = answer.body.subarray(0, 4).toString('hex');
  const mediaType = STARTS.find(([start]) => head.startsWith(start))?.[1];
  if (mediaType === undefined) throw unreadable();
  const data = { type: 'data', data: answer.body.toString('base64') } as const;
  return { type: 'file', mediaType, data } as const;
}

/**
 * Downloads images whose URLs the model's provider does not read, through the egress guard, and puts them into the prompt.
 * @throws UpstreamError rejected, if there is no image
 */
export async function withPictures(
  prompt: LanguageModelV4Prompt,
  model: LanguageModelV4,
  options: PictureOptions,
): Promise<LanguageModelV4Prompt> {
  if (options.egress === undefined) return prompt;
  const known = await model.supportedUrls;
  return await Promise.all(
    prompt.map(async (message) => {
      if (message.role !== 'user') return message;
      const content = await Promise.all(
        message.content.map(async (part) =>
          part.type === 'file' && part.data.type === 'url' && !readsItself(known, part.data.url)
            ? await fetchPicture(part.data.url, options)
            : part,
        ),
      );
      return { ...message, content };
    }),
  );
}
