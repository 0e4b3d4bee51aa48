import { ApiError } from '../../contract/errors.js';

const MB = 1_048_576;
/** What one organisation may send to a process at a time, so that its bodies do not fill the disk before they are taken. */
const MAX_BODIES = 32;
const MAX_BYTES = 512 * MB;

/** Counts the bodies that come in. */
export interface Bodies {
  /** @returns what ends it @throws ApiError rate_limited */
  acquire(orgId: string, bytes: number): () => void;
}

export function createBodies(): Bodies {
  const under = new Map<string, { bodies: number; bytes: number }>();
  const add = (orgId: string, bodies: number, bytes: number): void => {
    const before = under.get(orgId) ?? { bodies: 0, bytes: 0 };
    const after = { bodies: before.bodies + bodies, bytes: before.bytes + bytes };
    if (after.bodies === 0) under.delete(orgId);
    else under.set(orgId, after);
  };
  return {
    acquire(orgId, bytes) {
      const held = under.get(orgId);
      if (held !== undefined && (held.bodies >= MAX_BODIES || held.bytes + bytes > MAX_BYTES))
        throw new ApiError('rate_limited', 'Too many uploads in progress', { retryAfter: 1 });
      add(orgId, 1, bytes);
      return () => add(orgId, -1, -bytes);
    },
  };
}
