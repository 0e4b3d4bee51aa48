import type { Logger } from 'pino';
import type { Sql } from '../database/database.types.js';
import type { JobOrders } from './jobs.types.js';
import type { ClaimedJob } from './moves/claim.queries.js';
import { forgetOrder, noteOrder } from './moves/orders.queries.js';

interface JobOrdersOptions {
  claimed: ClaimedJob;
  workerId: string;
  sql: Sql;
  logger: Logger;
  /** Whether the claim was committed. */
  held: Promise<boolean>;
  isHandedOver(): boolean;
}

/** The orders of one attempt. The attempt knows them even if they could not be stored; then a crash can place and pay an order twice. */
export function createJobOrders({
  claimed,
  workerId,
  sql,
  logger,
  held,
  isHandedOver,
}: JobOrdersOptions): JobOrders & { any(): boolean } {
  const { job } = claimed;
  const orders = new Map(Object.entries(claimed.orders));
  return {
    jobId: job.id,
    any: () => orders.size > 0,
    find: (engine) => orders.get(engine) ?? null,
    held: () => held,
    async note(engine, reference) {
      orders.set(engine, reference);
      if (!(await held)) return false;
      try {
        return await noteOrder(sql, { workerId, attempt: job, engine, reference });
      } catch (error) {
        logger.warn({ err: error, jobId: job.id }, 'an order at an upstream could not be stored');
        return true;
      }
    },
    async withdrawn(engine, reference) {
      orders.delete(engine);
      await forgetOrder(sql, job.id, { engine, reference });
    },
    isHandedOver,
  };
}
