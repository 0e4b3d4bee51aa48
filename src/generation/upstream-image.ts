import { UnreadableImageError } from '../imaging/index.js';
import { UpstreamError } from '../providers/index.js';

/** An upstream's picture is no fault of the caller's. @throws UpstreamError where it cannot be read */
export async function asUpstreamImage<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof UnreadableImageError)) throw error;
    throw new UpstreamError('Upstream made no readable image', {
      status: null,
      retryable: false,
      cause: error,
    });
  }
}
