import type { TestServer } from './server.js';

export interface MadeUpload {
  /** The path and query. */
  path: string;
  url: string;
  headers: { name: string; value: string }[];
  id: string;
}

type Server = Pick<TestServer, 'graphql' | 'raw'>;

export const CREATE_UPLOAD = `mutation ($input: CreateUploadInput!) {
  createUpload(input: $input) { url headers { name value } file { id contentType sizeBytes purpose } }
}`;

export interface UploadInput {
  contentType: string;
  sizeBytes: number;
  purpose?: 'input' | 'knowledge';
}

/** @throws Error with the refusal */
export async function beginUpload(
  server: Pick<Server, 'graphql'>,
  key: string,
  { purpose = 'input', ...input }: UploadInput,
): Promise<MadeUpload> {
  type Data = { createUpload: { url: string; headers: MadeUpload['headers']; file: { id: string } } };
  const variables = { input: { ...input, purpose } };
  const { data, errors } = await server.graphql<Data>(CREATE_UPLOAD, { key, variables });
  if (data?.createUpload == null) throw new Error(JSON.stringify(errors));
  const { url, headers, file } = data.createUpload;
  return { url, headers, id: file.id, path: new URL(url).pathname + new URL(url).search };
}

export interface PutAnswer {
  status: number;
  range: string | undefined;
  body: { error?: string; code?: string; file?: { id: string } } | null;
}

/** @param range without the unit; undefined: the whole file */
export async function put(
  server: Pick<Server, 'raw'>,
  path: string,
  {
    bytes = Buffer.alloc(0),
    range,
    headers = {},
  }: { bytes?: Buffer; range?: string; headers?: Record<string, string> },
): Promise<PutAnswer> {
  const ranged = range === undefined ? {} : { 'content-range': `bytes ${range}` };
  const answer = await server.raw(path, { method: 'PUT', body: bytes, headers: { ...ranged, ...headers } });
  const text = await answer.body.text();
  return {
    status: answer.statusCode,
    range: answer.headers['range'] as string | undefined,
    body: text === '' ? null : (JSON.parse(text) as PutAnswer['body']),
  };
}

/** Uploads a whole file. @returns `file:<id>` */
export async function uploadWhole(
  server: Server,
  key: string,
  { bytes, contentType, purpose }: { bytes: Buffer; contentType: string; purpose?: 'input' | 'knowledge' },
): Promise<string> {
  const input = { contentType, sizeBytes: bytes.length, ...(purpose && { purpose }) };
  const { path, id } = await beginUpload(server, key, input);
  const answer = await put(server, path, { bytes });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer));
  return `file:${id}`;
}
