import type { EntityManager } from '@mikro-orm/postgresql';
import { recordChange } from '../../audit/index.js';
import type { AuditAction } from '../../audit/index.js';
import { notFound } from '../../contract/errors.js';
import type { Database } from '../../database/index.js';
import type { Principal } from '../access.types.js';
import { OperatorEntity } from './people.entity.js';
import { findPerson, markEmailVerified } from './people.service.js';
import { IS_OPERATOR } from './session.queries.js';

/** A person who operates the installation. */
export interface OperatorView {
  userId: string;
  email: string;
  /** ISO 8601. */
  createdAt: string;
}

/** The people who may use the operator's part of the API; the command line names them. */
export interface OperatorRegistry {
  /**
   * Names a person, for whose email address the operator vouches by that: credentials that only organisations vouched for end. A repeated call
   * changes nothing.
   * @throws ApiError not_found for an address that no organisation has as a member
   */
  add(email: string): Promise<OperatorView>;
  /** Holds for the person's next call. @throws ApiError not_found */
  remove(email: string): Promise<OperatorView>;
  list(): Promise<OperatorView[]>;
  /** Whether a caller is an operator now: signed in, by a session that no organisation alone vouches for. */
  includes(caller: Pick<Principal, 'userId' | 'person'>): Promise<boolean>;
}

/** @throws ApiError not_found */
async function operatorOf(em: EntityManager, email: string) {
  const person = await findPerson(em, email);
  if (person === null) throw notFound('Person not found: add them to an organization first');
  return { person, row: await em.findOne(OperatorEntity, { user: person.id }) };
}

/** The installation's own change: the audit log of no organisation shows it. */
const changeOf = (action: AuditAction, { id, email }: { id: string; email: string }) => ({
  orgId: null,
  action,
  subject: { id, name: email },
});

/** @see OperatorRegistry */
export function createOperatorRegistry({ database }: { database: Database }): OperatorRegistry {
  return {
    add: (email) =>
      database.allTenants(async (em) => {
        const { person, row } = await operatorOf(em, email);
        if (row !== null) return toView(person, row.createdAt);
        await markEmailVerified(em, person.id);
        const made = em.create(OperatorEntity, { user: person.id });
        await em.flush();
        const after = { email: person.email };
        await recordChange(em, { ...changeOf('operator_added', person), after });
        return toView(person, made.createdAt);
      }),
    remove: (email) =>
      database.allTenants(async (em) => {
        const { person, row } = await operatorOf(em, email);
        if (row === null) throw notFound('Operator not found');
        await em.nativeDelete(OperatorEntity, { user: person.id });
        const before = { email: person.email };
        await recordChange(em, { ...changeOf('operator_removed', person), before });
        return toView(person, row.createdAt);
      }),
    list: () =>
      database.allTenants(async (em) => {
        const rows = await em.findAll(OperatorEntity, {
          populate: ['user'],
          orderBy: { createdAt: 'asc', user: 'asc' },
        });
        return rows.map(({ user, createdAt }) => toView({ id: user.id, email: user.email ?? '' }, createdAt));
      }),
    async includes({ userId, person }) {
      if (person === undefined) return false;
      return (await database.system.query(IS_OPERATOR, [userId, person.sessionId])).length > 0;
    },
  };
}

function toView({ id, email }: { id: string; email: string }, createdAt: Date): OperatorView {
  return { userId: id, email, createdAt: createdAt.toISOString() };
}
