import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ApiError, fileTooLarge, invalid } from '../../src/contract/errors.js';
import { freeBytes, isMultipart, parseMultipart, repeated, spoolMultipart } from '../../src/http/index.js';
import type { MultipartBody, RequestBody, UploadedFile } from '../../src/http/index.js';
import { bind } from './bind.js';
import { segmentsOf } from './path-table.js';
import { BODY_LIMITS } from './route.types.js';
import type { Route } from './route.types.js';
import type { Call, Incoming, ReceivedExtra, RestOptions, RestRequest } from './rest.types.js';

const single = (value: string | string[] | undefined): string | undefined =>
  Array.isArray(value) ? value[0] : value;

/** Removes doubled slashes and a slash at the end, which clients cause when they join addresses. */
function plainPath(path: string): string {
  if (!path.includes('//') && !path.endsWith('/')) return path === '' ? '/' : path;
  return `/${path.split('/').filter(Boolean).join('/')}`;
}

/** @param base the base path, with which the URL begins */
export function splitUrl(url: string, base: string): { path: string; query: string } {
  const mark = url.indexOf('?');
  const whole = mark === -1 ? url : url.slice(0, mark);
  const path = plainPath(whole.startsWith(base) ? whole.slice(base.length) : whole);
  return { path, query: mark === -1 ? '' : url.slice(mark + 1) };
}

/**
 * Step 2 of decisions 1: the path and the body.
 * @throws ApiError not_found, method_not_allowed (both take a slot), unsupported_media_type, payload_too_large, invalid_request
 */
export async function readRequest(
  options: RestOptions,
  { request, call, face, convention, matched, path, query, incoming }: Incoming,
): Promise<RestRequest> {
  if (matched === null) {
    await options.edge.takeSlot(call);
    const elsewhere = face.elsewhere(path);
    throw new ApiError(
      'not_found',
      elsewhere === null ? 'Not found' : `Not found: this path is at ${elsewhere}`,
    );
  }
  if ('allow' in matched) return refuseMethod(options, call, matched.allow);
  const { target: endpoint, values } = matched;
  const segments = segmentsOf(endpoint.route.path, values);
  options.onRoute?.(request, face.path + endpoint.route.path);
  const { route } = endpoint;
  const { 'content-type': contentType = '' } = request.headers;
  const received =
    route.upload && (isMultipart(contentType) || !route.body)
      ? await receiveUpload(options, route.upload, { request, call, incoming })
      : await receiveFields(route, { request, incoming });
  const { fingerprint = null, body, fault = null, upload, spooled, release } = received;
  if (face.bareModelNames && body !== null) nameModel(options, body);
  const files = { ...(upload ? { upload } : {}), ...(spooled ? { spooled } : {}) };
  const { 'last-event-id': lastEventId, 'idempotency-key': idempotencyKey } = request.headers;
  return {
    call,
    face,
    convention,
    request,
    endpoint,
    segments,
    path,
    query,
    lastEventId: single(lastEventId) || undefined,
    accept: request.headers.accept,
    idempotencyKey: single(idempotencyKey),
    fingerprint,
    body,
    isForm: upload !== undefined,
    fault,
    files,
    context: options.context(call, { ...(body ? { body } : {}), ...files }),
    ...(release ? { release } : {}),
  };
}

/** Replaces a model's short name by its full id, for all later readers. */
function nameModel({ fullModelId }: RestOptions, body: Record<string, unknown>): void {
  const { model } = body;
  if (typeof model === 'string' && !model.includes('/')) body['model'] = fullModelId(model);
}

/** Refuses another method of a known path, and takes a slot. @throws ApiError method_not_allowed, rate_limited */
export async function refuseMethod({ edge }: RestOptions, call: Call, allow: string): Promise<never> {
  await edge.takeSlot(call);
  throw new ApiError('method_not_allowed', 'Method not allowed', { headers: { allow } });
}

type Received = Omit<ReceivedExtra, 'body'> & {
  fingerprint?: Buffer | null;
  body: Record<string, unknown> | null;
  fault?: ApiError;
  /** Removes an uploaded file from the disk. */
  release?(): Promise<void>;
};

const isKeyed = ({ headers }: IncomingMessage): boolean => headers['idempotency-key'] !== undefined;

