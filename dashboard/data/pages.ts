import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useQuery, type AnyVariables } from 'urql';
import { faultIn } from './api.js';
import type { Fault } from './fault.js';
import { textOf, type Answered, type Operation } from './graphql.js';

/** One page of a list that is read in pages. */
export interface Page<Item> {
  nodes: readonly Item[];
  nextCursor: string | null;
}

/** The pages of a list that were read so far. */
export interface Pages<Item> {
  /** Undefined until the first page has arrived. */
  items: readonly Item[] | undefined;
  fault: Fault | undefined;
  isLoading: boolean;
  hasMore: boolean;
  more(): void;
  reload(): void;
}

/** The query that reads the list, and how to find a page in its answer. */
export interface PagesSource<Result, Item, Variables extends object> {
  operation: Operation<Result, Variables>;
  /** The variables without `after`. */
  variables: Omit<Variables, 'after'>;
  page(result: Answered<Result>): Page<Item>;
  /** While it is true, nothing is read. Default: false. */
  isPaused?: boolean;
}

/** Reads a list page by page with cursors. It starts again from the beginning when the variables change. The cache joins the pages. */
export function usePages<Result, Item, Variables extends object>({
  operation,
  variables,
  page,
  isPaused = false,
}: PagesSource<Result, Item, Variables>): Pages<Item> {
  const list = JSON.stringify(variables);
  const [asked, setAsked] = useState<{ list: string; after: string | null }>({ list, after: null });
  const after = asked.list === list ? asked.after : null;
  const [{ data, error, fetching, stale }, ask] = useQuery<Answered<Result>>({
    query: textOf(operation),
    variables: { ...variables, ...(after === null ? {} : { after }) } as AnyVariables,
    requestPolicy: 'cache-and-network',
    pause: isPaused,
  });
  const latest = useRef<{ list: string; page: Page<Item> }>(undefined);
  if (data) latest.current = { list, page: page(data) };
  // The pages that were read stay visible while the next page is being read.
  const known = latest.current?.list === list ? latest.current.page : undefined;
  const reload = useCallback(() => {
    setAsked({ list, after: null });
    ask({ requestPolicy: 'network-only' });
  }, [ask, list]);
  const fault = useMemo(() => error && faultIn(error), [error]);
  return {
    items: known?.nodes,
    fault,
    isLoading: fetching || stale,
    hasMore: known !== undefined && known.nextCursor !== null,
    more: () => setAsked({ list, after: known?.nextCursor ?? null }),
    reload,
  };
}

/** Like `usePages`, but reads all pages. It is for lists of administered objects, which people search and choose from as a whole. */
export function useWholeList<Result, Item, Variables extends object>(
  source: PagesSource<Result, Item, Variables>,
): Pages<Item> {
  const pages = usePages(source);
  const isHalf = pages.hasMore && !pages.isLoading && pages.fault === undefined;
  useEffect(() => {
    if (isHalf) pages.more();
  });
  return pages;
}
