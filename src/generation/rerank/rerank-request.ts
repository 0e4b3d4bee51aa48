import { invalid } from '../../contract/errors.js';
import { MAX_FILE_TEXT, Params } from '../pipeline/params.js';

const MAX_DOCUMENTS = 1000;

/** A checked request (beyond 11.12). */
export interface RerankRequest {
  query: string;
  documents: string[];
  /** At most as many as there are documents. */
  topN: number;
  returnDocuments: boolean;
}

/** A text, or an object of the convention that holds one. @throws ApiError invalid_request that names its place */
function textOf(document: unknown, index: number): string {
  const isObject = typeof document === 'object' && document !== null;
  const text: unknown = isObject ? (document as { text?: unknown }).text : document;
  if (typeof text === 'string') return text;
  throw invalid(`documents[${index}] must be a string, or an object with text`, 'documents');
}

function documentsOf(params: Params): string[] {
  const given = params.raw('documents');
  if (given === undefined) throw invalid('documents is required', 'documents');
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_DOCUMENTS)
    throw invalid(`documents must be an array of 1 to ${MAX_DOCUMENTS} texts`, 'documents');
  return given.map(textOf);
}

/** @throws ApiError invalid_request with the field in `param` */
export function readRerankRequest(body: Record<string, unknown>): RerankRequest {
  const params = new Params(body);
  const query = params.requiredText('query', MAX_FILE_TEXT);
  const documents = documentsOf(params);
  const topN = params.integer('top_n', { min: 1, max: Number.MAX_SAFE_INTEGER }) ?? documents.length;
  return {
    query,
    documents,
    topN: Math.min(topN, documents.length),
    returnDocuments: params.flag('return_documents', false),
  };
}
