import type { Database } from '../database/index.js';
import { toAmounts } from '../metering/index.js';
import { toRecord } from './records.js';
import type { Row } from './records.js';
import { ON_DISK, POSITIONS, QUOTA_STATES, UPDATES } from './usage.queries.js';
import type { PeriodOpening, UsageStreamSource, UsageUpdate, UsageUpdateType } from './stream.types.js';

/** A row as `UPDATES` and `PUBLISH_NEXT` read it. */
export interface UpdateRow extends Row {
  sequence: number;
  period_start: Date;
  charged: number[] | null;
  opening: PeriodOpening | null;
}

const OTHERS: readonly string[] = ['top_up', 'adjustment', 'period'] satisfies UsageUpdateType[];

export function toUpdate(row: UpdateRow): UsageUpdate {
  const { sequence, kind, org_id: orgId, period_start: periodStart, charged, granted, opening } = row;
  const type = (OTHERS.includes(kind) ? kind : 'operation') as UsageUpdateType;
  return {
    sequence,
    type,
    orgId,
    periodStart,
    amounts: toAmounts(charged ?? []),
    granted: toAmounts(granted ?? []),
    opening,
    record: type === 'period' ? null : toRecord(row),
    at: row.settled_at ?? row.created_at,
  };
}

/** @see UsageStreamSource */
export function createUsageStreamSource({ system }: Pick<Database, 'system'>): UsageStreamSource {
  let flush: Promise<unknown> | null = null;
  /** Those who ask in one turn share one. */
  const onDisk = (): Promise<unknown> =>
    (flush ??= Promise.resolve().then(() => {
      flush = null;
      return system.query(ON_DISK);
    }));
  return {
    async updates(orgId, after, limit) {
      const rows = await system.query<UpdateRow>(UPDATES, [orgId, after, limit]);
      if (rows.length > 0) await onDisk();
      return rows.map(toUpdate);
    },
    async positions(orgIds) {
      const rows = await system.query<{ id: string; sequence: number }>(POSITIONS, [orgIds]);
      return new Map(rows.map(({ id, sequence }) => [id, sequence]));
    },
    async quotaStates(orgIds) {
      const rows = await system.query<{ id: string; state: string }>(QUOTA_STATES, [orgIds]);
      return new Map(rows.map(({ id, state }) => [id, state]));
    },
  };
}
