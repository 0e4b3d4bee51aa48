import type { Plan, Principal } from '../access/access.types.js';
import { ApiError } from '../contract/errors.js';
import type { CallContext } from './call-context.js';
import type { RateState } from './metering.types.js';
import { withRate } from './rates.js';

const WINDOW_MS = 60_000;
/** Over this number of remembered windows, empty ones are deleted. */
const SWEEP_AT = 10_000;

/** Limits of long-lived requests: WebSockets, event streams, long polls (beyond 14.6). */
export interface StreamLimits {
  /**
   * Takes a place among the open streams of a key and its organisation, until the returned function is called.
   * @throws ApiError rate_limited
   */
  hold(principal: Pick<Principal, 'keyId' | 'orgId' | 'plan'>): () => void;
  /**
   * Takes the call's slot in its key's window of opened streams, instead of a slot of the key's own window; once.
   * @throws ApiError rate_limited
   */
  open(call: CallContext): void;
}

/** Counts in the memory of one process. `now` is in milliseconds and monotonic. */
export function createStreamLimits(now: () => number = () => performance.now()): StreamLimits {
  const held = new Map<string, number>();
  const openings = new Map<string, number[]>();
  const change = (owner: string, by: 1 | -1): void => {
    const count = (held.get(owner) ?? 0) + by;
    if (count > 0) held.set(owner, count);
    else held.delete(owner);
  };
  return {
    hold({ keyId, orgId, plan: { streams } }) {
      const isFull =
        (held.get(keyId) ?? 0) >= streams.held || (held.get(orgId) ?? 0) >= streams.heldByOrganization;
      if (isFull) throw new ApiError('rate_limited', 'Too many open streams', { retryAfter: 1 });
      for (const owner of [keyId, orgId]) change(owner, 1);
      let isOpen = true;
      return () => {
        if (isOpen) for (const owner of [keyId, orgId]) change(owner, -1);
        isOpen = false;
      };
    },
    open(call) {
      if (!call.keyWindowOpen) return;
      const { keyId, plan } = call.principal;
      const at = now();
      const times = (openings.get(keyId) ?? []).filter((time) => time > at - WINDOW_MS);
      const isFree = times.length < plan.streams.perMinute;
      if (isFree) times.push(at);
      openings.set(keyId, times);
      if (openings.size > SWEEP_AT) sweep(openings, at - WINDOW_MS);
      call.rate = stateOf(times, plan, at);
      if (!isFree) {
        const retryAfter = Math.max(1, Math.ceil((freeAt(times, at) - at) / 1000));
        throw withRate(new ApiError('rate_limited', 'Rate limit exceeded', { retryAfter }), call.rate);
      }
      call.keyWindowOpen = false;
    },
  };
}

const freeAt = ([first]: number[], at: number): number => (first ?? at) + WINDOW_MS;

function stateOf(times: number[], { streams: { perMinute: limit } }: Plan, at: number): RateState {
  const inMs = freeAt(times, at) - at;
  return { limit, remaining: limit - times.length, reset: Math.ceil((Date.now() + inMs) / 1000) };
}

function sweep(openings: Map<string, number[]>, start: number): void {
  for (const [owner, times] of openings) if ((times.at(-1) ?? 0) <= start) openings.delete(owner);
}
