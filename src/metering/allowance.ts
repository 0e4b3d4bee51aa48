import type { Plan, PlanCatalogue } from '../access/access.types.js';
import { allowanceOf as vectorOf } from '../access/index.js';

/** A plan's monthly allowance in SQL's forms: hundredths by bucket, -1 unlimited. */
export interface Allowance {
  vector: number[];
  /** `{80000,…}` */
  literal: string;
}

const known = new WeakMap<Plan, Allowance>();

/** Whole units of the plan to hundredths. */
export function allowanceOf(plan: Plan): Allowance {
  let allowance = known.get(plan);
  if (allowance === undefined) {
    const vector = vectorOf(plan);
    allowance = { vector, literal: `{${vector.join()}}` };
    known.set(plan, allowance);
  }
  return allowance;
}

/** Every plan's allowance by the plan's code, as JSON, for statements that read the organisation's plan themselves. */
export function allowancesOf(plans: PlanCatalogue): string {
  const entries = Object.entries(plans.plans).map(([code, plan]) => [code, allowanceOf(plan).vector]);
  return JSON.stringify(Object.fromEntries(entries));
}
