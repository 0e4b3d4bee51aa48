import { UpstreamError } from '../providers.types.js';
import {
  abortedError,
  brokenAnswer,
  cleanMessage,
  errorOfConnection,
  errorOfStatus,
} from '../openai-compatible/upstream-errors.js';

/** What the packages' errors hold; read by shape, as each package brings its own class. */
interface SdkError {
  name: string;
  message: string;
  statusCode?: unknown;
  responseBody?: unknown;
  responseHeaders?: Record<string, string>;
  cause?: unknown;
}

/**
 * A provider package's error as our router understands it: statuses as of any upstream; a request that the package itself cannot express
 * is the caller's fault; a broken answer the upstream's. The package's own error never goes further (it holds request bodies and headers).
 */
export function upstreamErrorOf(
  thrown: unknown,
  { secrets, signal }: { secrets: readonly string[]; signal: Pick<AbortSignal, 'aborted'> | undefined },
): UpstreamError {
  if (thrown instanceof UpstreamError) return thrown;
  if (signal?.aborted === true) return abortedError();
  const error = heldError(thrown);
  if (!(error instanceof Error)) return brokenAnswer('an error');
  const { name, statusCode, responseBody, responseHeaders } = error as SdkError;
  if (typeof statusCode === 'number' && statusCode >= 300) {
    return errorOfStatus({
      status: statusCode,
      body: typeof responseBody === 'string' ? responseBody : '',
      retryAfter: responseHeaders?.['retry-after'],
      secrets,
    });
  }
  if (name === 'AI_UnsupportedFunctionalityError' || name === 'AI_InvalidArgumentError') {
    return new UpstreamError('The request was rejected by the model provider', {
      status: null,
      retryable: false,
      fault: 'rejected',
    });
  }
  const network = networkErrorOf(error, secrets);
  const ofNetwork = name === 'AI_APICallError' || isOfFetch(error) || network.code !== undefined;
  if (typeof statusCode === 'number' || !ofNetwork) return brokenAnswer('what cannot be used', network);
  return errorOfConnection(network, false);
}

/** One package throws what its reader of errors answers, with the error in it. */
function heldError(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null && 'value' in thrown ? thrown.value : thrown;
}

/** A request's own TypeError has a cause; one without is a package's, which found something else than it looked for in an answer. */
const isOfFetch = (error: Error): boolean => error instanceof TypeError && error.cause !== undefined;

/** The innermost error: the one with the network's own code; without what the outer ones hold, and what an upstream said cleaned. */
function networkErrorOf(error: Error, secrets: readonly string[]): Error & { code?: string } {
  let inner: Error & { code?: string } = error;
  while (inner.cause instanceof Error) inner = inner.cause;
  const plain = new Error(cleanMessage(inner.message, secrets));
  return typeof inner.code === 'string' ? Object.assign(plain, { code: inner.code }) : plain;
}
