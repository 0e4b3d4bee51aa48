/**
 * A named statement whose parameters are texts and whose answer is one text: what the hot loops send (admission, settlement, GET of a
 * stored document). It speaks the protocol itself: one buffer with Bind, Execute and Sync, no description of the row, no result object.
 * That is about a third of what pg's own query costs.
 */
import type pg from 'pg';
import type { Statement } from './database.types.js';

/** What pg's connection offers to a query that speaks the protocol itself (pg/lib/connection.js). */
interface Wire {
  parsedStatements: Record<string, string | undefined>;
  submittedNamedStatements: Record<string, string | undefined>;
  stream: { write(bytes: Buffer): boolean; cork(): void; uncork(): void };
  parse(message: { text: string; name: string }): void;
}

type Done = (error: Error | undefined, answer: string | null) => void;

const EXECUTE_AND_SYNC = Buffer.from([69, 0, 0, 0, 9, 0, 0, 0, 0, 0, 83, 0, 0, 0, 4]);
const BIND = 66;
/** Names by their statement, as Bind begins: the unnamed portal, the name, no parameter formats (all text). */
const heads = new Map<string, Buffer>();

function headOf(name: string): Buffer {
  let head = heads.get(name);
  if (head === undefined) heads.set(name, (head = Buffer.from(`\0${name}\0\0\0`)));
  return head;
}

function message(name: string, values: readonly string[]): Buffer {
  const head = headOf(name);
  const lengths = values.map((value) => Buffer.byteLength(value));
  const body = lengths.reduce((sum, length) => sum + 4 + length, 4 + head.length + 2 + 2);
  const bytes = Buffer.allocUnsafe(1 + body + EXECUTE_AND_SYNC.length);
  bytes[0] = BIND;
  let at = bytes.writeInt32BE(body, 1);
  at += head.copy(bytes, at);
  at = bytes.writeInt16BE(values.length, at);
  for (let i = 0; i < values.length; i++) {
    at = bytes.writeInt32BE(lengths[i] ?? 0, at);
    at += bytes.write(values[i] ?? '', at);
  }
  // No result formats: all text.
  at = bytes.writeInt16BE(0, at);
  EXECUTE_AND_SYNC.copy(bytes, at);
  return bytes;
}

/** A statement with the values of its parameters. */
type Call = [statement: Statement, values: readonly string[]];

function isParsed(connection: Wire, { name }: Statement): boolean {
  return (connection.parsedStatements[name] ?? connection.submittedNamedStatements[name]) !== undefined;
}

/** Sends statements in one write, each of its own transaction. */
function send(connection: Wire, calls: readonly Call[]): void {
  if (calls.every(([statement]) => isParsed(connection, statement))) {
    const messages = calls.map(([{ name }, values]) => message(name, values));
    connection.stream.write(messages.length === 1 ? messages[0]! : Buffer.concat(messages));
    return;
  }
  connection.stream.cork();
  for (const [statement, values] of calls) {
    const { name, text } = statement;
    if (!isParsed(connection, statement)) {
      connection.parse({ text, name });
      connection.submittedNamedStatements[name] = text;
    }
    connection.stream.write(message(name, values));
  }
  connection.stream.uncork();
}

/** Its methods are those that pg calls on a query (pg/lib/client.js). */
class TextQuery {
  readonly name: string;
  readonly text: string;
  private answer: string | null = null;

  /** @param calls what is sent: the statement itself and what follows it; nothing where it was sent before */
  constructor(
    statement: Statement,
    private readonly calls: readonly Call[],
    readonly callback: Done,
  ) {
    this.name = statement.name;
    this.text = statement.text;
  }

  submit(connection: Wire): null {
    if (this.calls.length > 0) send(connection, this.calls);
    return null;
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    this.answer = fields[0] ?? null;
  }

  handleError(error: Error): void {
    this.callback(error, null);
  }

  handleReadyForQuery(): void {
    this.callback(undefined, this.answer);
  }

  handleRowDescription(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
}

/**
 * @param next a statement without parameters that is sent right behind: two transactions for one way there and back
 * @returns the first column of the statement's last row, once both have ended; null where there is no row, or NULL in it
 */
export function queryText(client: pg.ClientBase, call: Call, next?: Statement): Promise<string | null> {
  const enqueue = (query: TextQuery): void => void client.query(query as unknown as pg.Submittable);
  return new Promise((resolve, reject) => {
    const end: Done = (error, answer) => (error ? reject(error) : resolve(answer));
    if (next === undefined) {
      enqueue(new TextQuery(call[0], [call], end));
      return;
    }
    const first: Done = (error, answer) =>
      // Its bytes are on their way already: only its end is waited for.
      enqueue(new TextQuery(next, [], (later) => end(error ?? later, answer)));
    enqueue(new TextQuery(call[0], [call, [next, []]], first));
  });
}
