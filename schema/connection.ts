import type { ClassType } from 'type-graphql';
import { Arg, Directive, Field, Int, ObjectType } from 'type-graphql';
import type { Page as ServicePage, PageQuery } from '../src/collections/page.js';
import { invalid } from '../src/contract/errors.js';
import { SafeInt } from './scalars.js';

// Nearly every subgraph has this type. A subgraph that does not share it could not be composed with them.
@Directive('@shareable')
@ObjectType({
  simpleResolvers: true,
  description: 'The cursors of a page, and whether there are other pages.',
})
export class PageInfo {
  @Field(() => Boolean, { description: 'Whether there is a next page.' })
  hasNextPage!: boolean;

  @Field(() => Boolean, {
    description: 'Whether there is a previous page; read forwards, true if `after` was given.',
  })
  hasPreviousPage!: boolean;

  @Field(() => String, {
    nullable: true,
    description: 'Pass it as `before` to read the page before; null if the page is empty.',
  })
  startCursor!: string | null;

  @Field(() => String, { nullable: true, description: 'Pass it as `after` to read the next page.' })
  endCursor!: string | null;
}

export interface Edge<Node> {
  cursor: string;
  node: Node;
}

export interface Connection<Node> {
  nodes: Node[];
  edges: Edge<Node>[];
  pageInfo: PageInfo;
  nextCursor: string | null;
  /** Called only if the field is selected. */
  totalCount(): number | Promise<number>;
}

/** The GraphQL type `<Name>Connection {nodes, edges {cursor node}, pageInfo, nextCursor, totalCount}` of a growing list (decisions 8). */
export function connectionType<Node extends object>(name: string, node: () => ClassType<Node>) {
  @ObjectType(`${name}Edge`, { simpleResolvers: true, description: 'An item of the list with its cursor.' })
  class EdgeType implements Edge<Node> {
    @Field(() => String, { description: 'Pass it as `after` to read the items after this one.' })
    cursor!: string;

    @Field(node, { description: 'The item.' })
    node!: Node;
  }

  @ObjectType(`${name}Connection`, { simpleResolvers: true, description: 'A page of a list.' })
  class ConnectionType implements Connection<Node> {
    @Field(() => [node()], { description: 'The items of the page.' })
    nodes!: Node[];

    @Field(() => [EdgeType], { description: 'The items with their cursors.' })
    edges!: EdgeType[];

    @Field(() => PageInfo, { description: 'The cursors of the page, and whether there are other pages.' })
    pageInfo!: PageInfo;

    @Field(() => String, {
      nullable: true,
      description: 'Pass it as `after` to read the next page; null on the last page.',
    })
    nextCursor!: string | null;

    @Field(() => SafeInt, { description: 'The number of items on all pages.' })
    totalCount!: () => number | Promise<number>;
  }
  return ConnectionType;
}

interface Page<Node> extends ServicePage<Node> {
  /** Set if the cursors are not the nodes' ids. */
  cursors?: string[];
}

/** A page of a service that begins after a cursor, if one was given, as a connection. */
export function toConnection<Node extends { id: string }>(
  page: Page<Node>,
  after: string | null | undefined,
): Connection<Node>;
export function toConnection<Node extends object>(
  page: Page<Node> & { cursors: string[] },
  after: string | null | undefined,
): Connection<Node>;
export function toConnection<Node extends { id?: string }>(
  { nodes, cursors, nextCursor, hasPrevious, count }: Page<Node>,
  after: string | null | undefined,
): Connection<Node> {
  const edges = nodes.map((node, index) => ({ cursor: cursors?.[index] ?? node.id ?? '', node }));
  const last = edges.at(-1)?.cursor ?? null;
  return {
    nodes,
    edges,
    pageInfo: {
      hasNextPage: nextCursor !== null,
      hasPreviousPage: hasPrevious ?? after != null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: nextCursor ?? last,
    },
    nextCursor,
    totalCount: () => count?.() ?? nodes.length,
  };
}

interface Paging {
  first: number | null;
  after?: string | null | undefined;
  last: number | null | undefined;
  before: string | null | undefined;
}

/** More than any plan lets a list that it bounds have. */
const ALL = 1_000_000_000;

/** What the arguments of a list ask for, of one that has {@link FirstOrAll}. @throws ApiError invalid_request */
export function pageOrAll(paging: Paging): PageQuery {
  const isAll = paging.first === null && paging.last == null;
  const page = pageQuery(paging);
  return isAll ? { ...page, first: ALL } : page;
}

/** The page that a list's arguments request. `last` has priority. @throws ApiError invalid_request */
export function pageQuery({ first, after, last, before }: Paging): PageQuery {
  return {
    first: last == null ? checkFirst(first) : checkLast(last),
    ...(after == null ? {} : { after }),
    ...(before == null ? {} : { before }),
    ...(last == null ? {} : { backwards: true }),
  };
}

/** The argument `first` of a growing list. */
export const First = (defaultValue = 20) =>
  Arg('first', () => Int, { nullable: true, defaultValue, description: '1 to 100.' });

/** The argument `first` of a list that something bounds, such as the plan: it may be read whole. */
export const FirstOrAll = () =>
  Arg('first', () => Int, { nullable: true, defaultValue: 20, description: '1 to 100; null: all of them.' });

/** The argument `after` of a growing list. */
export const After = () =>
  Arg('after', () => String, {
    nullable: true,
    description: '`nextCursor` of the previous page: the page starts after that item.',
  });

/** The argument `last` of a list that can also be read backwards. */
export const Last = () =>
  Arg('last', () => Int, {
    nullable: true,
    description: '1 to 100: the number of items before `before`, or at the end of the list.',
  });

/** The argument `before` of a list that can also be read backwards. */
export const Before = () =>
  Arg('before', () => String, {
    nullable: true,
    description: '`startCursor` of a page: the page ends before that item.',
  });

/** A page's size; null is 20. @throws ApiError invalid_request unless 1 ≤ first ≤ 100 */
export function checkFirst(first: number | null): number {
  if (first === null) return 20;
  if (!Number.isInteger(first) || first < 1 || first > 100)
    throw invalid('first must be between 1 and 100', 'first');
  return first;
}

/** The same for `last`. @throws ApiError invalid_request unless 1 ≤ last ≤ 100 */
export function checkLast(last: number): number {
  if (!Number.isInteger(last) || last < 1 || last > 100)
    throw invalid('last must be between 1 and 100', 'last');
  return last;
}
