import type { PlanCatalogue } from '../access/access.types.js';
import type { Sql } from '../database/database.types.js';
import { SET_PLANS } from './webhook.queries.js';

/**
 * Writes to the database which plans have webhooks, because events become deliveries there. Called at each start, and after PLANS_FILE was read
 * again.
 */
export async function storeWebhookPlans(sql: Sql, { plans }: PlanCatalogue): Promise<void> {
  const codes = Object.values(plans).flatMap(({ code, webhooks }) =>
    webhooks === null || webhooks.max === 0 ? [] : [code],
  );
  await sql.query(SET_PLANS, [codes.toSorted()]);
}
