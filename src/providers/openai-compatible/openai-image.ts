import type { ImageModelV4Result } from '@ai-sdk/provider';
import type { Egress } from '../../egress/index.js';
import type { TokenClasses } from '../../pricing/pricing.types.js';
import { findTokenClasses } from '../convention/usage.js';
import type { ImageCapabilities, ImageModel } from '../image.types.js';
import { withRetries } from '../predictions/operation.js';
import { readPictureEvents } from './picture-events.js';
import type { PictureEvents } from './picture-events.js';
import { keyWithout } from './optional-fields.js';
import type { RefusedFields } from './optional-fields.js';
import type { Transport } from './transport.js';
import { abortedError, brokenAnswer, errorOfConnection, unreadableFile } from './upstream-errors.js';

/** The convention's limit; an upstream that makes fewer is asked again for the rest. */
const MAX_PER_CALL = 10;
const MAX_IMAGE_BYTES = 64 * 1024 * 1024;
const DOWNLOAD_TIMEOUT_MS = 60_000;
/** Before a download that failed for the moment is tried again. */
const DOWNLOAD_PAUSE_MS = 500;
/** These models always answer base64 and refuse the field. */
const ALWAYS_BASE64 = /(^|\/)(chatgpt-image|gpt-image)/;
/** Gateways return a data URL in place of an address, or this prefix before the base64. The declared type is ignored; the bytes decide. */
const DATA_URL = /^data:[^,]{0,200};base64,/i;

interface Item {
  b64_json?: unknown;
  url?: unknown;
  revised_prompt?: unknown;
}

export interface OpenAiImageOptions {
  transport: Transport;
  providerId: string;
  modelId: string;
  /** For images that the upstream answers as URLs of another host; without it those are a fault. */
  egress?: Egress | undefined;
  /** The fields that the upstream's models refuse. */
  refused: RefusedFields;
}

const PATH = '/images/generations';
/** Pictures are read as base64 or from their address, and brought to their size here. */
const OPTIONAL = { response_format: ['b64_json'], size: [], quality: [], stream: [], partial_images: [] };

/** Models of the convention's maker; of any other the upstream itself says what it cannot do. */
function capabilitiesOf(modelId: string): ImageCapabilities {
  const own = ALWAYS_BASE64.test(modelId) || /(^|\/)dall-e-/.test(modelId);
  return {
    style: !own || modelId.endsWith('dall-e-3'),
    negativePrompt: !own,
    seed: !own,
    transparent: ALWAYS_BASE64.test(modelId),
  };
}

/** Images of an upstream that speaks the common convention, as bytes. `providerOptions.penstock` is added to the body. */
export function createOpenAiCompatibleImage(options: OpenAiImageOptions): ImageModel {
  const { transport, providerId, modelId, refused } = options;
  return {
    specificationVersion: 'v4',
    provider: providerId,
    modelId,
    maxImagesPerCall: MAX_PER_CALL,
    capabilities: capabilitiesOf(modelId),
    async doGenerate({ prompt, n, size, seed, providerOptions, abortSignal, orders, partials }) {
      const streamed = n === 1 && ALWAYS_BASE64.test(modelId) ? partials : undefined;
      let events: PictureEvents | null = null;
      const fields = {
        ...providerOptions['penstock'],
        model: modelId,
        prompt,
        n,
        ...(size === undefined ? {} : { size }),
        ...(seed === undefined ? {} : { seed }),
        ...(ALWAYS_BASE64.test(modelId) ? {} : { response_format: 'b64_json' }),
        ...(streamed === undefined ? {} : { stream: true, partial_images: streamed.count }),
      };
      const optional = () => (n === 1 ? { ...OPTIONAL, n: [] } : OPTIONAL);
      const bytes = await refused.send({ path: PATH, modelId, optional }, (without) => {
        const sent = Object.entries(fields).filter(([name]) => !without.has(name));
        const idempotencyKey = keyWithout(orders?.key, without);
        events = streamed && !without.has('stream') ? readPictureEvents(streamed.onPartial) : null;
        return transport.postForBytes(PATH, JSON.stringify(Object.fromEntries(sent)), {
          signal: abortSignal,
          idempotencyKey,
          onBytes: events?.push,
        });
      });
      const answer = (events as PictureEvents | null)?.end() ?? (await transport.readAnswer(bytes));
      const items = itemsOf(answer);
      const reported = findTokenClasses(answer);
      return {
        images: await Promise.all(items.map((item) => bytesOf(item, options, abortSignal))),
        warnings: [],
        providerMetadata: { [providerId]: { images: items.map(revisedPromptOf) } },
        response: { timestamp: new Date(), modelId, headers: undefined },
        ...(reported === null ? {} : { usage: imageUsageOf(reported) }),
      };
    },
  };
}

const imageUsageOf = ({ input, output }: TokenClasses): NonNullable<ImageModelV4Result['usage']> => ({
  inputTokens: input,
  outputTokens: output,
  totalTokens: input + output,
});

/** The pictures of an answer as bytes, at least one, with the reported tokens. @throws UpstreamError */
export async function readImages(
  parsed: unknown,
  options: OpenAiImageOptions,
  signal: AbortSignal | undefined,
): Promise<{ images: Uint8Array[]; tokens: TokenClasses | null }> {
  const items = itemsOf(parsed);
  return {
    images: await Promise.all(items.map((item) => bytesOf(item, options, signal))),
    tokens: findTokenClasses(parsed),
  };
}

function revisedPromptOf({ revised_prompt: revised }: Item): { revisedPrompt?: string } {
  return typeof revised === 'string' ? { revisedPrompt: revised } : {};
}

function itemsOf(parsed: unknown): Item[] {
  const said = (parsed as { data?: unknown } | null)?.data;
  const data: unknown[] = Array.isArray(said) ? said : [];
  if (data.length === 0) throw brokenAnswer('no images');
  return data.map((item) => (typeof item === 'object' && item !== null ? item : {}));
}

async function bytesOf(
  { b64_json: base64, url }: Item,
  options: OpenAiImageOptions,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (typeof base64 === 'string') return Buffer.from(base64.replace(DATA_URL, ''), 'base64');
  if (typeof url === 'string' && DATA_URL.test(url)) return Buffer.from(url.replace(DATA_URL, ''), 'base64');
  if (typeof url !== 'string' || !URL.canParse(url)) throw brokenAnswer('no images');
  // It is made, and paid, by now.
  return await withRetries(() => download(new URL(url), options, signal), {
    pollMs: DOWNLOAD_PAUSE_MS,
    signal,
  });
}

/** The upstream's own host is the operator's configuration; any other is reached as a caller's address would be. */
async function download(
  url: URL,
  { transport, egress }: OpenAiImageOptions,
  signal: AbortSignal | undefined,
): Promise<Uint8Array> {
  if (url.origin === transport.origin)
    return await transport.getBytes(`${url.pathname}${url.search}`, { maxBytes: MAX_IMAGE_BYTES, signal });
  if (egress === undefined) throw brokenAnswer('an image on another host');
  let answer;
  try {
    answer = await egress.request(url.href, {
      maxBytes: MAX_IMAGE_BYTES,
      maxRedirects: 3,
      totalTimeoutMs: DOWNLOAD_TIMEOUT_MS,
      ...(signal === undefined ? {} : { signal }),
    });
  } catch (error) {
    if (signal?.aborted === true) throw abortedError();
    throw errorOfConnection(error instanceof Error ? error : new Error(String(error)), true);
  }
  if (answer.status === 200) return answer.body;
  throw unreadableFile(answer.status);
}
