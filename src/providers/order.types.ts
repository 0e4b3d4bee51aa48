/**
 * Remembers, longer than a process lives, what an upstream was ordered to make for one job: whoever takes the job over asks about that
 * order instead of placing and paying another.
 */
export interface OrderLog {
  /** The same for the same work in every attempt, and for no other: what an upstream knows a repeated request by. */
  key: string;
  /** What names the order that was placed before; null where there is none. */
  earlier(): string | null;
  /** Whether the job is ours for certain; before that nothing is ordered that would have to be paid. */
  held(): Promise<boolean>;
  /** Keeps the order's name. @returns false where the job is somebody else's by now: the order is to be taken back */
  placed(reference: string): Promise<boolean>;
  /** The order was taken back. */
  withdrawn(reference: string): Promise<void>;
  /** Whether the job goes on elsewhere once the call's signal fires: its order then stays. */
  goesOn(): boolean;
}

/** An engine whose work is ordered and asked about. */
export interface Ordering {
  /** Takes an order back that nobody follows any more. @throws UpstreamError */
  withdraw?(reference: string, signal: AbortSignal): Promise<void>;
}
