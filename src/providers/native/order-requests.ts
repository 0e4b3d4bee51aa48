import { readWhole } from '../predictions/api-client.js';
import { withRetries, pause } from '../predictions/operation.js';
import type { OperationLimits } from '../predictions/operation.js';
import { UpstreamError } from '../providers.types.js';
import { errorOfStatus } from '../openai-compatible/upstream-errors.js';
import { upstreamErrorOf } from './sdk-errors.js';

/** Statuses whose answers have no body. */
const BODILESS = new Set([204, 205, 304]);

interface OrderRequestOptions {
  limits: OperationLimits;
  secrets: readonly string[];
  signal: AbortSignal | undefined;
  /** Whether an answer only means that the work still runs. */
  isOpen?: ((status: number, text: string) => boolean) | undefined;
}

/**
 * Sends a package's request to poll an order or to download its file. The package would give up at the first failed request, and some packages
 * also after a minute or two. So failed requests are repeated here, and the package gets an error only if no complete answer arrives in time.
 * @throws UpstreamError
 */
export async function requestOfOrder(
  request: () => Promise<Response>,
  { limits: { pollMs, generationMs }, secrets, signal, isOpen }: OrderRequestOptions,
): Promise<Response> {
  const once = async (): Promise<Response> => {
    try {
      return await wholeAnswer(await request(), secrets);
    } catch (error) {
      throw upstreamErrorOf(error, { secrets, signal });
    }
  };
  const end = performance.now() + generationMs;
  for (;;) {
    const answer = await withRetries(once, { pollMs, signal });
    const isPending =
      isOpen !== undefined && isJson(answer) && isOpen(answer.status, await answer.clone().text());
    if (!isPending || performance.now() > end) return answer;
    await pause(pollMs, signal);
  }
}

/** @throws UpstreamError for a temporary error; the package reads a permanent one */
async function wholeAnswer(answer: Response, secrets: readonly string[]): Promise<Response> {
  const { status } = answer;
  const bytes = await readWhole(answer);
  if (!answer.ok) {
    const retryAfter = answer.headers.get('retry-after') ?? undefined;
    const fault = errorOfStatus({ status, body: bytes.toString('utf8'), retryAfter, secrets });
    if (fault.options.retryable) throw fault;
  } else if (isPage(answer, bytes)) {
    throw new UpstreamError('Upstream answered a page', { status: null, retryable: true });
  }
  return new Response(BODILESS.has(status) ? null : new Uint8Array(bytes), {
    status,
    headers: [...answer.headers],
  });
}

const typeOf = ({ headers }: Response): string => headers.get('content-type') ?? '';
const isJson = (answer: Response): boolean => typeOf(answer).includes('json');

/** Whether the answer is an HTML page of an intermediary (a proxy), which says nothing of the work. Some claim to be JSON. */
function isPage(answer: Response, bytes: Buffer): boolean {
  return (
    typeOf(answer).includes('html') || (isJson(answer) && /^\s*</.test(bytes.toString('latin1', 0, 100)))
  );
}
