import { setTimeout as sleep } from 'node:timers/promises';
import { EgressError } from '../egress/index.js';
import type { Egress } from '../egress/index.js';
import { ApiError, fileTooLarge, invalid } from '../contract/errors.js';
import { decodedBase64 } from './base64.js';
import { detectContentType } from './content-types.js';
import { dataUrlBytes, isDataUrl } from './data-url.js';
import type { FetchedInput, FileService, InputFetcher } from './files.types.js';
import { UPLOADED_PREFIX } from './uploads/uploaded.js';

const MB = 1_048_576;
const MAX_REDIRECTS = 3;
const TOTAL_TIMEOUT_MS = 30_000;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** The deadline for reading the inputs of one call: 30 s from now, by `performance.now()` (decisions 1). */
export const inputDeadline = (): number => performance.now() + TOTAL_TIMEOUT_MS;

/**
 * Runs the reading of a call's inputs with a limit of 30 s (decisions 1), whatever it waits for.
 * @throws ApiError unavailable where they could not be read in that time
 */
export async function withinInputTime<T>(
  signal: AbortSignal,
  read: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = AbortSignal.timeout(TOTAL_TIMEOUT_MS);
  try {
    return await read(AbortSignal.any([signal, over]));
  } catch (error) {
    if (!over.aborted || signal.aborted || error instanceof ApiError) throw error;
    throw new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1, cause: error });
  }
}

/** The time that is left to read an input. @throws ApiError invalid_request if none is left */
function timeFor(request: FetchRequest): number {
  if (request.deadline === undefined) return TOTAL_TIMEOUT_MS;
  const left = request.deadline - performance.now();
  if (left <= 0) throw unreachable(request);
  return left;
}

type FetchRequest = Parameters<InputFetcher['fetch']>[0];

/** Reads what callers give as http(s) URL, `data:` URL or bare base64, each within its limit while it is read. */
export function createInputFetcher({ egress, files }: { egress: Egress; files: FileService }): InputFetcher {
  const checkForm: InputFetcher['checkForm'] = (value, field) => {
    if (isDataUrl(value) || !SCHEME.test(value)) return;
    if (value.startsWith(`${UPLOADED_PREFIX}file_`))
      throw invalid('Unknown file: its id is none of a file that was uploaded whole', field);
    egress.checkUrl(value, { field });
  };
  const fetchUrl = async (request: FetchRequest): Promise<Buffer> => {
    const own = await files.resolveOwn(request.orgId, request.value);
    if (own !== null) {
      if (own.sizeBytes > request.maxMb * MB) throw tooLarge(request);
      const bytes = await inTime(files.read(own.orgId, own.id), timeFor(request)).catch((error: unknown) => {
        throw error instanceof ApiError && error.code === 'not_found' ? unreachable(request) : error;
      });
      if (bytes === null) throw unreachable(request);
      return bytes;
    }
    checkForm(request.value, request.field);
    return await download(egress, request);
  };
  return {
    checkForm,
    async checkInput({ orgId, value, field }) {
      if ((await files.resolveOwn(orgId, value)) === null) checkForm(value, field);
    },
    async fetch(request) {
      const { value } = request;
      const bytes = SCHEME.test(value) && !isDataUrl(value) ? await fetchUrl(request) : await decode(request);
      return { bytes, contentType: detectContentType(bytes) } satisfies FetchedInput;
    },
  };
}

/** Null if the download takes too long. */
async function inTime<T>(work: Promise<T>, ms: number): Promise<T | null> {
  const over = new AbortController();
  const late = sleep(ms, null, { ref: false, signal: over.signal }).catch(() => null);
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}

async function download(egress: Egress, request: FetchRequest): Promise<Buffer> {
  try {
    const answer = await egress.request(request.value, {
      maxBytes: request.maxMb * MB,
      maxRedirects: MAX_REDIRECTS,
      totalTimeoutMs: timeFor(request),
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
    if (answer.status < 200 || answer.status > 299) throw unreachable(request);
    return answer.body;
  } catch (error) {
    if (!(error instanceof EgressError)) throw error;
    throw error.fault === 'too_large' ? tooLarge(request) : unreachable(request, error);
  }
}

/** Of a `data:` URL or of bare base64. */
async function decode(request: FetchRequest): Promise<Buffer> {
  const { value, maxMb } = request;
  const isUrl = isDataUrl(value);
  // Percent-encoding has three characters for a byte; base64 has four for three bytes, plus line breaks.
  const isPercent = isUrl && !/;\s*base64\s*,/i.test(value.slice(0, 250));
  if ((isPercent ? value.length / 3 : (value.length * 3) / 4 / 1.1) > maxMb * MB + 200)
    throw tooLarge(request);
  const bytes = await (isUrl ? dataUrlBytes(value) : decodedBase64(value));
  if (bytes === null) throw notData(request);
  if (bytes.length > maxMb * MB) throw tooLarge(request);
  return bytes;
}

/** Looks like an invalid URL: without a scheme, or after a blank. (Base64 can begin with two slashes too; that of MP3 does.) */
const ADDRESS_LIKE = /^\s*(?:\/\/|https?:)/i;

function notData({ field, value }: FetchRequest): ApiError {
  if (ADDRESS_LIKE.test(value)) return invalid('Invalid URL', field);
  return invalid(`${field} must be an http(s) URL, a data: URL or base64 data`, field);
}

const tooLarge = ({ field, maxMb }: FetchRequest): ApiError => fileTooLarge(field, maxMb);

function unreachable({ field }: FetchRequest, cause?: unknown): ApiError {
  return new ApiError('invalid_request', `Could not fetch ${field}`, { param: field, cause });
}
