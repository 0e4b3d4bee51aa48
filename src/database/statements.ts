import type { SqlValue, Sql, Statement, Database } from './database.types.js';
import { queryAsOrg } from './org-query.js';
import type { Attempt, Pool } from './pool.js';
import { TrackedQuery } from './tracked-query.js';

/** Words of a statement that may change something. Functions of ours may; those of PostgreSQL that we use alone may not. */
const CHANGES =
  /\b(?:insert|update|delete|merge|call|do|copy|create|alter|drop|truncate|nextval|setval|set_config|pg_notify|penstock_\w+\s*\()/i;
const MAX_KNOWN = 1000;
const known = new Map<string, boolean>();

/** Whether a statement only reads, so that it may be sent again whatever became of it. In doubt it does not. */
function onlyReads(text: string): boolean {
  let answer = known.get(text);
  if (answer === undefined) {
    answer = /^\s*(?:select|with)\b/i.test(text) && !CHANGES.test(text);
    if (known.size < MAX_KNOWN) known.set(text, answer);
  }
  return answer;
}

const toQuery = (statement: string | Statement, values: SqlValue[]) =>
  typeof statement === 'string' ? { text: statement, values } : { ...statement, values };

/** Statements of the system role, each a transaction of its own. */
export function systemSql(pool: Pool): Sql {
  return {
    query: <Row>(statement: string | Statement, values: SqlValue[] = []) => {
      const config = toQuery(statement, values);
      const isRepeatable = typeof statement !== 'string' && statement.repeatable === true;
      if (isRepeatable || onlyReads(config.text))
        return pool.use(async ({ client }) => (await client.query(config)).rows as Row[]);
      return pool.use(({ send }) => send<Row>((callback) => new TrackedQuery(config, callback)), {
        changes: true,
      });
    },
  };
}

/** @see Database.transaction */
export function transactions(pool: Pool): Database['transaction'] {
  return (work) =>
    pool.use(async ({ client, commits }: Attempt) => {
      await client.query('BEGIN');
      try {
        const result = await work({
          query: async <Row>(statement: string | Statement, values: SqlValue[] = []) =>
            (await client.query(toQuery(statement, values))).rows as Row[],
        });
        commits();
        await client.query('COMMIT');
        return result;
      } catch (error) {
        // A lost connection has rolled back already; the first fault is the one to tell.
        await client.query('ROLLBACK').catch(() => undefined);
        throw error;
      }
    });
}

/** @see Database.tenantQuery */
export function tenantQueries(pool: Pool): Database['tenantQuery'] {
  const nameOf = createStatementNames();
  return <Row>(orgId: string, text: string, values: SqlValue[] = []) => {
    const statement = { name: nameOf(text), text, values };
    return pool.use((attempt) => queryAsOrg<Row>(attempt, orgId, statement), { changes: !onlyReads(text) });
  };
}

const MAX_NAMED = 500;

/** Gives each distinct text a name, so that it is prepared once for each connection; past the bound texts stay unnamed. */
function createStatementNames(): (text: string) => string | undefined {
  const names = new Map<string, string>();
  return (text) => {
    const given = names.get(text);
    if (given !== undefined || names.size >= MAX_NAMED) return given;
    const name = `penstock_org_${names.size + 1}`;
    names.set(text, name);
    return name;
  };
}
