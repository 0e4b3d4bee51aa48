import type { Principal } from '../access/access.types.js';
import type { Database } from '../database/index.js';
import type { RateState } from './metering.types.js';
import { keyRule, ownRule, stricterRate } from './rates.js';
import type { WindowRule } from './rates.js';
import { PEEK } from './metering.queries.js';

/** A caller does not wait longer for rate headers: while PostgreSQL is away the answer has none. */
const TIMEOUT_MS = 2_000;

interface Row {
  now: number;
  /** Null: the key has made no call yet. */
  slots: number | null;
  /** Null: every slot is free. */
  gains_at: number | null;
}

/** Reads the state of the key's own window without taking a slot, for the X-RateLimit-* headers of a refusal before step 4 of decisions 1. */
export function createRatePeek(
  database: Pick<Database, 'system'>,
): (principal: Principal) => Promise<RateState> {
  const look = async (id: string, { limit, lengthUs }: WindowRule): Promise<RateState> => {
    const peek = database.system.query<Row>(PEEK, [id, 'key', lengthUs]);
    const [row] = await within(peek, TIMEOUT_MS);
    if (row === undefined) throw new Error('the clock answered nothing');
    const remaining = Math.min(limit, row.slots ?? limit);
    return { limit, remaining, reset: Math.ceil((row.gains_at ?? row.now) / 1_000_000) };
  };
  return async (principal) => {
    const state = await look(principal.keyId, keyRule(principal));
    const { token } = principal;
    const own = ownRule(principal);
    if (token === undefined || own === null) return state;
    return stricterRate(state, await look(token.id, own)) ?? state;
  };
}

async function within<T>(work: Promise<T>, timeoutMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('the rate window could not be read in time')), timeoutMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
