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
  /** Whether an answer says no more than that the work goes on. */
  isOpen?: ((status: number, text: string) => boolean) | undefined;
}

/**
 * A package's request about what it ordered, or for the file that came of it. The package would give the order up with the first one that
 * fails, some also after a minute or two; so it is given an answer that came whole, and only where none does, after some time, the fault.
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
    const goesOn =
      isOpen !== undefined && isJson(answer) && isOpen(answer.status, await answer.clone().text());
    if (!goesOn || performance.now() > end) return answer;
    await pause(pollMs, signal);
  }
}

/** @throws UpstreamError for a fault that passes; what an upstream says for good is for the package to read */
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

/** A page of something in between, which says nothing of the work; some are served under the name of what was asked for. */
function isPage(answer: Response, bytes: Buffer): boolean {
  return (
    typeOf(answer).includes('html') || (isJson(answer) && /^\s*</.test(bytes.toString('latin1', 0, 100)))
  );
}
