import { openAsBlob } from 'node:fs';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { S3mini, S3ServiceError } from 's3mini';
import { FileStoreError } from './installation.js';
import type { FileKey, FileStore } from './store.types.js';

export interface S3Settings {
  /** `s3://bucket` or `s3://bucket/prefix`. */
  url: string;
  /** Of the service, without the bucket (which comes first in the path): any S3-compatible one. */
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

const MARKER = 'installation';

/** Null for an object that is not there; every other fault as it is. */
function absent(error: unknown): null {
  for (let fault = error; fault instanceof Error; fault = fault.cause)
    if (fault instanceof S3ServiceError && fault.status === 404) return null;
  throw error;
}

function clientOf({ url, endpoint, region, accessKeyId, secretAccessKey }: S3Settings): S3mini {
  const { hostname: bucket } = new URL(url);
  try {
    return new S3mini({
      endpoint: `${endpoint.replace(/\/+$/, '')}/${bucket}`,
      region,
      accessKeyId,
      secretAccessKey,
    });
  } catch {
    throw new FileStoreError('FILES_URL: the bucket, S3_ENDPOINT or the access keys are not usable');
  }
}

/** Files in a bucket: `<prefix>/<organisation>/<id>.<extension>`. An object is whole or absent, as S3 promises. */
export function createS3Store(settings: S3Settings): FileStore {
  const client = clientOf(settings);
  const prefix = new URL(settings.url).pathname.replace(/^\/+|\/+$/g, '');
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
    size: async (key) => await client.getContentLength(pathOf(key)).catch(absent),
    async read(key) {
      const bytes = await client.getObjectArrayBuffer(pathOf(key)).catch(absent);
      return bytes === null ? null : Buffer.from(bytes);
    },
    async stream(key, range) {
      // The library's end is exclusive, ours is not.
      const answer = await client
        .getObjectRaw(pathOf(key), range === undefined, range?.start ?? 0, range && range.end + 1)
        .catch(absent);
      return answer?.body == null ? null : Readable.fromWeb(answer.body as ReadableStream);
    },
    async remove(key) {
      await client.deleteObject(pathOf(key)).catch(absent);
    },
    async readInstallation() {
      const text = await client.getObject(place(MARKER)).catch(absent);
      return text === null ? null : text.trim();
    },
    async writeInstallation(id) {
      await client.putObject(place(MARKER), `${id}\n`);
    },
  };
}
