import { useCallback, useEffect, useState } from 'react';
import { usePlace } from './hooks.js';
import { toFault, type Fault } from './fault.js';
import type { Answered, Operation } from './graphql.js';

/** One page of a growing list. */
export interface Page<Item> {
  nodes: Item[];
  nextCursor: string | null;
}

/** The pages of a list that were read so far. */
export interface Pages<Item> {
  /** Undefined until the first page is there. */
  items: Item[] | undefined;
  fault: Fault | undefined;
  isLoading: boolean;
  hasMore: boolean;
  more(): void;
  reload(): void;
  /** Changes what is shown, as events tell. */
  update(change: (items: Item[]) => Item[]): void;
}

/** What is read, and where its pages are in the answer. */
export interface PagesSource<Result, Item, Variables extends object> {
  operation: Operation<Result, Variables>;
  /** Without `after`. */
  variables: Omit<Variables, 'after'>;
  page(result: Answered<Result>): Page<Item>;
}

interface State<Item> {
  items: Item[] | undefined;
  cursor: string | null;
  fault: Fault | undefined;
  isLoading: boolean;
}

/** Reads a cursor-paged list from its beginning, and on as asked; begins anew when the variables change. */
export function usePages<Result, Item, Variables extends object>({
  operation,
  variables,
  page,
}: PagesSource<Result, Item, Variables>): Pages<Item> {
  const { api } = usePlace();
  const [turn, setTurn] = useState(0);
  const [request, setRequest] = useState<string | null>(null);
  const [state, setState] = useState<State<Item>>(() => EMPTY);
  const key = JSON.stringify(variables);
  useEffect(() => {
    setState(EMPTY);
    setRequest(null);
  }, [key, api]);
  useEffect(() => {
    let isCurrent = true;
    setState((before) => ({ ...before, fault: undefined, isLoading: true }));
    const asked = { ...JSON.parse(key), ...(request === null ? {} : { after: request }) } as Variables;
    api.request(operation, asked).then(
      (result) => {
        if (!isCurrent) return;
        const { nodes, nextCursor } = page(result);
        setState(({ items = [] }) => ({
          items: request === null ? nodes : [...items, ...nodes],
          cursor: nextCursor,
          fault: undefined,
          isLoading: false,
        }));
      },
      (thrown) =>
        isCurrent && setState((before) => ({ ...before, fault: toFault(thrown), isLoading: false })),
    );
    return () => {
      isCurrent = false;
    };
    // `page` only reads the operation's answer: another function of the same operation gives the same.
  }, [api, operation, key, request, turn]);
  const reload = useCallback(() => {
    setRequest(null);
    setTurn((before) => before + 1);
  }, []);
  const update = useCallback<Pages<Item>['update']>((change) => {
    setState((before) => (before.items === undefined ? before : { ...before, items: change(before.items) }));
  }, []);
  return {
    items: state.items,
    fault: state.fault,
    isLoading: state.isLoading,
    hasMore: state.cursor !== null,
    more: () => setRequest(state.cursor),
    reload,
    update,
  };
}

const EMPTY = { items: undefined, cursor: null, fault: undefined, isLoading: true };
