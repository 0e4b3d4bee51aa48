import type { LanguageModelV4, LanguageModelV4Prompt } from '@ai-sdk/provider';
import type { Egress } from '../../egress/index.js';
import { UpstreamError } from '../providers.types.js';

/** As pictures of other endpoints (decisions 6, "Generations"). */
const MAX_BYTES = 20 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
/** How pictures begin, in the formats that vision models take. */
const STARTS: readonly [string, string][] = [
  ['89504e47', 'image/png'],
  ['ffd8ff', 'image/jpeg'],
  ['52494646', 'image/webp'],
  ['47494638', 'image/gif'],
];

export interface PictureOptions {
  /** Without it every address is left to the provider. */
  egress: Egress | undefined;
  signal: AbortSignal;
}

type Known = Awaited<LanguageModelV4['supportedUrls']>;

/** Whether the model's provider reads pictures at this address itself. */
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
 * The prompt with pictures in the place of addresses that the model's provider does not read: fetched as callers' addresses are.
 * @throws UpstreamError the caller's fault, where there is no picture
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
