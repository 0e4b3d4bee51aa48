import type { Amounts } from '../contract/words.js';
import type { RawBalance } from './amounts.js';
import { balancesOf, toAmounts } from './amounts.js';
import type { Connection } from './connection.js';
import type { Settlement, SettlementEvent } from './metering.types.js';
import { ENDINGS, eventRow } from './settlement-rows.js';
import { bigint, lists, text } from './sql-rows.js';

/** How one operation ends. */
export interface Ending {
  operationId: string;
  /** Null: its reservation is released. */
  amounts: Amounts | null;
  fallback: object | null;
  event: SettlementEvent | null;
  /** Whose operation it is, where this process remembers it. */
  orgId: string | undefined;
  /** Its caller sees nothing of it before it is charged: who is refused meanwhile is not charged either. */
  unseen: boolean;
}

/** The operation ended now, had ended before, or nobody knows it. */
export const STATE = { before: 0, now: 1, unknown: 2 } as const;

export interface Ended {
  state: number;
  charged: Amounts;
  /** Null where the operation is unknown. Shared by all of an organisation. */
  balances: Settlement['balances'] | null;
}

/**
 * What the connection of the settlements begins with. Plans are made once, whatever the tables held then, and must look rows up by their
 * keys; groups are sorted, so that every process locks balances in the same order. What must be on the disk is followed by {@link FLUSH}.
 */
export const SETTLEMENT_SETTINGS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_hashagg: 'off',
  synchronous_commit: 'off',
};

/** Near the end of an allowance an event is due; `penstock_balance_events` says when. */
const ROOM = 'b.allowance[1] + b.topup_start[1] + b.topup_added[1]';
const NO_EVENT_DUE = `(b.allowance[1] = -1 OR b.depleted_fired[1]
        OR (${ROOM} - b.used[1] - s.c) * 10 >= ${ROOM} OR b.low_fired[1] AND ${ROOM} > b.used[1] + s.c)`;

interface Charge {
  credits: number;
  chat_tokens: number;
}

interface Row {
  item: Ending;
  /** Null: released. */
  charge: Charge | null;
}

/** Operations with what each is charged of credits and of their token view; null to release. */
const FITTING_ROWS = lists<Row>({
  op: text(({ item }) => item.operationId),
  c: bigint(({ charge }) => charge && charge.credits),
  t: bigint(({ charge }) => charge && charge.chat_tokens),
});

/**
 * Ends reservations of tokens that were reserved in the period that still runs, are charged no more than they had reserved, give back nothing
 * that an earlier plan covered, and bring no balance to an event: nearly all. Anything else refuses the whole batch (SQLSTATE PM001), with nothing done, and `penstock_settle_batch` goes
 * through it. Parameters: {@link FITTING_ROWS}, sorted by their ids, and the events as JSON (settlement_event). Answers balances by organisation.
 */
const FITTING = {
  name: 'penstock_settle_fitting',
  text: `WITH l AS (
    UPDATE usage_ledger l SET state = CASE WHEN v.c IS NULL THEN 'released' ELSE 'settled' END,
        charged = CASE WHEN v.c IS NOT NULL THEN penstock_token_vector(v.c, v.t) END, settled_at = clock_timestamp()
      FROM ${FITTING_ROWS.from('v')}
      WHERE l.operation_id = v.op AND l.state = 'reserved' AND COALESCE(v.c, 0) <= l.reserved[1] AND 0 = ALL (l.reserved[3:])
      RETURNING l.org_id, l.period_start, COALESCE(v.c, 0) AS c, COALESCE(v.t, 0) AS t, l.reserved[1] AS rc, l.reserved[2] AS rt),
  s AS (
    SELECT l.org_id, l.period_start, count(*) AS n, sum(l.c)::bigint AS c, sum(l.t)::bigint AS t, sum(l.rc)::bigint AS rc, sum(l.rt)::bigint AS rt
      FROM l GROUP BY l.org_id, l.period_start),
  b AS (
    UPDATE balances b SET used[1] = b.used[1] + s.c, used[2] = b.used[2] + s.t, reserved[1] = b.reserved[1] - s.rc, reserved[2] = b.reserved[2] - s.rt
      FROM s WHERE b.org_id = s.org_id AND b.period_start = s.period_start AND NOT b.superseded
        AND b.period_end > clock_timestamp() AND b.used[1] + s.c + b.reserved[1] - s.rc >= b.covered[1] AND ${NO_EVENT_DUE}
      RETURNING b.org_id, s.n, penstock_balance_json(b) AS shown)
  SELECT CASE WHEN sum(b.n) = cardinality($1::text[]) THEN json_object_agg(b.org_id, b.shown)::text ELSE penstock_refuse() END
    FROM b WHERE (
      SELECT count(penstock_emit('events', e.org, penstock_event(e.type, e.org, e.data), e.trace))
        FROM penstock_heard_events($4::json) e) >= 0`,
};

/** Waits until everything before it is on the disk. A transaction of its own, so that no balance is locked during the flush. */
const FLUSH = {
  name: 'penstock_flush',
  text: `SELECT set_config('synchronous_commit', 'on', true), pg_logical_emit_message(true, 'penstock', '')`,
};
const REFUSED = 'PM001';

const EACH = {
  name: 'penstock_settle_batch',
  text: 'CALL penstock_settle_batch(p_endings => $1, p_events => $2)',
};

function mayFit({ amounts, fallback, orgId }: Ending): boolean {
  if (fallback !== null || orgId === undefined) return false;
  return (
    amounts === null || Object.keys(amounts).every((name) => name === 'credits' || name === 'chat_tokens')
  );
}

/** What is charged where it is not more than was reserved: the token view is never more than the credits. */
function chargeOf({ credits = 0, chat_tokens: tokens = 0 }: Amounts): Charge {
  return { credits, chat_tokens: Math.min(tokens, credits * 1000) };
}

const byId = (a: Row, b: Row): number => (a.item.operationId < b.item.operationId ? -1 : 1);

async function settleFitting(
  connection: Connection,
  items: readonly Ending[],
  unheard: true | undefined,
): Promise<Ended[]> {
  const rows = items.map((item): Row => ({ item, charge: item.amounts && chargeOf(item.amounts) }));
  const sorted = rows.toSorted(byId);
  const events = sorted.flatMap(({ item: { event } }) =>
    event === null ? [] : [eventRow(event, { unheard })],
  );
  const answer = await connection.text(
    FITTING,
    [...FITTING_ROWS.values(sorted), JSON.stringify(events)],
    items.some(({ amounts }) => amounts !== null) ? FLUSH : undefined,
  );
  const balances = new Map(
    Object.entries(JSON.parse(String(answer)) as Record<string, RawBalance>).map(([org, raw]) => [
      org,
      balancesOf(raw),
    ]),
  );
  return rows.map(({ item, charge }) => ({
    state: STATE.now,
    charged: charge ?? {},
    balances: balances.get(item.orgId ?? '') ?? null,
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
 * Ends a batch of operations, each once, in their order; repeated, it tells how they had ended.
 * @param unheard true where events are for webhooks only (see settlement_event in SQL)
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
