/**
 * The parameters of the statements that end operations (migrations/current/metering/settlement_types.sql explains each column).
 */
import { PRICED_TOKENS } from '../pricing/pricing.types.js';
import { toVector } from './amounts.js';
import type { OperationOutcome, SettlementEvent } from './metering.types.js';
import type { Ending } from './settlement-batch.js';
import { bigint, bigints, integer, json, rowType, text, vector } from './sql-rows.js';

const MAX_INTEGER = 2 ** 31 - 1;

type OutcomeText = (
  name: 'errorCode' | 'answeredModel' | 'provider' | 'upstreamId' | 'costVersion',
) => ReturnType<typeof text<Ending>>;
const outcomeText: OutcomeText = (name) => text(({ outcome }) => outcome && outcome[name]);

function milliseconds(outcome: OperationOutcome | null): number | null {
  const ms = outcome?.firstTokenMs ?? null;
  return ms === null ? null : Math.min(Math.round(ms), MAX_INTEGER);
}

export const ENDINGS = rowType<Ending>('settlement_ending', {
  operation_id: text(({ operationId }) => operationId),
  amounts: bigints(({ amounts }) => amounts && vector(toVector(amounts))),
  fallback: json(({ fallback }) => fallback && JSON.stringify(fallback)),
  status: text(({ outcome }) => outcome && outcome.status),
  error_code: outcomeText('errorCode'),
  answered_model: outcomeText('answeredModel'),
  provider: outcomeText('provider'),
  upstream_id: outcomeText('upstreamId'),
  first_token_ms: integer(({ outcome }) => milliseconds(outcome)),
  tokens: bigints(({ outcome }) => {
    const tokens = outcome?.tokens ?? null;
    return tokens && vector(PRICED_TOKENS.map((name) => tokens[name]));
  }),
  cost_nano: bigint(({ outcome }) => outcome && outcome.costNano),
  cost_version: outcomeText('costVersion'),
});

/** An event as JSON, with the names of `settlement_event`. Undefined values are left out. */
export function eventRow(
  { orgId: org, type, data, traceparent }: SettlementEvent,
  { unheard, at }: { unheard: true | undefined; at?: number },
) {
  return { at, org, type, data, unheard, trace: traceparent ?? undefined };
}
