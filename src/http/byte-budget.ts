import type { Principal } from '../access/access.types.js';
import { ApiError } from '../contract/errors.js';

const MB = 1024 * 1024;
/** Larger requests leave the last part of the process's budget to smaller ones: a few large ones do not turn everybody away. */
const SMALL_BYTES = MB;
const SHARE_OF_LARGE = 7 / 8;
/** All keys of an organisation together leave at least as much to the others. */
const SHARE_OF_ORGANIZATION = 1 / 2;

/** What one request keeps in memory, from the first byte of its body to the end of its work. */
export interface Holding {
  /** Adds to it, before the memory is taken. @throws ApiError rate_limited (its key's budget), unavailable (the process's) */
  grow(bytes: number): void;
  /** Holds no more than so much from now on. */
  keep(bytes: number): void;
  release(): void;
}

export interface ByteBudget {
  hold(principal: Pick<Principal, 'keyId' | 'orgId' | 'plan'>): Holding;
  /** What all requests of the process hold. */
  readonly held: number;
}

/**
 * How many bytes of requests a process reads or holds at a time, for each key (plan data), each organisation and in all: who asks for more waits,
 * before memory is at stake.
 */
export function createByteBudget(processBytes: number): ByteBudget {
  const byOwner = new Map<string, number>();
  let held = 0;
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
