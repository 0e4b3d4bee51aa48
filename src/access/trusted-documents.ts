import { createHash } from 'node:crypto';
import { recordChange } from '../audit/index.js';
import type { Database } from '../database/index.js';
import { sqlOf } from '../database/index.js';
import { ApiError, invalid } from '../contract/errors.js';
import type { Principal } from './access.types.js';
import { PUBLISH, READ_ALL } from './trusted-documents.queries.js';

/** `allow`: documents may be named instead of sent. `only`: what is not published is refused. */
export type TrustMode = 'off' | 'allow' | 'only';

/** What a caller asks to run: a text, a name of one, or both. */
export interface DocumentRequest {
  query: string;
  /** `documentId`, or the hash of `extensions.persistedQuery`. */
  name?: string | undefined;
}

/** Documents that an installation's operator has published (beyond 14.8). */
export interface TrustedDocuments {
  readonly mode: TrustMode;
  /**
   * The request with its document's text.
   * @throws ApiError invalid_request for an unknown name (`PersistedQueryNotFound`), forbidden for a text that the caller may not send
   */
  resolve<Request extends DocumentRequest>(request: Request, caller: Principal): Promise<Request>;
}

/** Unknown names make the documents be read again, at most this often. */
const READ_EVERY_MS = 1_000;

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** `only` binds client tokens and all keys but those of routers; people use the dashboard, whose documents are its own. */
const isBound = ({ person, token, isRouter }: Principal): boolean =>
  token !== undefined || (person === undefined && !isRouter);

const notPublished = () => new ApiError('forbidden', 'Only trusted documents may be sent');

/** Keeps all documents in memory. A name that is not known is looked for again, so that a publication needs no restart. */
export function createTrustedDocuments({
  database,
  mode,
}: {
  database: Pick<Database, 'system'>;
  mode: TrustMode;
}): TrustedDocuments {
  let known = new Map<string, string>();
  let readAt = -Infinity;
  let reading: Promise<void> | null = null;
  const read = async (): Promise<void> => {
    readAt = performance.now();
    const rows = await database.system.query<{ name: string; body: string }>(READ_ALL);
    known = new Map(rows.map(({ name, body }) => [name, body]));
  };
  const find = async (name: string): Promise<string | undefined> => {
    const found = known.get(name);
    if (found !== undefined) return found;
    if (reading === null && performance.now() - readAt >= READ_EVERY_MS)
      reading = read().finally(() => (reading = null));
    if (reading !== null) await reading;
    return known.get(name);
  };
  const resolve = async <Request extends DocumentRequest>(
    request: Request,
    caller: Principal,
  ): Promise<Request> => {
    const { query, name } = request;
    const isHeld = mode === 'only' && isBound(caller);
    if (name === undefined) {
      if (isHeld && (await find(hashOf(query))) === undefined) throw notPublished();
      return request;
    }
    if (mode === 'off') throw invalid('PersistedQueryNotSupported');
    const text = await find(name);
    if (text !== undefined && (query === '' || query === text)) return { ...request, query: text };
    if (query === '') throw invalid('PersistedQueryNotFound');
    // A client that was told so sends the text beside its hash. It is run, and not kept: only an operator publishes.
    if (hashOf(query) !== name) throw invalid('The document is not that of its hash');
    if (isHeld) throw notPublished();
    const { name: _, ...sent } = request;
    return sent as Request;
  };
  return { mode, resolve };
}

/** One document of a manifest. */
export interface PublishedDocument {
  id: string;
  body: string;
}

const MAX_DOCUMENTS = 10_000;
const MAX_LENGTH = 255;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The documents of a manifest: Apollo's (`{format, version, operations: [{id, body}]}`) or Relay's (`{"<id>": "<text>"}`).
 * @throws ApiError invalid_request
 */
export function readManifest(json: unknown): PublishedDocument[] {
  if (!isRecord(json)) throw invalid('The manifest must be a JSON object');
  const { format, operations } = json;
  if (format !== undefined && format !== 'apollo-persisted-query-manifest' && typeof operations === 'object')
    throw invalid(`Unknown format of a manifest: ${String(format).slice(0, MAX_LENGTH)}`);
  const listed: unknown[] = Array.isArray(operations)
    ? operations
    : Object.entries(json).map(([id, body]) => ({ id, body }));
  if (listed.length === 0 || listed.length > MAX_DOCUMENTS)
    throw invalid(`A manifest has 1 to ${MAX_DOCUMENTS} documents`);
  return listed.map((one, at) => {
    const { id, body } = isRecord(one) ? one : {};
    if (typeof id !== 'string' || id === '' || id.length > MAX_LENGTH)
      throw invalid(`Document ${at + 1} needs an id of at most ${MAX_LENGTH} characters`);
    if (typeof body !== 'string' || body.trim() === '') throw invalid(`Document ${id} needs a text`);
    return { id, body };
  });
}

/**
 * Publishes documents for the whole installation, all or none. @returns how many are new
 * @throws ApiError conflict for an id that means another text already
 */
export function publishDocuments(
  database: Pick<Database, 'allTenants'>,
  documents: readonly PublishedDocument[],
): Promise<{ documents: number; added: number }> {
  const bodies = new Map<string, string>();
  for (const { id, body } of documents)
    for (const name of [id, hashOf(body)]) {
      if ((bodies.get(name) ?? body) !== body) throw conflict(name);
      bodies.set(name, body);
    }
  return database.allTenants(async (em) => {
    const values = [[...bodies.keys()], [...bodies.values()]];
    const rows = await sqlOf(em).query<{ name: string; differs: boolean; added: boolean }>(PUBLISH, values);
    const other = rows.find(({ differs }) => differs);
    if (other !== undefined) throw conflict(other.name);
    const added = new Set(rows.filter((row) => row.added).map(({ name }) => bodies.get(name)));
    const after = { documents: documents.length, added: added.size };
    if (added.size > 0)
      await recordChange(em, { orgId: null, action: 'documents_published', subject: { id: null }, after });
    return after;
  });
}

const conflict = (name: string) =>
  new ApiError('conflict', `Another document is published as ${name.slice(0, MAX_LENGTH)}`);
