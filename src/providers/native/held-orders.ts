import { AsyncLocalStorage } from 'node:async_hooks';
import type { OrderLog } from '../order.types.js';
import type { ApiClient, ApiRequest, Fields } from '../predictions/api-client.js';
import { isFields } from '../predictions/api-client.js';
import type { OperationLimits } from '../predictions/operation.js';
import { UpstreamError } from '../providers.types.js';
import { abortedError, brokenAnswer } from '../openai-compatible/upstream-errors.js';
import { requestOfOrder } from './order-requests.js';
import type { HeldOrderRules } from './native-provider.types.js';
import type { OutboundFetch } from './outbound-fetch.js';
import type { Guarded } from './guarded.types.js';

const idOf = ({ id }: Fields): string | null =>
  typeof id === 'string' && id !== '' ? encodeURIComponent(id) : null;

/** Cancels an order whose reference is the `id` in its answer. */
export const requestBelow =
  (method: ApiRequest['method'], of: (id: string) => string): HeldOrderRules['withdraw'] =>
  (answer) => {
    const id = idOf(answer);
    return id === null ? null : { method, path: of(id) };
  };

/** A longer answer is the result itself, not an order. */
const MAX_ANSWER = 64 * 1024;
const WITHDRAW_MS = 5000;
/** Statuses of an unknown or deleted order. */
const UNKNOWN = new Set([404, 410]);

/** One call of a package, with the answers to its POSTs, in order, in this attempt or an earlier one. */
interface HeldCall {
  log: OrderLog;
  /** The caller's signal; packages also make signals of their own. */
  signal: AbortSignal | undefined;
  keys: readonly string[];
  answers: string[];
  next: number;
}

export interface HeldOrders {
  /** The package's `fetch`: a POST that was answered before is not sent again, and a poll that fails temporarily is repeated. */
  fetch: OutboundFetch['fetch'];
  /** Runs a package's work and stores its orders. @throws UpstreamError as the work does */
  during: Guarded;
  /** Cancels an order, if the provider supports that. @throws UpstreamError */
  withdraw(reference: string, signal: AbortSignal): Promise<void>;
}

interface HeldOptions {
  /** How to recognise the package's orders; undefined: it places none. */
  ordered: HeldOrderRules | undefined;
  /** API keys: an answer that contains one is not stored. */
  keys: readonly string[];
  /** Values that must never appear in an error message. */
  secrets: readonly string[];
  limits: OperationLimits;
  fetch: OutboundFetch['fetch'];
  api: ApiClient;
}

function answersOf(reference: string | null): string[] {
  const answers: unknown = reference === null ? [] : JSON.parse(reference);
  return Array.isArray(answers) ? answers.map(String) : [];
}

const asAnswer = (text: string): Response =>
  new Response(text, { headers: { 'content-type': 'application/json' } });

/**
 * Provider packages place and poll an order in one call, and do not reveal its reference. So the answers to their orders are stored. When another
 * worker takes the job over, the package gets the stored answers and polls the earlier order, and does not place (and pay) another.
 */
export function createHeldOrders(options: HeldOptions): HeldOrders {
  const { ordered, keys, fetch, api } = options;
  const calls = new AsyncLocalStorage<HeldCall>();
  const withdraw = async (reference: string, signal: AbortSignal): Promise<void> => {
    const answer: unknown = JSON.parse(answersOf(reference).at(-1) ?? 'null');
    const request = isFields(answer) ? ordered?.withdraw?.(answer) : null;
    if (request != null) await api.bytes({ ...request, signal });
  };
  const takeBack = async (log: OrderLog, reference: string): Promise<void> => {
    try {
      await withdraw(reference, AbortSignal.timeout(WITHDRAW_MS));
      await log.withdrawn(reference);
    } catch {
      // The order of a cancelled job stays stored: a worker's sweep tries to cancel it once more.
    }
  };
  const follow = async <T>(
    { log, signal }: Pick<HeldCall, 'log' | 'signal'>,
    earlier: readonly string[],
    work: () => PromiseLike<T>,
  ): Promise<T> => {
    const call: HeldCall = { log, signal, keys, answers: [...earlier], next: 0 };
    try {
      return await calls.run(call, work);
    } catch (error) {
      const reference = JSON.stringify(call.answers);
      if (call.answers.length === 0 || !(error instanceof UpstreamError)) throw error;
      const { status, retryable } = error.options;
      if (earlier.length > 0 && UNKNOWN.has(status ?? 0)) {
        await log.withdrawn(reference);
        return await follow(call, [], work);
      }
      // An attempt that continues, here or elsewhere, needs the stored order.
      if (!retryable && !(error.fault === 'aborted' && log.isHandedOver())) await takeBack(log, reference);
      throw error;
    }
  };
  return {
    withdraw,
    async fetch(input, init) {
      const call = calls.getStore();
      if (call === undefined) return await fetch(input, init);
      const url = new URL(input instanceof Request ? input.url : input);
      if (init?.method !== 'POST' || ordered?.question?.test(url.pathname) === true)
        return await requestOfOrder(() => fetch(input, { ...init, signal: call.signal ?? null }), {
          ...options,
          isOpen: ordered?.isOpen,
          signal: call.signal,
        });
      const known = call.answers[call.next++];
      if (known !== undefined) return asAnswer(known);
      if (!(await call.log.held())) throw abortedError();
      return await place(call, () => fetch(input, { ...init, headers: headersOf(call, init), signal: null }));
    },
    async during({ orders: log, signal }, work) {
      if (log === undefined || ordered === undefined) return await work();
      return await follow({ log, signal }, answersOf(log.earlier()), work);
    },
  };
}

/** Removes the header `Prefer: wait`: with it the order's reference would only be known when the work is done. */
function headersOf(call: HeldCall, { headers: given }: RequestInit): Headers {
  const headers = new Headers(given);
  headers.delete('prefer');
  headers.set('idempotency-key', `${call.log.key}-${call.next}`);
  return headers;
}

/** Sends an order without an abort signal, and stores its answer. */
async function place(call: HeldCall, send: () => Promise<Response>): Promise<Response> {
  const answer = await send();
  if (!answer.ok || !(answer.headers.get('content-type') ?? '').includes('json')) return answer;
  // The order was accepted and perhaps paid: it is not placed again if reading its answer fails.
  const text = await answer.text().catch((error: unknown) => {
    throw brokenAnswer('an order in part', error);
  });
  if (text.length <= MAX_ANSWER && !call.keys.some((key) => text.includes(key))) {
    call.answers.push(text);
    // Another worker has the job: the order is cancelled, as for any aborted call.
    if (!(await call.log.placed(JSON.stringify(call.answers)))) throw abortedError();
  }
  return asAnswer(text);
}
