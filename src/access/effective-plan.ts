import type { PlanCode } from '../contract/words.js';
import type { Plan, PlanCatalogue } from './access.types.js';

/** The subscription columns of an organisation's row. */
export interface SubscriptionState {
  planCode: PlanCode;
  /** The end of the paid period of a cancelled subscription; else null. */
  subscriptionEndsAt: Date | null;
}

/** The subscribed plan, and the one whose limits hold. */
export interface EffectivePlan {
  subscribedPlan: Plan;
  plan: Plan;
  entitled: boolean;
}

/** After a cancelled subscription's end the code stays, `entitled` is false, and the Free limits hold (decisions 2). */
export function effectivePlan(catalogue: PlanCatalogue, state: SubscriptionState, now: Date): EffectivePlan {
  const subscribedPlan = catalogue.plans[state.planCode];
  const entitled = state.subscriptionEndsAt === null || state.subscriptionEndsAt > now;
  return { subscribedPlan, plan: entitled ? subscribedPlan : catalogue.plans.free, entitled };
}
