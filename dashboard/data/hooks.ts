import { createContext, useCallback, useContext, useEffect, useMemo, useRef, useState } from 'react';
import { useQuery as useUrqlQuery, type AnyVariables } from 'urql';
import { faultIn, type Api, type Listener } from './api.js';
import type { Membership, Role } from './auth.js';
import { toFault, type Fault } from './fault.js';
import { textOf, type Answered, type Operation } from './graphql.js';

/** The organisation that is shown, the person's role in it, and the client of its API. */
export interface Place {
  api: Api;
  organization: Membership;
  email: string;
  userId: string;
  /** Reads the session and the role again, after something that may have changed them. */
  recheck(): void;
}

/** The shell gives this to every view. */
export const PlaceContext = createContext<Place | null>(null);

/** Reads what the shell gives to every view. @throws Error outside the shell */
export function usePlace(): Place {
  const place = useContext(PlaceContext);
  if (place === null) throw new Error('no organisation');
  return place;
}

/** What the role allows. The dashboard does not offer what the role does not allow, and the server refuses it in any case. */
export function useRights(): { role: Role; canWork: boolean; canManage: boolean } {
  const { role } = usePlace().organization;
  return { role, canWork: role !== 'viewer', canManage: role === 'owner' || role === 'admin' };
}

/** The state of a query and its answer. The answer stays while a newer one is being read. */
export interface Answer<Result> {
  data: Result | undefined;
  fault: Fault | undefined;
  isLoading: boolean;
  reload(): void;
}

/**
 * Shows the cached answer immediately and the server's answer when it arrives. Later changes in the cache are shown, too. A paused query is not sent.
 */
export function useQuery<Result, Variables extends object>(
  operation: Operation<Result, Variables>,
  variables: Variables,
  pause = false,
): Answer<Answered<Result>> {
  const [{ data, error, fetching, stale }, ask] = useUrqlQuery<Answered<Result>>({
    query: textOf(operation),
    variables: variables as AnyVariables,
    requestPolicy: 'cache-and-network',
    pause,
  });
  const reload = useCallback(() => ask({ requestPolicy: 'network-only' }), [ask]);
  const fault = useMemo(() => error && faultIn(error), [error]);
  return { data, fault, isLoading: fetching || stale, reload };
}

/** Work that starts on demand, for example by a button, with its state and its fault. */
export interface Action<Input extends unknown[]> {
  run(...input: Input): Promise<boolean>;
  isBusy: boolean;
  fault: Fault | undefined;
  clear(): void;
}

/** Makes an action. @returns an action whose `run` resolves with whether the work succeeded */
export function useAction<Input extends unknown[]>(
  work: (...input: Input) => Promise<unknown>,
): Action<Input> {
  const [state, setState] = useState<{ isBusy: boolean; fault: Fault | undefined }>({
    isBusy: false,
    fault: undefined,
  });
  const run = async (...input: Input): Promise<boolean> => {
    setState({ isBusy: true, fault: undefined });
    try {
      await work(...input);
      setState({ isBusy: false, fault: undefined });
      return true;
    } catch (thrown) {
      setState({ isBusy: false, fault: toFault(thrown) });
      return false;
    }
  };
  const clear = useCallback(() => setState({ isBusy: false, fault: undefined }), []);
  return { ...state, run, clear };
}

/** Follows events while the view is shown. With `null` variables it does not subscribe. The listener may change without a new subscription. */
export function useFollow<Result, Variables extends object>(
  operation: Operation<Result, Variables>,
  variables: Variables | null,
  listener: Listener<Result>,
): void {
  const { api } = usePlace();
  const latest = useRef(listener);
  latest.current = listener;
  const key = variables === null ? null : JSON.stringify(variables);
  useEffect(() => {
    if (key === null) return undefined;
    return api.follow(operation, JSON.parse(key) as Variables, {
      next: (result) => latest.current.next(result),
      fail: (fault) => latest.current.fail?.(fault),
      done: () => latest.current.done?.(),
    });
  }, [api, operation, key]);
}