/** The bytes are freed after reading. */
async function receiveFields(
  route: Route,
  { request, incoming }: Pick<Incoming, 'request' | 'incoming'>,
): Promise<Received> {
  const bytes = await receive(request, incoming, route);
  if (bytes === null) return { body: null };
  try {
    const value = await incoming.parse(bytes);
    const fingerprint = isKeyed(request) ? await incoming.fingerprint(bytes) : null;
    return { fingerprint, ...fieldsOf(route, value) };
  } finally {
    freeBytes(bytes);
  }
}

function fieldsOf(route: Route, value: unknown): Received {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const fault = new ApiError('invalid_request', 'Request body must be a JSON object');
    return { body: null, fault };
  }
  const fields = value as Record<string, unknown>;
  if (route.body) return { body: fields };
  const surplus = Object.keys(fields).find((name) => fields[name] !== null);
  const fault = surplus === undefined ? {} : { fault: invalid(`Unknown parameter: ${surplus}`, surplus) };
  return { body: null, ...fault };
}

const unsupported = () => new ApiError('unsupported_media_type', 'Unsupported media type');

/** Refuses a field that is sent both as a file and as text. */
function twice(name: string, fields: object, file: object | null | undefined): { fault?: ApiError } {
  return file && Object.hasOwn(fields, name) ? { fault: repeated(name) } : {};
}

/** The maximum of bytes of form fields and boundaries, in addition to the file. */
const FORM_BYTES = 1024 * 1024;

async function receiveUpload(
  options: RestOptions,
  { field, limit }: NonNullable<Route['upload']>,
  { request, call, incoming }: Pick<Incoming, 'request' | 'call' | 'incoming'>,
): Promise<Received> {
  const { 'content-type': contentType = '', 'content-encoding': encoding = 'identity' } = request.headers;
  if (!isMultipart(contentType)) throw unsupported();
  if (limit === 'knowledge') {
    // The upload is streamed to the disk. A body that is read completely is decompressed if the convention allows it.
    if (encoding !== 'identity') throw unsupported();
    const { bytes: maxBytes, refusal } = options.knowledgeLimit(call);
    const folder = options.spoolFolder;
    // The file is written to the disk; only the fields stay in memory.
    incoming.byteReservation.grow(FORM_BYTES);
    const { fields, file, release } = await spoolMultipart(request, { field, folder, maxBytes, refusal });
    return {
      fingerprint: isKeyed(request) ? contentOf(fields, file) : null,
      body: fields,
      ...twice(field, fields, file),
      ...(file ? { spooled: file } : {}),
      release,
    };
  }
  const { fields, files } = await receiveForm({ incoming, contentType, field, limit });
  const upload = files.get(field);
  const others = [...files].filter(([name]) => name !== field);
  return {
    fingerprint: isKeyed(request) ? await formFingerprint(incoming, fields, files) : null,
    // A file with another field name is refused like any unknown parameter.
    body: { ...fields, ...Object.fromEntries(others.map(([name, { bytes }]) => [name, bytes])) },
    ...twice(field, fields, upload),
    ...(upload ? { upload } : {}),
  };
}

interface Form {
  incoming: RequestBody;
  contentType: string;
  field: string;
  limit: number;
}

async function receiveForm({ incoming, contentType, field, limit }: Form): Promise<MultipartBody> {
  const raw = await incoming.read(limit + FORM_BYTES, () =>
    fileTooLarge(field, Math.floor(limit / FORM_BYTES)),
  );
  return await parseMultipart(raw, contentType, (bytes, take) => incoming.inPieces(bytes, take));
}

async function formFingerprint(
  incoming: RequestBody,
  fields: Record<string, unknown>,
  files: ReadonlyMap<string, UploadedFile>,
): Promise<Buffer> {
  const hashed: HashedFile[] = [];
  for (const [name, { filename, bytes }] of files) {
    const hash = createHash('sha256');
    await incoming.inPieces(bytes, (piece) => void hash.update(piece));
    hashed.push({ name, filename, sha256: hash.digest('hex') });
  }
  const [only, ...more] = hashed;
  if (only === undefined || more.length === 0) return contentOf(fields, only ?? null);
  return Buffer.from(JSON.stringify({ fields, files: hashed }));
}

interface HashedFile {
  name: string;
  filename: string;
  sha256: string;
}

