/**
 * Two statements of one transaction in one round trip, whose first tells its rows as soon as it has run: the server sends them at a Flush,
 * before it runs the second and before the Sync that commits both. Whoever has them may prepare, and must not count on them before the end.
 */
import pg from 'pg';
import type { SqlValue, Statement } from './database.types.js';
import { STATEMENT_TIMEOUT_MS } from './pool.js';
import { queryInternals } from './tracked-query.js';
import type { QueryCallback, Wire as BasicWire } from './tracked-query.js';

/** What pg's connection offers to a query that speaks the protocol itself (pg/lib/connection.js). */
interface Wire extends BasicWire {
  parse(message: { text: string; name: string }): void;
  flush(): void;
  sync(): void;
}

export interface EarlyStatement extends Statement {
  values: SqlValue[];
  /** The second statement, without parameters; its answer is not looked at. */
  then: string;
}

class EarlyQuery extends pg.Query {
  private hasDelivered = false;

  constructor(
    private readonly statement: EarlyStatement,
    private readonly onRows: (rows: unknown[]) => void,
    callback: QueryCallback,
  ) {
    const { name, text, values } = statement;
    super({ name, text, values }, values, callback);
  }

  /** Overrides pg's: what follows the first statement's Bind. */
  _getRows(connection: Wire): void {
    connection.execute({ portal: '' });
    connection.flush();
    connection.parse({ text: this.statement.then, name: '' });
    connection.bind({ portal: '', statement: '', values: [] });
    connection.execute({ portal: '' });
    connection.sync();
  }

  handleDataRow(message: unknown): void {
    if (!this.hasDelivered) queryInternals.handleDataRow.call(this, message);
  }

  handleCommandComplete(message: unknown, connection: Wire): void {
    if (this.hasDelivered) return;
    this.hasDelivered = true;
    queryInternals.handleCommandComplete.call(this, message, connection);
    const { _canceledDueToError: fault, _result: result } = this as unknown as {
      _canceledDueToError: unknown;
      _result: pg.QueryResult;
    };
    // A row that cannot be read is the query's error at its end.
    if (!fault) this.onRows(result.rows);
  }
}

/** The server has answered by then, or it never will. */
const LOST_AFTER_MS = STATEMENT_TIMEOUT_MS + 5_000;

/** Resolves once both statements are committed. */
export async function queryWithEarlyResults(
  client: pg.Client,
  statement: EarlyStatement,
  onRows: (rows: unknown[]) => void,
): Promise<void> {
  const lost = setTimeout(() => void client.end(), LOST_AFTER_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      client.query(new EarlyQuery(statement, onRows, (error) => (error ? reject(error) : resolve())));
    });
  } finally {
    clearTimeout(lost);
  }
}
