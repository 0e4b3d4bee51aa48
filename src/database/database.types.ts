import type { EntityManager, MikroORM } from '@mikro-orm/postgresql';
import type { Hints } from './hints.types.js';

export type SqlValue = string | number | boolean | Date | null | Buffer | (string | null)[] | number[];

/** Named statements are prepared once for each connection. */
export interface Statement {
  name: string;
  text: string;
  /** Twice is as good as once: it may be sent again although it may have taken effect. Default false. */
  repeatable?: true;
}

export interface Sql {
  query<Row>(statement: string | Statement, values?: SqlValue[]): Promise<Row[]>;
}

/** A connection of its own, for statements that one loop sends one after the other. */
export interface DedicatedSql extends Sql {
  /**
   * A statement of text parameters whose answer is one text: the quick way for hot loops.
   * @param next a statement without parameters that goes right behind, in a transaction of its own; both have ended when this resolves
   */
  text(statement: Statement, values: readonly string[], next?: Statement): Promise<string | null>;
  /**
   * A statement, and `then` in the same transaction and round trip. `rows` are the first one's, told before the second has run: they hold
   * only once `committed` resolves, and not at all where it rejects.
   */
  queryWithEarlyRows<Row>(statement: Statement, values: SqlValue[], then: string): EarlyResults<Row>;
  /** Resolves once there is a connection: what is sent then was decided then, not when it began to be waited for. @throws ApiError unavailable */
  ready(): Promise<void>;
  close(): Promise<void>;
}

export interface EarlyResults<Row> {
  rows: Promise<Row[]>;
  committed: Promise<void>;
}

/**
 * PostgreSQL, seen through the two roles of ADR 4. Both pools connect with `-c role=…`; neither role owns a table and row level
 * security is forced.
 */
export interface Database {
  /** For the schema; entities are read and written in `tenant` and `allTenants`. */
  readonly orm: MikroORM;
  /** The system role: named statements that serve many organisations (metering, outbox, jobs, deliveries, keys). */
  readonly system: Sql;
  /**
   * One system-role transaction. Where its connection is lost before the COMMIT was sent, `work` runs again: it must do nothing but SQL that
   * matters twice.
   */
  transaction<T>(work: (sql: Sql) => Promise<T>): Promise<T>;
  /** One statement as the tenant, in one round trip: row level security sees only `orgId`'s rows. */
  tenantQuery<Row>(orgId: string, text: string, values?: SqlValue[]): Promise<Row[]>;
  /**
   * A transaction of the tenant role with an entity manager whose filter and row level security are bound to `orgId`. What its unit of work
   * holds is written before the COMMIT. As with `transaction`, `work` runs again where the connection is lost before.
   */
  tenant<T>(orgId: string, work: (em: EntityManager) => Promise<T>): Promise<T>;
  /** The same as the system role: for what serves many organisations, or writes what a tenant may not. Every `where` names its organisation. */
  allTenants<T>(work: (em: EntityManager) => Promise<T>): Promise<T>;
  /**
   * A dedicated connection of the system role that reconnects (coalesced hot statements); close it.
   * @param settings run-time parameters that it begins with
   */
  dedicated(settings?: Readonly<Record<string, string>>): Promise<DedicatedSql>;
  readonly hints: Hints;
  /** True while PostgreSQL answers (for /readyz). */
  healthy(): Promise<boolean>;
  close(): Promise<void>;
}
