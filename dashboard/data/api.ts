import { createPenstock, type Penstock, type PenstockError } from '@penstock/client';
import { cacheConfig } from '@penstock/client/urql';
import { cacheExchange } from '@urql/exchange-graphcache';
import { Client, subscriptionExchange, type AnyVariables, type CombinedError } from 'urql';
import { toFault, type Fault } from './fault.js';
import { textOf, type Answered, type Operation } from './graphql.js';
import { requestExchange } from './request-exchange.js';

/** Receives the events of a subscription. */
export interface Listener<Result> {
  next(result: Result): void;
  fail?(fault: Fault): void;
  done?(): void;
}

/** The GraphQL API, used by the signed-in person in one organisation. All answers and events go through one normalised cache. */
export interface Api {
  /** Asks the server even if the cache has an answer. The new answer is stored in the cache. @throws Fault */
  request<Result, Variables extends object>(
    operation: Operation<Result, Variables>,
    variables: Variables,
  ): Promise<Answered<Result>>;
  /**
   * Follows events, also after a lost connection. A subscription that takes `$after` continues after its last event. Other subscriptions miss the
   * events in between, so the `onReconnected` listeners are called for them. @returns a function that ends it
   */
  follow<Result, Variables extends object>(
    operation: Operation<Result, Variables>,
    variables: Variables,
    listener: Listener<Result>,
  ): () => void;
  /** Registers a listener that is called when a lost subscription is established again. @returns a function that removes it */
  onReconnected(listener: () => void): () => void;
  /** The client for urql's own hooks. */
  readonly urql: Client;
  /** The client for the hooks of `@penstock/client/react`. */
  readonly penstock: Penstock;
  close(): void;
}

/** The server's address. A proxy may serve the page below a path and remove that path from each request. */
export const serverAddress = (): string => new URL('.', document.baseURI).href.replace(/\/$/, '');

/** Whether a refusal means that the session, the membership or the role may have changed. */
const isDoubtful = ({ status, message }: PenstockError): boolean =>
  status === 401 || status === 403 || message === 'Organization not found';

interface Sequenced {
  cursor?: string | null;
  sequence?: number | null;
}

/** The variables for each opening of a subscription. If it takes `after`, they continue behind its last event. */
function resumable(query: string, given: Record<string, unknown>) {
  const takesAfter = query.includes('$after');
  let variables = given;
  return {
    variables: () => variables,
    took(result: object): void {
      const { cursor, sequence } = (Object.values(result)[0] ?? {}) as Sequenced;
      const after = cursor ?? sequence;
      if (takesAfter && after != null) variables = { ...variables, after };
    },
  };
}

/** Converts urql's error to the fault that the client threw. */
export const faultIn = (error: CombinedError): Fault => toFault(error.networkError ?? error);

/** @throws Fault */
async function askOnce<Result>(urql: Client, text: string, variables: object): Promise<Answered<Result>> {
  const asked = variables as AnyVariables;
  const { data, error } = text.trimStart().startsWith('mutation')
    ? await urql.mutation<Answered<Result>>(text, asked)
    : await urql.query<Answered<Result>>(text, asked, { requestPolicy: 'network-only' });
  if (error) throw faultIn(error);
  return data as Answered<Result>;
}

/** Opens the API for one organisation. `onDoubt` is called when the session, the membership or the role may have changed. */
export function openApi(organization: string, onDoubt: () => void): Api {
  const penstock = createPenstock({
    url: serverAddress(),
    session: organization,
    onError: (error) => isDoubtful(error) && onDoubt(),
  });
  const reconnected = new Set<() => void>();
  const live = subscriptionExchange({
    forwardSubscription: ({ query = '', variables }) => ({
      subscribe(sink) {
        const { took, ...resumed } = resumable(query, (variables ?? {}) as Record<string, unknown>);
        let openings = 0;
        const unsubscribe = penstock.follow<object>({
          query,
          ...resumed,
          opened: () => openings++ > 0 && reconnected.forEach((tell) => tell()),
          next(data) {
            took(data);
            sink.next({ data });
          },
          end(error) {
            if (error === null) return sink.complete();
            sink.error(error);
          },
        });
        return { unsubscribe };
      },
    }),
  });
  const urql = new Client({
    url: serverAddress(),
    preferGetMethod: false,
    exchanges: [cacheExchange(cacheConfig), requestExchange(penstock), live],
  });
  return {
    urql,
    penstock,
    request: (operation, variables) => askOnce(urql, textOf(operation), variables),
    follow(operation, variables, { next, fail, done }) {
      const source = urql.subscription(textOf(operation), variables as AnyVariables);
      const { unsubscribe } = source.subscribe(({ data, error, hasNext }) => {
        if (error) fail?.(faultIn(error));
        // When the subscription ends, urql repeats the last event.
        else if (data != null && hasNext) next(data);
        if (!hasNext && !error) done?.();
      });
      return unsubscribe;
    },
    onReconnected(listener) {
      reconnected.add(listener);
      return () => reconnected.delete(listener);
    },
    close: () => penstock.close(),
  };
}
