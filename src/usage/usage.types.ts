import type { Page, PageQuery } from '../collections/page.js';
import type { Amounts, ClientInfo } from '../contract/words.js';
import type { Reconciliation } from './reconcile.js';
import type { OperationKind, TokenClasses } from '../metering/metering.types.js';

export const OPERATION_STATUSES = ['succeeded', 'failed', 'cancelled'] as const;
/** How an operation ended. */
export type OperationStatus = (typeof OPERATION_STATUSES)[number];

/** By what a summary groups. */
export const USAGE_DIMENSIONS = [
  'model',
  'provider',
  'key',
  'endUser',
  'operation',
  'status',
  'tag',
] as const;
export type UsageDimension = (typeof USAGE_DIMENSIONS)[number];

export const USAGE_INTERVALS = ['hour', 'day', 'month'] as const;
export type UsageInterval = (typeof USAGE_INTERVALS)[number];

/** Which records count: those that have one of the values of each list that is given. */
export interface UsageFilter {
  models?: readonly string[] | null | undefined;
  providers?: readonly string[] | null | undefined;
  keyIds?: readonly string[] | null | undefined;
  endUsers?: readonly string[] | null | undefined;
  tags?: readonly string[] | null | undefined;
  operations?: readonly string[] | null | undefined;
  statuses?: readonly string[] | null | undefined;
}

/** Also by the time of the admission. */
export interface UsageRecordFilter extends UsageFilter {
  since?: Date | null | undefined;
  until?: Date | null | undefined;
}

/** A row of the ledger (beyond 13.1). */
export interface UsageRecord {
  id: string;
  orgId: string;
  operation: OperationKind;
  state: 'reserved' | 'settled' | 'released';
  requestId: string | null;
  jobId: string | null;
  runId: string | null;
  /** The run whose agent made the call. */
  parentRunId: string | null;
  keyId: string | null;
  endUser: string | null;
  tags: string[];
  model: string | null;
  answeredModel: string | null;
  provider: string | null;
  upstreamId: string | null;
  /** Null while it is open, and of what is no operation. */
  status: OperationStatus | null;
  errorCode: string | null;
  latencyMs: number | null;
  firstTokenMs: number | null;
  tokens: TokenClasses | null;
  /** USD, exact; null: unknown, or the operation is open. */
  costUsd: string | null;
  costVersion: string | null;
  client: ClientInfo;
  /** Hundredths. Reserved amounts while open, charged amounts once settled, {} once released. */
  amounts: Amounts;
  /** Hundredths that an operator's top-up added to buckets; {} for every other kind. */
  granted: Amounts;
  createdAt: string;
  settledAt: string | null;
  /** The number of its end in the organisation; null while it is open. */
  sequence: number | null;
}

/** Records, newest first, each with its cursor. */
export interface UsagePage extends Page<UsageRecord> {
  cursors: string[];
}

export interface UsageQuery extends PageQuery {
  orgId: string;
  filter?: UsageRecordFilter;
}

export interface SummaryQuery {
  orgId: string;
  /** Default: 30 days before `until`. */
  since?: Date | null | undefined;
  /** Default: now. */
  until?: Date | null | undefined;
  /** Default `day`. */
  interval?: UsageInterval | null | undefined;
  groupBy?: readonly UsageDimension[] | null | undefined;
  filter?: UsageFilter | null | undefined;
  /** A name of the IANA database. Default `UTC`. */
  timeZone?: string | null | undefined;
}

/** What was used in one interval by one value of each dimension that was asked for. */
export interface SummaryRow {
  /** The beginning of the interval in the time zone. */
  start: Date;
  model: string | null;
  provider: string | null;
  keyId: string | null;
  endUser: string | null;
  tag: string | null;
  operation: string | null;
  status: OperationStatus | null;
  requests: number;
  errors: number;
  tokens: TokenClasses;
  /** The sum of the known costs, exact. */
  costUsd: string;
  /** Operations whose cost is unknown. */
  unpriced: number;
  /** Hundredths. */
  amounts: Amounts;
  latencyMs: { p50: number | null; p95: number | null };
}

export const OVERALL_DIMENSIONS = ['day', 'organization', 'model', 'provider'] as const;
/** By what usage over all organisations is grouped. */
export type OverallDimension = (typeof OVERALL_DIMENSIONS)[number];

/** Times are cut to days (UTC): `since` down, `until` up. */
export interface OverallQuery {
  /** Default: 30 days before `until`. */
  since?: Date | null | undefined;
  /** Default: now. */
  until?: Date | null | undefined;
  groupBy: readonly OverallDimension[];
  /** Absent: all organisations. */
  orgIds?: readonly string[];
}

/** What was used in all organisations together by one value of each dimension that was asked for. */
export interface OverallRow {
  /** The beginning of the day. */
  day: Date | null;
  orgId: string | null;
  orgName: string | null;
  model: string | null;
  provider: string | null;
  requests: number;
  errors: number;
  tokens: TokenClasses;
  /** The sum of the known costs, exact. */
  costUsd: string;
  /** Operations whose cost is unknown. */
  unpriced: number;
}

export interface UsageExportQuery {
  orgId: string;
  filter: UsageRecordFilter;
  format: 'csv' | 'jsonl';
}

/** What was used: records, and what they add up to (beyond 13.1, 13.6). */
export interface Usage {
  /** Over organisations, from the rollups, the dearest first: for operators. @throws ApiError invalid_request */
  overall(query: OverallQuery): Promise<OverallRow[]>;
  /** What each provider answered within the last hour, over all organisations, by its id. */
  lastHour(): Promise<
    Map<string, { requests: number; errors: number; latencyMs: { p50: number | null; p95: number | null } }>
  >;
  /** Newest first. `after` takes the cursor of any record. @throws ApiError invalid_request */
  records(query: UsageQuery): Promise<UsagePage>;
  /** How many records a filter leaves. @throws ApiError invalid_request */
  count(orgId: string, filter: UsageRecordFilter): Promise<number>;
  /** Those of these ids that the organisation has, in no order. */
  recordsById(orgId: string, ids: readonly string[]): Promise<UsageRecord[]>;
  /** In order of time, then of what it is grouped by. @throws ApiError invalid_request */
  summary(query: SummaryQuery): Promise<SummaryRow[]>;
  /** The text of all records of a filter, newest first, in pieces. @throws ApiError invalid_request before the first piece */
  export(query: UsageExportQuery): AsyncIterable<string>;
  /** Operator: folds an organisation's ledger anew. Answers how many rows it folded. */
  rebuild(orgId: string): Promise<number>;
  /** Operator: adds all up again and names what differs. @param invoice CSV, compared with the ledger by the upstreams' ids of answers */
  reconcile(orgId: string, invoice: Uint8Array | null): Promise<Reconciliation>;
}