/** The hash that identifies a form for its Idempotency-Key. A retry has other boundaries between the same parts. */
function contentOf(
  fields: Record<string, unknown>,
  upload: Pick<HashedFile, 'filename' | 'sha256'> | null,
): Buffer {
  const file = upload ? { filename: upload.filename, sha256: upload.sha256 } : undefined;
  return Buffer.from(JSON.stringify({ fields, file }));
}

const EMPTY = Buffer.from('{}');
/** A POST without fields may have an empty object. */
const FIELDLESS: Pick<NonNullable<Route['body']>, 'limitBytes' | 'optional'> = {
  limitBytes: BODY_LIMITS.small,
  optional: true,
};

/** A body's bytes; null for methods without one. */
function receive(
  request: IncomingMessage,
  incoming: RequestBody,
  { method, body: { limitBytes, optional } = FIELDLESS }: Pick<Route, 'method'> & { body?: typeof FIELDLESS },
): Promise<Buffer> | Buffer | null {
  if (method === 'GET' || method === 'DELETE') return null;
  const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
  if (!optional) return incoming.readJson(limitBytes);
  if (encoding === undefined && Number(length ?? 0) === 0) return EMPTY;
  // A client that streams its body sends an empty body in chunks; only its end shows that it is empty.
  const isDeclared = request.headers['content-type'] !== undefined || isPacked(request);
  const read = isDeclared ? incoming.readJson(limitBytes) : incoming.read(0, unsupported);
  return read.then((bytes) => (bytes.length === 0 ? EMPTY : bytes));
}

const isPacked = ({ headers }: IncomingMessage): boolean => headers['content-encoding'] !== undefined;

/**
 * The values of the row's parameters. An error is thrown after the call's slot was taken and its plan was checked (step 6 after 4 and 5).
 * @throws ApiError invalid_request, rate_limited, plan_required, model_not_allowed, model_tier_not_allowed
 */
export async function bindOrRefuse(
  options: RestOptions,
  rest: RestRequest,
): Promise<Record<string, unknown>> {
  const { endpoint, segments, query, lastEventId } = rest;
  try {
    const path = namedModel(options, rest, endpoint.pathVariables(segments));
    return bind(endpoint.parameters, { path, query, lastEventId });
  } catch (fault) {
    await options.takeSlots(endpoint.operation.field, rest);
    throw fault;
  }
}

function namedModel(
  { fullModelId }: RestOptions,
  { face, endpoint }: RestRequest,
  path: Record<string, unknown>,
): Record<string, unknown> {
  const { modelVariable: name } = endpoint.route;
  if (name === undefined || !face.bareModelNames) return path;
  return { ...path, [name]: fullModelId(String(path[name])) };
}

/**
 * Converts a body of another dialect to the resolver's form, which then replaces it in the request.
 * @throws ApiError after the call's slots were taken and its plan was checked, like `bindOrRefuse`
 */
export async function readDialect(options: RestOptions, rest: RestRequest): Promise<void> {
  const { call, convention, query, request, files } = rest;
  const { headers } = request;
  try {
    const { requestId } = call;
    const asking = { convention: convention.name, requestId, headers, query, upload: files.upload };
    const requested = rest.endpoint.route.read?.(rest.body ?? {}, asking);
    if (requested === undefined) return;
    const { user, safety_identifier, metadata } = rest.body ?? {};
    call.sentFor = { user, safety_identifier, metadata };
    rest.dialectCall = requested instanceof Promise ? await requested : requested;
  } catch (fault) {
    await options.takeSlots(rest.endpoint.operation.field, rest);
    throw fault;
  }
  rest.body = rest.dialectCall.input;
  rest.context = options.context(call, { ...rest.files, body: rest.body });
}

/** An error of `after` names the header if the caller sent the header. */
export function nameSource(fault: unknown, { query, lastEventId }: RestRequest): unknown {
  const isHeaders = lastEventId !== undefined && !new URLSearchParams(query).has('after');
  if (!isHeaders || !(fault instanceof ApiError) || fault.details.param !== 'after') return fault;
  const message = fault.message.replace(/^after\b/, 'Last-Event-ID');
  return new ApiError(fault.code, message, { ...fault.details, param: 'Last-Event-ID' });
}
