import type { EntityManager } from '@mikro-orm/postgresql';
import { CompiledQuery } from 'kysely';
import type { ControlledTransaction } from 'kysely';
import type { Sql } from './database.types.js';

/**
 * Raw statements in the entity manager's transaction, for mechanisms that are SQL (locks, Idempotency-Keys). What the unit of work still holds
 * is not written yet: flush before, where that matters.
 */
export function sqlOf(em: EntityManager): Sql {
  const transaction = em.getTransactionContext<ControlledTransaction<unknown>>();
  if (transaction === undefined)
    throw new Error('An entity manager has statements inside of a transaction only');
  return {
    async query<Row>(statement: Parameters<Sql['query']>[0], values: Parameters<Sql['query']>[1] = []) {
      const text = typeof statement === 'string' ? statement : statement.text;
      const { rows } = await transaction.executeQuery(CompiledQuery.raw(text, [...values]));
      return rows as Row[];
    },
  };
}
