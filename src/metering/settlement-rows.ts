/** The parameters of `penstock_settle_batch` (migrations/current/metering/settlement_types.sql explains each column). */
import { toVector } from './amounts.js';
import type { SettlementEvent } from './metering.types.js';
import type { Ending } from './settlement-batch.js';
import { bigints, json, rowType, text, vector } from './sql-rows.js';

export const ENDINGS = rowType<Ending>('settlement_ending', {
  operation_id: text(({ operationId }) => operationId),
  amounts: bigints(({ amounts }) => amounts && vector(toVector(amounts))),
  fallback: json(({ fallback }) => fallback && JSON.stringify(fallback)),
});

/** An event as JSON, with the names of `settlement_event`. Undefined values are left out. */
export function eventRow(
  { orgId: org, type, data, traceparent }: SettlementEvent,
  { unheard, at }: { unheard: true | undefined; at?: number },
) {
  return { at, org, type, data, unheard, trace: traceparent ?? undefined };
}
