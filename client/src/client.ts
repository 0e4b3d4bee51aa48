import { mutations, queries, subscriptions } from './operations.generated.js';
import type { Operation } from './operation.js';
import { createLive } from './live.js';
import type { Live } from './live.js';
import { createTransport } from './transport.js';
import type { Following, RequestOptions, Transport, TransportOptions } from './transport.js';
import type { PenstockError } from './fault.js';
import { createUpload } from './upload.js';
import type { Upload } from './upload.js';

type VariablesOf<O> = O extends Operation<infer Variables, unknown> ? Variables : never;
/** The value of an operation's root field. The field is null only if there is an error, and the error is thrown. */
type FieldOf<O> = O extends Operation<never, infer Answer> ? NonNullable<Answer[keyof Answer]> : never;
/** The argument for the variables. It is optional if every variable is optional. */
type Given<V> = {} extends V ? [variables?: V] : [variables: V];

/**
 * A method for each root field of the schema. It takes the field's arguments as one object. It resolves with the field's value, which includes all
 * fields that take no arguments.
 * @throws PenstockError the field's refusal, or `connection_lost` after five tries
 */
export type Calls<Operations> = {
  readonly [Name in keyof Operations]: (
    ...given: [...Given<VariablesOf<Operations[Name]>>, options?: RequestOptions]
  ) => Promise<FieldOf<Operations[Name]>>;
};

/**
 * A method for each subscription. After a lost connection it subscribes again by itself, but it does not get the events in between. {@link Live}
 * lists the views that do.
 */
export type Subscribes<Operations> = {
  readonly [Name in keyof Operations]: (
    variables: VariablesOf<Operations[Name]>,
    next: (value: FieldOf<Operations[Name]>) => void,
    end?: (error: PenstockError | null) => void,
  ) => () => void;
};

/** A connection to a Penstock server with one credential: a key, a client token, or the tokens of a token provider. */
export interface Penstock extends Live {
  /** A method for each field of GraphQL's `Query`. */
  readonly query: Calls<typeof queries>;
  /** A method for each field of GraphQL's `Mutation`. If a call is repeated after a lost connection, the server does the work once. */
  readonly mutate: Calls<typeof mutations>;
  /** A method for each field of GraphQL's `Subscription`. */
  readonly subscribe: Subscribes<typeof subscriptions>;
  /**
   * Sends your own document. @param variables default: none @returns its `data` @throws PenstockError the first of its `errors`, or `connection_lost`
   */
  request<Answer>(document: string, variables?: object, options?: RequestOptions): Promise<Answer>;
  /** Follows your own subscription, and subscribes again after a lost connection. @returns a function that ends it */
  follow<Answer>(following: Following<Answer>): () => void;
  /**
   * Sends a request to any address of the server, such as files or REST, with the credential. It is not repeated if it fails.
   * @returns the response, with any status @throws PenstockError `connection_lost`; the platform's error if `signal` is aborted
   */
  fetch(path: string, init?: RequestInit): Promise<Response>;
  /**
   * Uploads a file. Afterwards `file:<id>` names it in every field that takes a file.
   * @example
   * const { reference } = await penstock.upload(input.files[0], { onProgress: (part) => (bar.value = part) });
   * await penstock.mutate.editImage({ input: { operation: 'colorization', image: reference } });
   */
  upload: Upload;
  /** Closes the WebSocket, which ends all live views. Calls still work afterwards. */
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
 * Makes a client. It opens no connection before the first call.
 * @throws TypeError unless exactly one credential is given
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
    follow: (following) => transport.follow(following),
    fetch: (path, init = {}) => transport.fetch(path, init),
    upload: createUpload(transport),
    close: () => transport.close(),
  };
}
