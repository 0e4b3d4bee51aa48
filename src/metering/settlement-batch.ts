import type { Amounts } from '../contract/words.js';
import type { RawBalance } from './amounts.js';
import { balancesOf, toAmounts } from './amounts.js';
import type { Connection } from './connection.js';
import type { OperationOutcome, Settlement, SettlementEvent } from './metering.types.js';
import { ENDINGS, eventRow } from './settlement-rows.js';
import { EACH, FITTING, FLUSH, REFUSED } from './settlement.queries.js';

/** The end of one operation. */
export interface Ending {
  operationId: string;
  /** Null: its reservation is released. */
  amounts: Amounts | null;
  /** The outcome for its record. Null: the record stays unchanged. */
  outcome: OperationOutcome | null;
  fallback: object | null;
  event: SettlementEvent | null;
  /** The operation's organisation, if this process remembers it. */
  orgId: string | undefined;
  /** The caller has not seen the answer yet: if the caller is refused, the operation is not charged. */
  unseen: boolean;
}

/** The operation has ended now, had ended before, or is unknown. */
export const STATE = { before: 0, now: 1, unknown: 2 } as const;

export interface Ended {
  state: number;
  charged: Amounts;
  /** Null if the operation is unknown. All operations of an organisation share it. */
  balances: Settlement['balances'] | null;
}

function mayFit({ amounts, fallback, orgId }: Ending): boolean {
  if (fallback !== null || orgId === undefined) return false;
  return (
    amounts === null || Object.keys(amounts).every((name) => name === 'credits' || name === 'chat_tokens')
  );
}

/** The charge of credits and `chat_tokens`, for an operation that is charged no more than it reserved. */
function chargeOf({ credits = 0, chat_tokens: tokens = 0 }: Amounts): Amounts {
  return { credits, chat_tokens: Math.min(tokens, credits * 1000) };
}

const byId = (a: Ending, b: Ending): number => (a.operationId < b.operationId ? -1 : 1);

async function settleFitting(
  connection: Connection,
  items: readonly Ending[],
  unheard: true | undefined,
): Promise<Ended[]> {
  const sorted = items.toSorted(byId);
  const events = sorted.flatMap(({ event }) => (event === null ? [] : [eventRow(event, { unheard })]));
  const answer = await connection.text(
    FITTING,
    [ENDINGS.rows(sorted), JSON.stringify(events)],
    items.some(({ amounts }) => amounts !== null) ? FLUSH : undefined,
  );
  const balances = new Map(
    Object.entries(JSON.parse(String(answer)) as Record<string, RawBalance>).map(([org, raw]) => [
      org,
      balancesOf(raw),
    ]),
  );
  return items.map(({ amounts, orgId }) => ({
    state: STATE.now,
    charged: amounts === null ? {} : chargeOf(amounts),
    balances: balances.get(orgId ?? '') ?? null,
  }));
}

interface EachAnswer {
  items: [state: number, balance: number, charged?: number[]][];
  balances: RawBalance[];
}

async function settleEach(
  connection: Connection,
  items: readonly Ending[],
  unheard: true | undefined,
): Promise<Ended[]> {
  const events = items.flatMap(({ event }, i) =>
    event === null ? [] : [eventRow(event, { unheard, at: i + 1 })],
  );
  const answer = await connection.text(EACH, [ENDINGS.rows(items), JSON.stringify(events)]);
  if (answer === null) throw new Error('penstock_settle_batch answered nothing');
  const { items: ended, balances } = JSON.parse(answer) as EachAnswer;
  const shown = balances.map(balancesOf);
  return ended.map(([state, index, charged]) => ({
    state,
    charged: toAmounts(charged ?? []),
    balances: shown[index] ?? null,
  }));
}

const isRefused = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: string }).code === REFUSED;

/**
 * Ends a batch of operations, each once, in their order. If repeated, it returns how they ended the first time.
 * @param unheard true if events are for webhooks only (see settlement_event in SQL)
 */
export async function settleBatch(
  connection: Connection,
  items: readonly Ending[],
  unheard: true | undefined,
): Promise<Ended[]> {
  if (items.every(mayFit)) {
    try {
      return await settleFitting(connection, items, unheard);
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
  }
  return await settleEach(connection, items, unheard);
}
