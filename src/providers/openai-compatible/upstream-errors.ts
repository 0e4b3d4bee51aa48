import { isFailure } from '../convention/finish-reasons.js';
import { UpstreamError } from '../providers.types.js';
import { holdsTraceOrSql, redactPaths } from './redact-error.js';

/** So much of a message is looked at. */
const MAX_LOOKED_AT = 4000;
const MAX_MESSAGE = 300;
/** Statuses of an upstream that are the caller's fault (decisions 6, "Upstreams"). */
const REJECTED = new Set([400, 413, 422]);
const MAX_RETRY_AFTER_MS = 10_000;

/** An upstream's own words, fit for the operator's log: no URL, credential or control character, at most 300 characters. */
export function cleanMessage(message: string, secrets: readonly string[]): string {
  return shortened(withoutSecrets(message.slice(0, MAX_LOOKED_AT), secrets));
}

/** The fault of a request that an upstream rejected, in its own words as far as they are fit for a caller. */
export function rejectedRequest(
  said: string,
  { status, secrets }: { status: number; secrets: readonly string[] },
): UpstreamError {
  const looked = said.slice(0, MAX_LOOKED_AT);
  const message = holdsTraceOrSql(looked) ? '' : shortened(redactPaths(withoutSecrets(looked, secrets)));
  return new UpstreamError(message || 'The request was rejected by the model provider', {
    status,
    retryable: false,
    fault: 'rejected',
  });
}

function shortened(text: string): string {
  return text.length > MAX_MESSAGE ? `${text.slice(0, MAX_MESSAGE - 1)}…` : text;
}

function withoutSecrets(text: string, secrets: readonly string[]): string {
  let clean = text;
  for (const secret of secrets) if (secret.length >= 4) clean = clean.replaceAll(secret, '[removed]');
  return clean
    .replace(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ')
    .replace(/\b[a-z][a-z0-9+.-]{0,30}:\/\/\S+/gi, '[removed]')
    .replace(/\b(?:bearer|basic)\s+\S+/gi, '[removed]')
    .replace(/\b(?:sk|pk|key|gsk|xai|api)[-_][\w*-]{6,}/gi, '[removed]')
    .replace(/[\w+/=*-]{32,}/g, (word) => (isCredential(word) ? '[removed]' : word))
    .replace(/\s+/g, ' ')
    .trim();
}

/** A long word with a digit behind a letter. A pattern for both would look at each pair of its places: a caller's own long word may come back. */
function isCredential(word: string): boolean {
  const letter = word.search(/[A-Za-z]/);
  return letter >= 0 && /\d/.test(word.slice(letter));
}

/** The message in the shapes that upstreams answer errors in: `{error: {message}}`, `{error}`, `{message}`, `{detail}`, `{err_msg}`. */
function messageOf(body: string): string | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.replace(/^\ufeff/, ''));
  } catch {
    return null;
  }
  for (const candidate of candidates(parsed))
    if (typeof candidate === 'string' && candidate !== '') return candidate;
  return null;
}

function candidates(parsed: unknown): unknown[] {
  const body = Array.isArray(parsed) ? (parsed[0] as unknown) : parsed;
  if (typeof body !== 'object' || body === null) return [];
  const { error, message, detail, err_msg: said } = body as Record<string, unknown>;
  // `detail` may be a list: the first fault of each.
  const first: unknown = Array.isArray(detail) ? detail[0] : detail;
  return [wordsOf(error), message, wordsOf(first), said];
}

/** An error that may be words, or an object with them. */
function wordsOf(fault: unknown): unknown {
  if (typeof fault !== 'object' || fault === null) return fault;
  const { message, msg } = fault as Record<string, unknown>;
  return message ?? msg;
}

