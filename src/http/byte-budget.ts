import { LRUCache } from 'lru-cache';
import type { Plan, Principal } from '../access/access.types.js';
import { ApiError } from '../contract/errors.js';

const MB = 1024 * 1024;
/** Requests larger than this may not use the last part of the process's budget, so that a few large requests do not block all small ones. */
const SMALL_BYTES = MB;
const SHARE_OF_LARGE = 7 / 8;
/** All keys of one organisation together may use this part of the process's budget. */
const SHARE_OF_ORGANIZATION = 1 / 2;

/** What one request keeps in memory, from the first byte of its body to the end of its work. */
export interface ByteReservation {
  /** Reserves more bytes, before the memory is allocated. @throws ApiError rate_limited (the key's budget), unavailable (the process's) */
  grow(bytes: number): void;
  /**
   * Counts bytes of a long body that were read. @returns the milliseconds until more of it should be read: above its plan's rate an organisation's
   * long bodies wait for each other, so that reading them never takes the process from the others
   */
  read(bytes: number): number;
  /** Reduces the holding to this many bytes. */
  keep(bytes: number): void;
  release(): void;
}

export interface ByteBudget {
  hold(principal: Pick<Principal, 'keyId' | 'orgId' | 'plan'>): ByteReservation;
  /** What all requests of the process hold. */
  readonly held: number;
}

/** An organisation that has been quiet may send as much at once as it may send in this time. */
const BURST_SECONDS = 2;

/**
 * What an organisation has read is forgotten at `mbPerSecond`. @returns the milliseconds until it has no more than {@link BURST_SECONDS} of that
 * to its account
 */
function createPace() {
  const accounts = new LRUCache<string, { bytes: number; at: number }>({ max: 10_000 });
  return (orgId: string, { bytes, plan: { bodies } }: { bytes: number; plan: Plan }): number => {
    const now = performance.now();
    const perMs = (bodies.mbPerSecond * MB) / 1000;
    const { bytes: before, at } = accounts.get(orgId) ?? { bytes: 0, at: now };
    const read = Math.max(0, before - (now - at) * perMs) + bytes;
    accounts.set(orgId, { bytes: read, at: now });
    return Math.max(0, read / perMs - BURST_SECONDS * 1000);
  };
}

/**
 * Limits the bytes of requests that a process holds in memory at a time: for each key (plan data), for each organisation, and in all. A request
 * over a limit is refused before its memory is allocated.
 */
export function createByteBudget(processBytes: number): ByteBudget {
  const byOwner = new Map<string, number>();
  let held = 0;
  const pace = createPace();
  const of = (owner: string): number => byOwner.get(owner) ?? 0;
  const add = (owner: string, bytes: number): void => {
    const sum = of(owner) + bytes;
    if (sum > 0) byOwner.set(owner, sum);
    else byOwner.delete(owner);
  };
  return {
    get held() {
      return held;
    },
    hold({ keyId, orgId, plan }) {
      let own = 0;
      const change = (bytes: number): void => {
        own += bytes;
        held += bytes;
        add(keyId, bytes);
        add(orgId, bytes);
      };
      return {
        grow(bytes) {
          const isOverOwn =
            of(keyId) + bytes > plan.bodies.heldMb * MB ||
            of(orgId) + bytes > processBytes * SHARE_OF_ORGANIZATION;
          if (isOverOwn)
            throw new ApiError('rate_limited', 'Too many request bytes in progress', { retryAfter: 1 });
          const limit = own + bytes > SMALL_BYTES ? processBytes * SHARE_OF_LARGE : processBytes;
          if (held + bytes > limit)
            throw new ApiError('unavailable', 'Service temporarily unavailable', { retryAfter: 1 });
          change(bytes);
        },
        read: (bytes) => pace(orgId, { bytes, plan }),
        keep(bytes) {
          if (bytes < own) change(bytes - own);
        },
        release() {
          change(-own);
        },
      };
    },
  };
}
