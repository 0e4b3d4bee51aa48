import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { graphql, textOf, type ResultOf } from './graphql.js';
import { useFollow, usePlace } from './hooks.js';
import { usePages, type Pages } from './pages.js';
import { requestFilterOf, type RequestSearch } from './request-filter.js';

const ROW = graphql(`
  fragment RequestRow on UsageRecord {
    id
    requestId
    operation
    state
    status
    jobId
    modelId
    answeredModelId
    provider
    endUser
    tags
    latencyMs
    firstTokenMs
    tokens {
      input
      cachedInput
      output
      reasoning
    }
    costUsd
    errorCode
    client {
      serviceClient
      clientName
      userAgent
    }
    amounts {
      bucket
      amount
    }
    granted {
      bucket
      amount
    }
    key {
      id
      name
    }
    run {
      id
      agentId
    }
    response {
      id
    }
    createdAt
  }
`);

const REQUESTS = graphql(
  `
    query Requests($first: Int, $after: String, $filter: UsageRecordFilter) {
      usageRecords(first: $first, after: $after, filter: $filter) {
        nodes {
          ...RequestRow
        }
        nextCursor
      }
    }
  `,
  [ROW],
);

/** The fields that change when an operation ends. All of them are in the ledger, so the server looks up nothing else. */
const ENDED = graphql(`
  subscription RequestsEnded($after: SafeInt) {
    usageUpdates(after: $after) {
      sequence
      record {
        id
        state
        status
        errorCode
        latencyMs
        firstTokenMs
        tokens {
          input
          cachedInput
          output
          reasoning
        }
        costUsd
        amounts {
          bucket
          amount
        }
      }
    }
  }
`);

type Answer = ResultOf<typeof REQUESTS>;
/** A metered operation with the fields that lists show. */
export type Request = Answer['usageRecords']['nodes'][number];
type End = Pick<Request, 'id'> & Partial<Request>;

const PAGE = 50;
/** The newest page is read at most once in this time. */
const EVERY_MS = 500;

/** Joins the rows of two readings, newest first, each row once. Rows of the same time keep the order in which they were read. */
function joined(newer: readonly Request[], older: readonly Request[]): Request[] {
  const known = new Set(newer.map(({ id }) => id));
  return [...newer, ...older.filter(({ id }) => !known.has(id))].toSorted((a, b) =>
    b.createdAt.localeCompare(a.createdAt),
  );
}

/** Limits how often the work runs. @returns a function that starts the work now, or a little later if it has just run */
function useNowAndThen(work: () => Promise<void>): () => void {
  const latest = useRef(work);
  latest.current = work;
  const state = useRef({ isBusy: false, isWanted: false, isOver: false });
  useEffect(() => {
    const { current } = state;
    current.isOver = false;
    return () => {
      current.isOver = true;
    };
  }, []);
  return useCallback(function again(): void {
    const { current } = state;
    current.isWanted = current.isBusy;
    if (current.isBusy || current.isOver) return;
    current.isBusy = true;
    void latest.current().then(() =>
      setTimeout(() => {
        current.isBusy = false;
        if (current.isWanted) again();
      }, EVERY_MS),
    );
  }, []);
}

/** Metered operations, newest first, updated live. A running operation changes when it ends, and new operations appear at the top. */
export function useRequests(search: RequestSearch): Pages<Request> {
  const { api } = usePlace();
  const list = JSON.stringify(search);
  const variables = useMemo(
    () => ({ first: PAGE, filter: requestFilterOf(JSON.parse(list) as RequestSearch) }),
    [list],
  );
  const pages = usePages({ operation: REQUESTS, variables, page: ({ usageRecords }) => usageRecords });
  const [fresh, setFresh] = useState<{ list: string; rows: readonly Request[] }>({ list, rows: [] });
  const [ends, setEnds] = useState<ReadonlyMap<string, End>>(new Map());
  const { items: read, reload: readAgain } = pages;
  const items = useMemo(() => {
    const rows = read && joined(fresh.list === list ? fresh.rows : [], read);
    return rows?.map((row) => (row.state === 'reserved' ? { ...row, ...ends.get(row.id) } : row));
  }, [read, fresh, list, ends]);
  const latest = useRef({ list, items });
  latest.current = { list, items };
  const reload = useCallback(() => {
    setFresh({ list, rows: [] });
    readAgain();
  }, [list, readAgain]);
  /** This request bypasses the cache. In the cache the newest page would replace the first page, and there would be a gap before the older pages. */
  const look = useNowAndThen(async () => {
    try {
      const { usageRecords: page } = await api.penstock.request<Answer>(textOf(REQUESTS), variables);
      if (latest.current.list !== list) return;
      const known = latest.current.items;
      const ids = new Set(known?.map(({ id }) => id));
      const isNear = known === undefined || page.nodes.some(({ id }) => ids.has(id));
      // There is more than one page of new rows, so the rows in between are unknown. The list is read again.
      if (page.nextCursor !== null && !isNear) reload();
      else
        setFresh((before) => ({
          list,
          rows: joined(page.nodes, before.list === list ? before.rows : []),
        }));
    } catch {
      reload();
    }
  });
  useFollow(
    ENDED,
    {},
    {
      next({ usageUpdates: { record } }) {
        const row = record && latest.current.items?.find(({ id }) => id === record.id);
        if (row?.state === 'reserved') setEnds((before) => new Map(before).set(row.id, record as End));
        look();
      },
    },
  );
  return { ...pages, items, reload };
}
