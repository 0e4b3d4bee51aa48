import pg from 'pg';

/** What pg's connection offers to a query that speaks the protocol itself (pg/lib/connection.js). */
export interface Wire {
  bind(message: { portal: string; statement: string; values: unknown[] }): void;
  execute(message: { portal: string }): void;
}

/** Methods of pg's queries that its types do not show. */
export interface QueryInternals {
  prepare(connection: Wire): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: Wire): void;
  requiresPreparation(): boolean;
}

export const queryInternals = pg.Query.prototype as unknown as QueryInternals;

export type QueryCallback = (error: Error | undefined, result: unknown) => void;

/** A statement that knows, when its connection is lost, whether it may have taken effect. */
export class TrackedQuery extends pg.Query {
  private submitted = false;
  protected extended = false;
  private completed = false;

  constructor(config: pg.QueryConfig, callback: QueryCallback) {
    super(config, config.values as unknown[], callback);
  }

  /** pg asks when it sends the statement, and never before. */
  requiresPreparation(): boolean {
    this.submitted = true;
    this.extended = queryInternals.requiresPreparation.call(this);
    return this.extended;
  }

  handleCommandComplete(message: unknown, connection: Wire): void {
    this.completed = true;
    queryInternals.handleCommandComplete.call(this, message, connection);
  }

  /**
   * Whether this statement has certainly changed nothing, given the error that it ended with. In the extended protocol CommandComplete is
   * sent before the Sync that commits, so that the server's own error without it means that nothing was committed. A connection that is
   * gone without a word may have been lost after the commit.
   */
  changedNothing(error: unknown): boolean {
    if (!this.submitted) return true;
    return this.extended && !this.completed && error instanceof pg.DatabaseError;
  }
}
