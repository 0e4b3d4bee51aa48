import { createContext, useCallback, useContext, useEffect, useRef, useState } from 'react';
import type { Api, Listener } from './api.js';
import type { Membership, Role } from './auth.js';
import { toFault, type Fault } from './fault.js';
import type { Answered, Operation } from './graphql.js';

/** Where the signed-in person stands: in which organisation, with which role, and how to ask its API. */
export interface Place {
  api: Api;
  organization: Membership;
  email: string;
  userId: string;
  /** Reads anew who is signed in and as what, after something that may have changed it. */
  recheck(): void;
}

/** Given by the shell to every view. */
export const PlaceContext = createContext<Place | null>(null);

/** @throws Error outside the shell */
export function usePlace(): Place {
  const place = useContext(PlaceContext);
  if (place === null) throw new Error('no organisation');
  return place;
}

/** What the role allows; what it does not allow is not offered, and refused by the server in any case. */
export function useRights(): { role: Role; canWork: boolean; canManage: boolean } {
  const { role } = usePlace().organization;
  return { role, canWork: role !== 'viewer', canManage: role === 'owner' || role === 'admin' };
}

/** A question and its answer so far. An answer stays while a newer one is waited for. */
export interface Answer<Result> {
  data: Result | undefined;
  fault: Fault | undefined;
  isLoading: boolean;
  reload(): void;
}

/** Asks whenever the variables change; an answer to older variables is dropped. */
export function useQuery<Result, Variables extends object>(
  operation: Operation<Result, Variables>,
  variables: Variables,
): Answer<Answered<Result>> {
  const { api } = usePlace();
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<Omit<Answer<Answered<Result>>, 'reload'>>({
    data: undefined,
    fault: undefined,
    isLoading: true,
  });
  const key = JSON.stringify(variables);
  useEffect(() => {
    let isCurrent = true;
    setState(({ data }) => ({ data, fault: undefined, isLoading: true }));
    api.request(operation, JSON.parse(key) as Variables).then(
      (data) => isCurrent && setState({ data, fault: undefined, isLoading: false }),
      (thrown) => isCurrent && setState(({ data }) => ({ data, fault: toFault(thrown), isLoading: false })),
    );
    return () => {
      isCurrent = false;
    };
  }, [api, operation, key, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
}

/** Something that is done on demand, once at a time, with what went wrong. */
export interface Action<Input extends unknown[]> {
  run(...input: Input): Promise<boolean>;
  isBusy: boolean;
  fault: Fault | undefined;
  clear(): void;
}

/** @returns an action whose `run` tells whether it worked */
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

/** Follows events while the view is shown; `null` variables wait. The listener may change without a new subscription. */
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