/** `Retry-After` in seconds or as a date, cut to what a caller can be kept waiting. */
function retryAfterMs(header: string | string[] | undefined): number | undefined {
  const said = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  const ms = /^\d+(\.\d+)?$/.test(said) ? Number(said) * 1000 : Date.parse(said) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** The fault that an upstream's status stands for. */
export function errorOfStatus(answer: {
  status: number;
  body: string;
  retryAfter: string | string[] | undefined;
  secrets: readonly string[];
  /** The request had an idempotency key: a 409 says that its like is still being answered. */
  keyed?: boolean;
}): UpstreamError {
  const { status } = answer;
  const said = messageOf(answer.body) ?? '';
  if (REJECTED.has(status)) return rejectedRequest(said, answer).saying(refusalIn(answer.body));
  const message = cleanMessage(said, answer.secrets);
  const delay = retryAfterMs(answer.retryAfter);
  const error = new UpstreamError(`Upstream answered ${status}${message ? `: ${message}` : ''}`, {
    status,
    retryable: status === 429 || status >= 500 || (status === 409 && answer.keyed === true),
    ...(delay === undefined ? {} : { retryAfterMs: delay }),
  });
  return MAY_NAME.has(status) ? error.saying(refusalIn(answer.body)) : error;
}

/** Statuses besides {@link REJECTED} that some refuse a field with. */
const MAY_NAME = new Set([404, 405, 406, 415, 501]);

/** The parts of a refusal that concern the request: message, fields and codes, without a repeated copy of the request. */
function refusalIn(body: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.replace(/^\ufeff/, ''));
  } catch {
    return body.slice(0, MAX_LOOKED_AT);
  }
  return refusalWords(parsed, 0).join(' ').slice(0, MAX_LOOKED_AT);
}

const REFUSAL_FIELDS = new Set(
  'error errors detail details message msg param parameter field loc path code type reason description err_msg title'.split(
    ' ',
  ),
);

function refusalWords(said: unknown, depth: number): string[] {
  if (typeof said === 'string') return [said, `"${said}"`];
  if (typeof said !== 'object' || said === null || depth > 5) return [];
  if (Array.isArray(said)) return said.slice(0, 20).flatMap((item) => refusalWords(item, depth + 1));
  return Object.entries(said).flatMap(([name, value]) =>
    REFUSAL_FIELDS.has(name) ? refusalWords(value, depth + 1) : [],
  );
}

/** The fault of a connection: refused, reset, timed out. `started`: bytes of the answer had come already. */
export function errorOfConnection(error: Error, started: boolean): UpstreamError {
  const code = (error as Error & { code?: string }).code ?? error.name;
  const waited = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT';
  return new UpstreamError(`Upstream connection failed: ${code}`, {
    status: null,
    retryable: !started && !waited,
    cause: error,
  });
}

/** The caller disconnected. */
export function abortedError(): UpstreamError {
  return new UpstreamError('The caller has gone', { status: null, retryable: false, fault: 'aborted' });
}

/** Whether a choice of an answer reports a failure, which routers of other providers send with status 200. */
export function isFailedChoice(choice: unknown): boolean {
  if (typeof choice !== 'object' || choice === null) return false;
  const { error, finish_reason: reason } = choice as Record<string, unknown>;
  return error != null || isFailure(reason);
}

/** The kind of an upstream's error, without its message: for the operator's log. */
export function kindOfError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { code, type } = error as Record<string, unknown>;
  const kinds = [code, type].filter(
    (kind) => typeof kind === 'number' || (typeof kind === 'string' && /^[a-z_ .]{1,40}$/i.test(kind)),
  );
  return kinds.length === 0 ? '' : ` (${kinds.join(', ')})`;
}

/** The upstream answered something that is not the convention. */
export function brokenAnswer(what: string, cause?: unknown): UpstreamError {
  return new UpstreamError(`Upstream answered ${what}`, { status: null, retryable: false, cause });
}

/** A file that an upstream names cannot be had, which is never the caller's fault: the address is the upstream's own. */
export function unreadableFile(status: number): UpstreamError {
  const retryable = status === 429 || status >= 500;
  return new UpstreamError(`Upstream answered a file that cannot be fetched (${status})`, {
    status,
    retryable,
  });
}
