import { Migration } from '@mikro-orm/migrations';
import {
  JOB_ORDER,
  JOB_ORDER_WITHDRAWN,
  JOB_ORDERS_FORGET,
  JOB_ORDERS_INDEX,
  JOB_ORDERS_LEFT,
} from './jobs/orders.js';

/** A job keeps what was ordered at an upstream for it: a worker's death must not order, and pay, twice. */
export class Migration0016 extends Migration {
  override up(): void {
    this.addSql('ALTER TABLE jobs ADD COLUMN orders jsonb');
    for (const sql of [JOB_ORDER, JOB_ORDER_WITHDRAWN, JOB_ORDERS_FORGET, JOB_ORDERS_INDEX, JOB_ORDERS_LEFT])
      this.addSql(sql);
  }
}
