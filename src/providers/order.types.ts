/**
 * Stores what an upstream was ordered to make for one job, longer than the process lives. A worker that takes the job over polls that order and
 * does not place (and pay) another.
 */
export interface OrderLog {
  /** The idempotency key for upstreams: equal in all attempts of the same work, and different for all other work. */
  key: string;
  /** The reference of the order that was placed before; null if there is none. */
  earlier(): string | null;
  /** Whether the job's claim is committed; before that nothing is ordered that must be paid. */
  held(): Promise<boolean>;
  /** Stores the order's reference. @returns false if another worker has the job: then the order must be cancelled */
  placed(reference: string): Promise<boolean>;
  /** Called after the order was cancelled. */
  withdrawn(reference: string): Promise<void>;
  /** Whether another worker continues the job when the call's signal fires: then the order is not cancelled. */
  isHandedOver(): boolean;
}

/** An engine whose work is ordered and polled. */
export interface Ordering {
  /** Cancels an order whose result is no longer needed. @throws UpstreamError */
  withdraw?(reference: string, signal: AbortSignal): Promise<void>;
}
