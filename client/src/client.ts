import { mutations, queries, subscriptions } from './operations.generated.js';
import type { Operation } from './operation.js';
import { createLive } from './live.js';
import type { Live } from './live.js';
import { createTransport } from './transport.js';
import type { RequestOptions, Transport, TransportOptions } from './transport.js';
import type { PenstockError } from './fault.js';

type VariablesOf<O> = O extends Operation<infer Variables, unknown> ? Variables : never;
/** A root field is null only beside an error, which is thrown. */
type FieldOf<O> = O extends Operation<never, infer Answer> ? NonNullable<Answer[keyof Answer]> : never;
/** Variables may be left out where all of them may. */
type Given<V> = {} extends V ? [variables?: V] : [variables: V];

/** A method for each root field, with its arguments as one object; it resolves with the field's value. */
export type Calls<Operations> = {
  readonly [Name in keyof Operations]: (
    ...given: [...Given<VariablesOf<Operations[Name]>>, options?: RequestOptions]
  ) => Promise<FieldOf<Operations[Name]>>;
};

/** A method for each subscription. It goes on by itself through lost connections, without the events in between: see {@link Live} for what resumes. */
export type Subscribes<Operations> = {
  readonly [Name in keyof Operations]: (
    variables: VariablesOf<Operations[Name]>,
    next: (value: FieldOf<Operations[Name]>) => void,
    end?: (error: PenstockError | null) => void,
  ) => () => void;
};

/** A server of Penstock, on behalf of a key, a client token or whoever the token provider speaks for. */
export interface Penstock extends Live {
  readonly query: Calls<typeof queries>;
  readonly mutate: Calls<typeof mutations>;
  readonly subscribe: Subscribes<typeof subscriptions>;
  /** A document of your own. @throws PenstockError */
  request<Answer>(document: string, variables?: object, options?: RequestOptions): Promise<Answer>;
  /** A request to any address of the server, with the credential: files, REST. */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  close(): void;
}

type Named = Record<string, Operation<never, unknown>>;

function callsOf<Operations>(operations: Operations, transport: Transport): Calls<Operations> {
  const methods = Object.values(operations as Named).map(({ name, text }) => [
    name,
    async (variables: object = {}, options?: RequestOptions) =>
      (await transport.request<Record<string, unknown>>(text, variables, options))[name],
  ]);
  return Object.fromEntries(methods) as Calls<Operations>;
}

function subscribesOf<Operations>(operations: Operations, transport: Transport): Subscribes<Operations> {
  const methods = Object.values(operations as Named).map(({ name, text }) => [
    name,
    (
      variables: Record<string, unknown>,
      next: (value: unknown) => void,
      end: (error: PenstockError | null) => void = () => undefined,
    ) =>
      transport.follow<Record<string, unknown>>({
        query: text,
        variables: () => variables,
        next: (result) => next(result[name]),
        end,
      }),
  ]);
  return Object.fromEntries(methods) as Subscribes<Operations>;
}

/**
 * @param options the server's address, and one of `key` (servers only), `token` and `tokenProvider` (browsers)
 * @example
 * const penstock = createPenstock({ url: 'https://penstock.example.com', tokenProvider: () => fetch('/token').then((r) => r.text()) });
 */
export function createPenstock(options: TransportOptions): Penstock {
  const transport = createTransport(options);
  return {
    ...createLive(transport),
    query: callsOf(queries, transport),
    mutate: callsOf(mutations, transport),
    subscribe: subscribesOf(subscriptions, transport),
    request: (document, variables = {}, given = {}) => transport.request(document, variables, given),
    fetch: (path, init = {}) => transport.fetch(path, init),
    close: () => transport.close(),
  };
}
