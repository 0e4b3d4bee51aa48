import { AuthorizationResponseError, ResponseBodyError, WWWAuthenticateChallengeError } from 'openid-client';
import type { Logger } from 'pino';
import { firstCharacters } from '../../text/characters.js';
import { ApiError } from '../../contract/errors.js';

/** Turns what went wrong at the provider into sentences of ours; what the provider said is for the log, cut. */
export interface Faults {
  /** While it was asked about itself. @throws ApiError unavailable */
  ofSettings(error: unknown): never;
  /** While a code was redeemed. @throws ApiError */
  ofAnswer(error: unknown): never;
}

const MAX_LOGGED = 300;
const RETRY_SECONDS = 5;
/** The library's words for no answer in time, and for answers that come from something in front of the provider. */
const UNREACHED = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
]);
const MISCONFIGURED = new Set([
  'OAUTH_HTTP_REQUEST_FORBIDDEN',
  'OAUTH_REQUEST_PROTOCOL_FORBIDDEN',
  'OAUTH_MISSING_SERVER_METADATA',
  'OAUTH_INVALID_SERVER_METADATA',
  'OAUTH_UNSUPPORTED_OPERATION',
]);
/** Of OAuth's own words, those that are about a moment … */
const BUSY = new Set(['temporarily_unavailable', 'server_error']);
/** … and those that are about the person or the code; the others say that we were registered otherwise. */
const DECLINED = new Set([
  'access_denied',
  'login_required',
  'interaction_required',
  'consent_required',
  'account_selection_required',
]);

const unreached = () =>
  new ApiError('unavailable', 'The identity provider cannot be reached; try again later', {
    retryAfter: RETRY_SECONDS,
  });
const misconfigured = () =>
  new ApiError(
    'unavailable',
    'Signing in at the identity provider is not set up correctly; tell the operator',
    {
      retryAfter: RETRY_SECONDS,
    },
  );
const declined = () => new ApiError('forbidden', 'The identity provider did not sign you in');
const redeemed = () =>
  new ApiError('unauthorized', 'Signing in took too long or was finished already; start again');
const unproven = () =>
  new ApiError('unauthorized', 'The answer of the identity provider could not be verified; start again');

const codeOf = (error: unknown): string => String((error as { code?: unknown } | null)?.code ?? '');

/** Of an answer without a word of OAuth in it; null: it is not about such an answer. */
function strangeStatus(error: unknown): number | null {
  const answer = error instanceof Error ? error.cause : undefined;
  return answer instanceof Object && 'status' in answer ? Number(answer.status) : null;
}

function isUnreached(error: unknown): boolean {
  const [status, code] = [strangeStatus(error), codeOf(error)];
  if (status !== null && status >= 400) return status >= 500 || status === 429;
  // A connection that fails is a TypeError of `fetch`.
  return UNREACHED.has(code) || (error instanceof TypeError && code === '');
}

function ofWord(word: string): ApiError {
  if (BUSY.has(word)) return unreached();
  if (DECLINED.has(word)) return declined();
  return word === 'invalid_grant' ? redeemed() : misconfigured();
}

function faultOfAnswer(error: unknown): ApiError {
  if (error instanceof AuthorizationResponseError || error instanceof ResponseBodyError)
    return ofWord(error.error);
  if (isUnreached(error)) return unreached();
  if (error instanceof WWWAuthenticateChallengeError || MISCONFIGURED.has(codeOf(error)))
    return misconfigured();
  return unproven();
}

/** Never the error itself: its cause may hold tokens. */
function loggableError(error: unknown): Record<string, string> {
  const { message, cause, error: word, error_description: description } = error as Record<string, unknown>;
  const reason = cause instanceof Error ? `${String(message)}: ${cause.message}` : message;
  const status = strangeStatus(error);
  const said = { reason, code: codeOf(error), status, word, description };
  return Object.fromEntries(
    Object.entries(said)
      .filter(([, value]) => value != null && value !== '')
      .map(([name, value]) => [name, firstCharacters(String(value), MAX_LOGGED)]),
  );
}

/** @see Faults */
export function faultsOf(logger: Logger): Faults {
  const tell = (error: unknown, fault: ApiError): ApiError => {
    const level = fault.code === 'unavailable' ? 'warn' : 'info';
    logger[level](loggableError(error), `signing in at the identity provider failed: ${fault.message}`);
    return fault;
  };
  return {
    ofSettings(error) {
      throw tell(error, isUnreached(error) ? unreached() : misconfigured());
    },
    ofAnswer(error) {
      throw error instanceof ApiError ? error : tell(error, faultOfAnswer(error));
    },
  };
}
