import { storageLimitOf } from '../../access/index.js';
import { invalid } from '../../contract/errors.js';
import { fileReference } from '../../files/index.js';
import type { FileService, InputFetcher, StoredFile } from '../../files/files.types.js';
import { MAX_PICTURE_PIXELS, UnreadableImageError } from '../../imaging/index.js';
import type { Imaging } from '../../imaging/index.js';
import type { CallContext } from '../../metering/call-context.js';
import { UnreadableVideoError } from '../../video/index.js';
import type { Video, VideoFacts } from '../../video/index.js';

/** Sources that callers give (decisions 6, "Generations"). */
const MAX_IMAGE_MB = 20;
const MAX_VIDEO_MB = 100;
const IMAGES = ['image/jpeg', 'image/png', 'image/webp'];
const VIDEOS = new Map([
  ['video/mp4', 'mp4'],
  ['video/quicktime', 'mov'],
  ['video/webm', 'webm'],
  ['video/x-matroska', 'mkv'],
]);

export interface SourceOptions {
  inputs: Pick<InputFetcher, 'fetch'>;
  files: Pick<FileService, 'save' | 'read'>;
  imaging: Pick<Imaging, 'inspect'>;
  video: Pick<Video, 'probe'>;
}

export interface StoredSource {
  reference: { $file: string };
  fileId: string;
}

interface Wanted {
  /** A URL, a data: URL or base64. */
  value: string;
  jobId: string;
}

const stored = (file: StoredFile): StoredSource => ({ reference: fileReference(file), fileId: file.id });

/** Downloads a source image and checks its content and header, without decoding. @throws ApiError */
export async function storeSourceImage(
  { inputs, files, imaging }: SourceOptions,
  { principal: { orgId, plan }, signal }: CallContext,
  { value, jobId }: Wanted,
): Promise<StoredSource> {
  const field = 'source_image';
  const { bytes, contentType } = await inputs.fetch({ orgId, value, field, maxMb: MAX_IMAGE_MB, signal });
  if (contentType === null || !IMAGES.includes(contentType))
    throw invalid(`${field} must be a JPEG, PNG or WebP image`, field);
  const size = await imaging
    .inspect(bytes, { maxPixels: MAX_PICTURE_PIXELS, signal })
    .catch((error: unknown) => {
      throw error instanceof UnreadableImageError ? invalid(`${field} cannot be read`, field) : error;
    });
  if (size.width * size.height > MAX_PICTURE_PIXELS)
    throw invalid(`${field} must have at most ${MAX_PICTURE_PIXELS} pixels`, field);
  const limitBytes = storageLimitOf(plan);
  return stored(await files.save({ orgId, bytes, contentType, ...size, jobId, limitBytes }));
}

/**
 * Downloads a source video and checks its container.
 * @param wanted `reader`: the model for which it must be decoded here
 * @throws ApiError
 */
export async function storeSourceVideo(
  { inputs, files, video }: SourceOptions,
  { principal: { orgId, plan }, signal }: CallContext,
  { value, jobId, reader }: Wanted & { reader: string | undefined },
): Promise<StoredSource> {
  const field = 'source_video';
  const { bytes, contentType } = await inputs.fetch({ orgId, value, field, maxMb: MAX_VIDEO_MB, signal });
  if (contentType === null || !contentType.startsWith('video/')) throw noVideo(field);
  const facts = await video.probe(bytes, { signal }).catch((error: unknown): VideoFacts => {
    throw error instanceof UnreadableVideoError ? noVideo(field) : error;
  });
  const extension = VIDEOS.get(facts.contentType);
  if (extension === undefined) throw noVideo(field);
  if (reader !== undefined && !facts.readable) throw invalid(`Model ${reader} cannot read this video`, field);
  const { width, height, durationSeconds } = facts;
  return stored(
    await files.save({
      orgId,
      bytes,
      contentType: facts.contentType,
      extension,
      width,
      height,
      durationSeconds: Math.round(durationSeconds * 1000) / 1000,
      jobId,
      limitBytes: storageLimitOf(plan),
    }),
  );
}

function noVideo(field: string) {
  return invalid(`${field} must be a video: MP4, MOV, WebM or Matroska`, field);
}
