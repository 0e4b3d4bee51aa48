import { UpstreamError } from '../providers.types.js';
import {
  abortedError,
  brokenAnswer,
  cleanMessage,
  errorOfConnection,
  errorOfStatus,
} from '../openai-compatible/upstream-errors.js';

/** The fields of the packages' errors. They are recognised by shape, because each package has its own class. */
interface SdkError {
  name: string;
  message: string;
  statusCode?: unknown;
  responseBody?: unknown;
  responseHeaders?: Record<string, string>;
  cause?: unknown;
}

/**
 * Converts a provider package's error to an UpstreamError: statuses as of any upstream; a request that the package cannot express is the caller's
 * fault; a broken answer is the upstream's. The package's own error is dropped, because it contains request bodies and headers.
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

/** One package throws an object that contains the error. */
function heldError(thrown: unknown): unknown {
  return typeof thrown === 'object' && thrown !== null && 'value' in thrown ? thrown.value : thrown;
}

/** A TypeError of `fetch` has a cause. One without a cause comes from the package, which found an unexpected value in an answer. */
const isOfFetch = (error: Error): boolean => error instanceof TypeError && error.cause !== undefined;

/** The innermost error, which has the network's error code, without the outer errors' contents and with a sanitised message. */
function networkErrorOf(error: Error, secrets: readonly string[]): Error & { code?: string } {
  let inner: Error & { code?: string } = error;
  while (inner.cause instanceof Error) inner = inner.cause;
  const plain = new Error(cleanMessage(inner.message, secrets));
  return typeof inner.code === 'string' ? Object.assign(plain, { code: inner.code }) : plain;
}
