/** Which part of a list is read. */
export interface PageQuery {
  /** How many at most. */
  first: number;
  /** The page begins after the item of this cursor. */
  after?: string;
  /** The page ends before the item of this cursor. */
  before?: string;
  /** The last `first` of those that fit, in the same order. */
  backwards?: boolean;
}

export interface Page<Node> {
  nodes: Node[];
  nextCursor: string | null;
  /** Of a page that was read backwards: whether there is another before it. */
  hasPrevious?: boolean;
  /** How many all pages have. */
  count?(): Promise<number>;
}

/** What a list that begins with the newest id reads, one more than a page has: pass the rows to {@link toPage}. */
export function newestFirst({ first, after, before, backwards = false }: PageQuery) {
  const parts = [
    ...(after === undefined ? [] : [{ id: { $lt: after } }]),
    ...(before === undefined ? [] : [{ id: { $gt: before } }]),
  ];
  const orderBy: { id: 'asc' | 'desc' } = { id: backwards ? 'asc' : 'desc' };
  return { parts, options: { orderBy, limit: first + 1 } };
}

/** The same of a list that begins with the oldest id. */
export function oldestFirst({ after, before, backwards = false, ...page }: PageQuery) {
  // It is the other list, read from its other end.
  return newestFirst({
    ...page,
    ...(before === undefined ? {} : { after: before }),
    ...(after === undefined ? {} : { before: after }),
    backwards: !backwards,
  });
}

/** A page in the order of its list. @param rows one more than the page has, if there are; read backwards, in the opposite order */
export function toPage<Row>(
  rows: readonly Row[],
  { first, before, backwards = false }: PageQuery,
  cursorOf: (row: Row) => string,
): Page<Row> {
  const nodes = rows.slice(0, first);
  const hasMore = rows.length > first;
  if (backwards) nodes.reverse();
  const last = nodes.at(-1);
  const hasNext = backwards ? before !== undefined : hasMore;
  return {
    nodes,
    nextCursor: hasNext && last !== undefined ? cursorOf(last) : null,
    ...(backwards ? { hasPrevious: hasMore } : {}),
  };
}

/** Which bound is no cursor, by the name of its parameter: `after` is `cursor` in REST. */
export function badCursor(
  { after, before }: PageQuery,
  isCursor: (text: string) => boolean,
): 'cursor' | 'before' | undefined {
  if (after !== undefined && !isCursor(after)) return 'cursor';
  return before !== undefined && !isCursor(before) ? 'before' : undefined;
}
