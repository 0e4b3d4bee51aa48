import type { PlanCode } from '../contract/words.js';

/** The subscription columns of an organisation's row. */
export interface Subscription {
  planCode: PlanCode;
  subscriptionId: string | null;
  status: 'none' | 'active' | 'cancelled';
  anchorAt: Date;
  endsAt: Date | null;
}

export type SubscriptionEvent = 'subscription.created' | 'subscription.updated' | 'subscription.cancelled';

/** A subscription after a change, and the event of the change; null: no event. */
export interface SubscriptionMove {
  next: Subscription;
  event: SubscriptionEvent | null;
}

interface MoveInput {
  planCode: PlanCode;
  /** The database's clock. */
  now: Date;
  /** The id of a subscription that begins. */
  newId: string;
}

const hasEnded = (subscription: Subscription, now: Date): boolean =>
  subscription.endsAt !== null && subscription.endsAt <= now;

/** Whether nothing is paid for (Free, or ended). The next paid plan then begins a new subscription with a new period. */
const isUnpaid = (subscription: Subscription, now: Date): boolean =>
  subscription.planCode === 'free' || hasEnded(subscription, now);

/** A change between paid plans keeps anchor and period; from Free or after an end a new one begins (decisions 2 and 6). */
export function movePlan(
  current: Subscription,
  { planCode, now, newId }: MoveInput,
): SubscriptionMove | null {
  const unpaid = isUnpaid(current, now);
  if (planCode === 'free') {
    if (current.planCode === 'free') return null;
    const next: Subscription = { ...current, planCode, subscriptionId: null, status: 'none', endsAt: null };
    return { next, event: 'subscription.updated' };
  }
  if (unpaid) {
    const next: Subscription = {
      planCode,
      subscriptionId: newId,
      status: 'active',
      anchorAt: now,
      endsAt: null,
    };
    return { next, event: 'subscription.created' };
  }
  if (current.planCode === planCode && current.status === 'active') return null;
  return { next: { ...current, planCode, status: 'active', endsAt: null }, event: 'subscription.updated' };
}

/** Cancelling lets the paid period run out. Null: there is no subscription to cancel. */
export function moveToCancelled(current: Subscription, now: Date, periodEnd: Date): SubscriptionMove | null {
  if (isUnpaid(current, now) || current.status === 'cancelled') return null;
  return { next: { ...current, status: 'cancelled', endsAt: periodEnd }, event: 'subscription.cancelled' };
}
