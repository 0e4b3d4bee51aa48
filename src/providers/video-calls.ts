import type {
  Experimental_VideoModelV4File as VideoModelV4File,
  Experimental_VideoModelV4Result as VideoModelV4Result,
} from '@ai-sdk/provider';
import type { VideoCallOptions } from './video.types.js';

/** The resolution of contract 4.4 that pixels stand for: it is their shorter side. */
export function resolutionOf({ resolution }: Pick<VideoCallOptions, 'resolution'>): string | undefined {
  if (resolution === undefined) return undefined;
  const lines = Math.min(...resolution.split('x').map(Number));
  return lines >= 2160 ? '4k' : `${lines}p`;
}

/** A source as bytes: callers' files were fetched before. */
export function sourceOf(
  file: VideoModelV4File | undefined,
): { bytes: Uint8Array; mediaType: string } | null {
  if (file === undefined || file.type === 'url') return null;
  const bytes = typeof file.data === 'string' ? Buffer.from(file.data, 'base64') : file.data;
  return { bytes, mediaType: file.mediaType };
}

/** The specification's result of one video. */
export function madeVideo(data: Uint8Array, modelId: string): VideoModelV4Result {
  return {
    videos: [{ type: 'binary', data, mediaType: 'video/mp4' }],
    warnings: [],
    response: { timestamp: new Date(), modelId, headers: undefined },
  };
}
