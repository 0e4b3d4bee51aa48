import { openAsBlob } from 'node:fs';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { S3mini, S3ServiceError } from 's3mini';
import { withoutEnding } from '../text/characters.js';
import { createRetryingFetch } from '../egress/index.js';
import { FileStoreError } from './installation.js';
import type { FileKey, FileStore } from './store.types.js';

export interface S3Settings {
  /** `s3://bucket` or `s3://bucket/prefix`. */
  url: string;
  /** The service's URL, without the bucket (which is the first part of the path). Any S3-compatible service. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

const MARKER = 'installation';

/** Returns null if the object does not exist, and rethrows every other error. */
function ifMissing(error: unknown): null {
  for (let fault = error; fault instanceof Error; fault = fault.cause)
    if (fault instanceof S3ServiceError && fault.status === 404) return null;
  throw error;
}

/** Null where the bucket is new. @throws FileStoreError for a bucket that cannot be read */
const absentMarker =
  (url: string) =>
  (error: unknown): null => {
    if (!(error instanceof S3ServiceError) || error.status !== 404) throw unreadable(url, error);
    if (error.serviceCode !== 'NoSuchBucket') return null;
    throw new FileStoreError(`FILES_URL: there is no bucket ${new URL(url).hostname} at S3_ENDPOINT`);
  };

/** The message for the operator, at a start and in `doctor`. */
function unreadable(url: string, error: unknown): FileStoreError {
  let reason = error;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  const why = reason instanceof Error ? reason.message : String(reason);
  return new FileStoreError(`FILES_URL: ${url} cannot be read: ${why}`);
}

function clientOf({ url, endpoint, region, accessKeyId, secretAccessKey }: S3Settings): S3mini {
  const { hostname: bucket } = new URL(url);
  try {
    return new S3mini({
      endpoint: `${withoutEnding(endpoint, '/')}/${bucket}`,
      region,
      accessKeyId,
      secretAccessKey,
      fetch: createRetryingFetch(),
    });
  } catch {
    throw new FileStoreError('FILES_URL: the bucket, S3_ENDPOINT or the access keys are not usable');
  }
}

/** Files in a bucket: `<prefix>/<organisation>/<id>.<extension>`. An object is whole or absent, as S3 promises. */
export function createS3Store(settings: S3Settings): FileStore {
  const client = clientOf(settings);
  const prefix = withoutEnding(new URL(settings.url).pathname.replace(/^\/+/, ''), '/');
  const place = (name: string): string => (prefix === '' ? name : `${prefix}/${name}`);
  const pathOf = ({ orgId, id, extension }: FileKey): string => place(`${orgId}/${id}.${extension}`);
  return {
    location: settings.url,
    async put(key, bytes) {
      await client.putObject(pathOf(key), Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    },
    async adopt(key, path) {
      const bytes = await openAsBlob(path);
      await client.putObject(pathOf(key), bytes, undefined, undefined, undefined, bytes.size);
    },
    size: async (key) => await client.getContentLength(pathOf(key)).catch(ifMissing),
    async read(key) {
      const bytes = await client.getObjectArrayBuffer(pathOf(key)).catch(ifMissing);
      return bytes === null ? null : Buffer.from(bytes);
    },
    async stream(key, range) {
      // The library's end is exclusive, ours is inclusive.
      const answer = await client
        .getObjectRaw(pathOf(key), range === undefined, range?.start ?? 0, range && range.end + 1)
        .catch(ifMissing);
      return answer?.body == null ? null : Readable.fromWeb(answer.body as ReadableStream);
    },
    async remove(key) {
      await client.deleteObject(pathOf(key)).catch(ifMissing);
    },
    async readInstallation() {
      // The raw request gives the error's code: a missing bucket answers 404 too.
      const answer = await client.getObjectRaw(place(MARKER)).catch(absentMarker(settings.url));
      return answer === null ? null : (await answer.text()).trim();
    },
    async writeInstallation(id) {
      await client.putObject(place(MARKER), `${id}\n`);
    },
  };
}
