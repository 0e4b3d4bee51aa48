import type { Sql } from '../../database/database.types.js';
import type { Tool } from '../../contract/words.js';
import type { Attempt } from './running.queries.js';

const NOTE = { name: 'jobs_order', text: 'SELECT penstock_job_order($1, $2, $3, $4, $5) AS noted' };
const WITHDRAWN = { name: 'jobs_order_withdrawn', text: 'SELECT penstock_job_order_withdrawn($1, $2, $3)' };
const FORGET = { name: 'jobs_orders_forget', text: 'SELECT penstock_job_orders_forget($1)' };
const LEFT = { name: 'jobs_orders_left', text: 'SELECT id, tool, orders FROM penstock_job_orders_left($1)' };

/** An order at an upstream: `engine` takes such orders, `reference` names this one there. */
export interface Order {
  engine: string;
  reference: string;
}

/** Stores an order of a running attempt. Returns false if the attempt had lost the job. */
export async function noteOrder(
  sql: Sql,
  { workerId, attempt, engine, reference }: Order & { workerId: string; attempt: Attempt },
): Promise<boolean> {
  const values = [workerId, attempt.id, attempt.fence, engine, reference];
  const [row] = await sql.query<{ noted: boolean }>(NOTE, values);
  return row?.noted === true;
}

/** Deletes the orders of a job that failed at the upstream: nothing is left to cancel. */
export async function forgetOrders(sql: Sql, jobId: string): Promise<void> {
  await sql.query(FORGET, [jobId]);
}

/**
 * Takes orders of jobs that were cancelled or failed at least this long ago and whose worker did not cancel them. Each order is returned once, to
 * one worker.
 */
export async function claimOrphanedOrders(
  sql: Sql,
  olderThanMs: number,
): Promise<(Order & { jobId: string; tool: Tool })[]> {
  const rows = await sql.query<{ id: string; tool: Tool; orders: Record<string, string> }>(LEFT, [
    olderThanMs,
  ]);
  return rows.flatMap(({ id: jobId, tool, orders }) =>
    Object.entries(orders).map(([engine, reference]) => ({ jobId, tool, engine, reference })),
  );
}

/** Deletes an order, unless another has replaced it. */
export async function forgetOrder(sql: Sql, jobId: string, { engine, reference }: Order): Promise<void> {
  await sql.query(WITHDRAWN, [jobId, engine, reference]);
}
