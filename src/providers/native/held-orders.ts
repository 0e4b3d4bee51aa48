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

/** Takes back an order that its answer's `id` names. */
export const requestBelow =
  (method: ApiRequest['method'], of: (id: string) => string): HeldOrderRules['withdraw'] =>
  (answer) => {
    const id = idOf(answer);
    return id === null ? null : { method, path: of(id) };
  };

/** A longer answer is the work itself, not an order's name. */
const MAX_ANSWER = 64 * 1024;
const WITHDRAW_MS = 5000;
/** An upstream that does not know an order (any more). */
const UNKNOWN = new Set([404, 410]);

/** One call of a package: what its POSTs were answered, in order, by this attempt or an earlier one. */
interface HeldCall {
  log: OrderLog;
  /** Of who waits for the work; packages have others besides. */
  signal: AbortSignal | undefined;
  keys: readonly string[];
  answers: string[];
  next: number;
}

export interface HeldOrders {
  /** For the package: a POST that was answered before is not sent again, and a question that fails for the moment is asked again. */
  fetch: OutboundFetch['fetch'];
  /** Work of a package whose orders are remembered. @throws UpstreamError as the work does */
  during: Guarded;
  /** Takes an order back, where the provider can do that. @throws UpstreamError */
  withdraw(reference: string, signal: AbortSignal): Promise<void>;
}

interface HeldOptions {
  /** How the package's orders are known; undefined: it orders nothing. */
  ordered: HeldOrderRules | undefined;
  /** An answer that repeats one is not kept. */
  keys: readonly string[];
  /** Values that must never show in an error's message. */
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
 * Provider packages order and ask in one go, and keep what names an order to themselves. So the answers to their orders are remembered: whoever
 * takes a job over is given those, and the package asks about the order that was placed before instead of placing (and paying) another.
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
      // Of a cancelled job it stays noted: a worker's sweep tries once more.
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
      // What goes on here or elsewhere finds its order again.
      if (!retryable && !(error.fault === 'aborted' && log.goesOn())) await takeBack(log, reference);
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

/** Without the wish to be answered only when the work is done: until then nobody would know the order's name. */
function headersOf(call: HeldCall, { headers: given }: RequestInit): Headers {
  const headers = new Headers(given);
  headers.delete('prefer');
  headers.set('idempotency-key', `${call.log.key}-${call.next}`);
  return headers;
}

/** Sends an order, not cut off by anything, and remembers its answer. */
async function place(call: HeldCall, send: () => Promise<Response>): Promise<Response> {
  const answer = await send();
  if (!answer.ok || !(answer.headers.get('content-type') ?? '').includes('json')) return answer;
  // Taken, and perhaps paid: it is not placed once more because its answer breaks off.
  const text = await answer.text().catch((error: unknown) => {
    throw brokenAnswer('an order in part', error);
  });
  if (text.length <= MAX_ANSWER && !call.keys.some((key) => text.includes(key))) {
    call.answers.push(text);
    // Somebody else's by now: what was ordered is taken back, as of any aborted call.
    if (!(await call.log.placed(JSON.stringify(call.answers)))) throw abortedError();
  }
  return asAnswer(text);
}
