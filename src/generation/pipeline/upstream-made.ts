import { UnreadableAudioError } from '../../audio/index.js';
import { UnreadableImageError } from '../../imaging/index.js';
import { UpstreamError } from '../../providers/index.js';

/** Reads what an upstream made, which is no fault of the caller's. @throws UpstreamError where it cannot be read: then the fallbacks are asked */
export async function asUpstreamMade<T>(what: 'image' | 'audio', read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UnreadableImageError || error instanceof UnreadableAudioError)) throw error;
    throw new UpstreamError(`Upstream made no readable ${what}`, {
      status: null,
      retryable: false,
      cause: error,
    });
  }
}
