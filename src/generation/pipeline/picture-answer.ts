import { invalid } from '../../contract/errors.js';
import type { Dialect } from '../../contract/words.js';
import type { FileService } from '../../files/files.types.js';
import type { Job } from '../../jobs/jobs.types.js';
import type { Params } from './params.js';

/** Parameters of a caller at /v1 for the form of its pictures (beyond 11.10). */
export const PICTURE_NAMES = [
  'response_format',
  'output_format',
  'output_compression',
  'quality',
  'background',
] as const;

const RESPONSE_FORMATS = ['url', 'b64_json'] as const;
const OUTPUT_FORMATS = ['png', 'jpeg', 'webp'] as const;
const QUALITIES = ['auto', 'low', 'medium', 'high', 'standard', 'hd'] as const;
const BACKGROUNDS = ['auto', 'opaque', 'transparent'] as const;
const BEST = 100;

export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** The checked parameters; also part of the job's inputParams. */
export interface PictureParams {
  /** `both` if the caller did not choose. */
  response_format?: (typeof RESPONSE_FORMATS)[number] | 'both';
  output_format?: OutputFormat;
  /** 0 to 100. PNG is lossless and ignores it. */
  output_compression?: number;
  /** Absent: the model's default. */
  quality?: Exclude<(typeof QUALITIES)[number], 'auto'>;
  background?: 'transparent';
}

/** Returns no parameters outside the dialect of /v1. @throws ApiError invalid_request with the field in `param` */
export function readPictureParams(params: Params, dialect: Dialect | undefined): PictureParams {
  if (dialect !== 'media') return {};
  const responseFormat = params.choice('response_format', [...RESPONSE_FORMATS, ''], '') || 'both';
  const format = params.choice('output_format', [...OUTPUT_FORMATS, ''], '');
  const compression = params.integer('output_compression', { min: 0, max: BEST });
  const quality = params.choice('quality', QUALITIES, 'auto');
  const background = params.choice('background', BACKGROUNDS, 'auto');
  if (background === 'transparent' && format === 'jpeg')
    throw invalid('background transparent needs output_format png or webp', 'background');
  return {
    response_format: responseFormat,
    ...(format === '' ? {} : { output_format: format }),
    ...(compression === undefined ? {} : { output_compression: compression }),
    ...(quality === 'auto' ? {} : { quality }),
    ...(background === 'transparent' ? { background } : {}),
  };
}

/** The encoder for the requested format; null if the picture stays unchanged. */
export function formatOf(
  { output_format: format, output_compression: compression = BEST }: PictureParams,
  usual: OutputFormat,
): { format: OutputFormat; quality: number } | null {
  const isSame = format === undefined || (format === usual && (format === 'png' || compression === BEST));
  return isSame ? null : { format, quality: Math.max(1, compression) };
}

interface Shown extends Record<string, unknown> {
  url: { $file: string };
}

/** Adds the bytes as base64 instead of the URL or beside it, as the job's request chose. */
export async function withBytes(files: FileService, job: Job, data: unknown): Promise<unknown> {
  const { response_format: wanted } = job.inputParams;
  if (wanted !== 'b64_json' && wanted !== 'both') return data;
  const shown: unknown[] = [];
  for (const item of data as Shown[]) {
    const { url, ...facts } = item;
    const [id = ''] = url.$file.split('.');
    const bytes = { b64_json: (await files.read(job.orgId, id)).toString('base64') };
    shown.push(wanted === 'both' ? { url, ...bytes, ...facts } : { ...bytes, ...facts });
  }
  return shown;
}
