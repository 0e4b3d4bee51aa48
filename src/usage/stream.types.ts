import type { Amounts } from '../contract/words.js';
import type { QuotaReport } from '../metering/metering.types.js';
import type { UsageRecord } from './usage.types.js';

export const USAGE_UPDATE_TYPES = ['operation', 'top_up', 'adjustment', 'period'] as const;
export type UsageUpdateType = (typeof USAGE_UPDATE_TYPES)[number];

/** How a period stands where no other row says it: amounts in hundredths by bucket, in the order of BUCKETS; an allowance of -1 is unlimited. */
export interface PeriodOpening {
  /** ISO 8601. */
  periodStart: string;
  periodEnd: string;
  allowance: number[];
  /** Units of top-ups that earlier periods left over, and those that were added in this one. */
  topupStart: number[];
  topupAdded: number[];
  used: number[];
}

/**
 * A numbered row of an organisation's ledger. `period` sets a period's balance to its opening; every other row adds `amounts` to what is used of
 * its period, and `granted` to what was added. So the rows from the first one on give every balance.
 */
export interface UsageUpdate {
  /** Counts from 1 for each organisation, without a hole. */
  sequence: number;
  type: UsageUpdateType;
  orgId: string;
  /** When its period began. */
  periodStart: Date;
  /** The charge in hundredths; negative for a refund. */
  amounts: Amounts;
  granted: Amounts;
  opening: PeriodOpening | null;
  /** The operation's record as it is now; null of a period. */
  record: UsageRecord | null;
  at: Date;
}

/** Reads what the streams of usage and quotas are made of. */
export interface UsageStreamSource {
  /** Rows with a number > after, at most `limit`, in order. */
  updates(orgId: string, after: number, limit: number): Promise<UsageUpdate[]>;
  /** The last numbers of these organisations; 0 before the first. */
  positions(orgIds: string[]): Promise<Map<string, number>>;
  /** A text for each organisation that changes whenever its quota does. */
  quotaStates(orgIds: string[]): Promise<Map<string, string>>;
}

/** The live usage and quota of one process's subscribers (beyond 13.7). */
export interface UsageEvents {
  /**
   * The numbered rows of the ledger, without a hole. Without `after` the first is the last one that there is; with `after`, exactly those after it.
   * @throws ApiError invalid_request for an `after` that is beyond the last row
   */
  follow(orgId: string, after?: number): Promise<AsyncIterableIterator<UsageUpdate>>;
  /** The quota at once, and then whenever it has moved, twice a second at most. */
  quota(orgId: string): AsyncIterableIterator<QuotaReport>;
}
