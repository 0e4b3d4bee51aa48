import type { Database } from '../database/index.js';
import { parseSnapshot } from './event-position.js';
import type { EventKey, EventPosition, TransactionSnapshot } from './event-position.js';

/** Events of an organisation in one read. */
const PAGE = 100;

/** Where events of one kind are stored, and how a row becomes one. */
export interface EventTable<Row, Event> {
  table: 'job_events' | 'agent_run_events';
  /** The column that names the entity, and the table of entities. */
  id: 'job_id' | 'run_id';
  entities: 'jobs' | 'agent_runs';
  /** What is read of an event `e` and its entity `x`. */
  columns: string;
  toEvent(row: Row): Event;
}

export interface FoundEvent<Event> {
  event: Event;
  transaction: bigint;
  /** Where a reader is that has it. */
  position: EventPosition;
}

export interface FoundEvents<Event> {
  events: FoundEvent<Event>[];
  /** Where a reader is that has all of them. */
  position: EventPosition;
  /** Whether there was nothing more when it was read. */
  isWhole: boolean;
  /** What the read saw. */
  now: TransactionSnapshot;
}

/** Reads the events of whole organisations, each from a position on. */
export interface OrganizationEventReader<Event> {
  now(): Promise<TransactionSnapshot>;
  /** The next events of each, oldest first; those of one entity in their order. One statement. */
  read(requested: readonly { orgId: string; from: EventPosition }[]): Promise<FoundEvents<Event>[]>;
}

const NOW = { name: 'events_seen', text: 'SELECT pg_current_snapshot()::text AS snapshot' };

/** A look at the database, and what it saw that the positions had not. What a position had not seen is two ranges of the index. */
const statement = ({
  table,
  id,
  entities,
  columns,
}: Pick<EventTable<never, never>, 'table' | 'id' | 'entities' | 'columns'>) => ({
  name: `events_of_organizations_${table}`,
  text: `SELECT s.snapshot::text AS e_snapshot, f.* FROM pg_current_snapshot() s (snapshot) LEFT JOIN (
    SELECT (q.nth - 1)::int AS nth, e.xact::text AS e_xact, (extract(epoch FROM e.created_at) * 1000000)::bigint::text AS e_at,
      e.${id} AS e_id, ${columns}
    FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::int[]) WITH ORDINALITY
        q (org_id, seen, open, within, within_open, at_us, id, sequence, nth)
    CROSS JOIN LATERAL (SELECT v.* FROM ${table} v
      WHERE v.org_id = q.org_id AND (v.xact >= q.seen::xid8 OR v.xact = ANY (q.open::xid8[]))
        AND (q.within IS NULL OR v.xact < q.within::xid8 AND v.xact <> ALL (q.within_open::xid8[]))
        AND (q.at_us IS NULL
          OR (v.created_at, v.${id}, v.sequence) > ('epoch'::timestamptz + q.at_us * interval '1 microsecond', q.id, q.sequence))
      ORDER BY v.created_at, v.${id}, v.sequence LIMIT ${PAGE}) e
    JOIN ${entities} x ON x.id = e.${id}) f ON true
  ORDER BY f.nth, f.e_at, f.e_id, f.e_sequence`,
});

type Columns = { nth: number | null; e_snapshot: string; e_xact: string; e_at: string; e_id: string } & {
  e_sequence: number;
};

export function createOrganizationEventReader<Row, Event>(
  { system }: Pick<Database, 'system'>,
  table: EventTable<Row, Event>,
): OrganizationEventReader<Event> {
  const text = statement(table);
  return {
    async now() {
      const [row] = await system.query<{ snapshot: string }>(NOW);
      return parseSnapshot(row?.snapshot ?? '');
    },
    async read(requested) {
      const positions = requested.map(({ from }) => from);
      const rows = await system.query<Row & Columns>(text, [
        requested.map(({ orgId }) => orgId),
        positions.map(({ seen }) => String(seen.end)),
        positions.map(({ seen }) => arrayOf(seen)),
        positions.map(({ within }) => (within === null ? null : String(within.end))),
        positions.map(({ within }) => (within === null ? null : arrayOf(within))),
        positions.map(({ last }) => (last === null ? null : String(last.at))),
        positions.map(({ last }) => last?.id ?? null),
        positions.map(({ last }) => (last === null ? null : String(last.sequence))),
      ]);
      const now = parseSnapshot(rows[0]?.e_snapshot ?? '');
      return positions.map((from, nth) => {
        const own = rows.filter((row) => row.nth === nth);
        return found(
          from,
          now,
          own.map((row) => ({ event: table.toEvent(row), transaction: BigInt(row.e_xact), key: keyOf(row) })),
        );
      });
    },
  };
}

/** Transactions as PostgreSQL writes an array. */
const arrayOf = ({ open }: TransactionSnapshot): string => `{${open.join(',')}}`;

const keyOf = (row: Columns): EventKey => ({
  at: BigInt(row.e_at),
  id: row.e_id,
  sequence: row.e_sequence,
});

/** @param now what the read saw, of which a position that is within an earlier look gets nothing yet */
function found<Event>(
  from: EventPosition,
  now: TransactionSnapshot,
  read: { event: Event; transaction: bigint; key: EventKey }[],
): FoundEvents<Event> {
  const within = from.within ?? now;
  const isDone = read.length < PAGE;
  const done: EventPosition = { seen: within, within: null, last: null };
  const events = read.map(({ event, transaction, key }, index) => {
    const isLast = isDone && index === read.length - 1;
    return { event, transaction, position: isLast ? done : { seen: from.seen, within, last: key } };
  });
  return {
    events,
    position: isDone ? done : (events.at(-1)?.position ?? done),
    isWhole: isDone && from.within === null,
    now,
  };
}
