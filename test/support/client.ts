import { createClient, type Client } from 'graphql-ws';
import { Agent, getGlobalDispatcher, request, setGlobalDispatcher, type Dispatcher } from 'undici';
import { WebSocket } from 'ws';

/** An HTTP answer; `body` is its JSON, or its text if it is not JSON. */
export interface Answer<Body = Record<string, unknown>> {
  status: number;
  headers: Record<string, string>;
  body: Body;
}

export interface RestOptions {
  key?: string;
  /** Sent as JSON; a string or Buffer is sent unchanged. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface GraphqlAnswer<Data = Record<string, unknown>> {
  status: number;
  headers: Record<string, string>;
  data: Data | null | undefined;
  errors: { message: string; path?: (string | number)[]; extensions: Record<string, unknown> }[];
}

/** One Server-Sent Event: `data` as text. */
export interface ServerSentEvent {
  id: string | null;
  event: string | null;
  data: string;
}

/** The calls of tests to a server, in this process or in another one. */
export interface TestClient {
  /** Any method and any path below `/api/v1`. */
  rest<Body = Record<string, unknown>>(
    method: string,
    path: string,
    options?: RestOptions,
  ): Promise<Answer<Body>>;
  graphql<Data = Record<string, unknown>>(
    query: string,
    options?: { variables?: Record<string, unknown>; key?: string; headers?: Record<string, string> },
  ): Promise<GraphqlAnswer<Data>>;
  /** A REST answer as Server-Sent Events; ends with the stream. `headers` resolves before the first event. */
  events(
    method: string,
    path: string,
    options?: RestOptions,
  ): Promise<{ status: number; events: AsyncGenerator<ServerSentEvent> }>;
  /** A graphql-ws client that does not reconnect; it is disposed of with the server. */
  ws(key: string, options?: { retryAttempts?: number }): Client;
  /** Any request, through undici. */
  raw(
    path: string,
    options: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>,
  ): Promise<Dispatcher.ResponseData>;
}

function headersOf(response: Dispatcher.ResponseData): Record<string, string> {
  return Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, String(value)]));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function outgoing({ key, body, headers }: RestOptions): {
  headers: Record<string, string>;
  body: string | Buffer | null;
} {
  const raw = typeof body === 'string' || Buffer.isBuffer(body);
  return {
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : raw ? body : JSON.stringify(body),
  };
}

/** Splits a body into its events; comments are dropped. */
export async function* readEvents(body: AsyncIterable<Buffer>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of body) {
    rest += decoder.decode(part, { stream: true });
    const blocks = rest.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseEvent(block);
      if (event !== null) yield event;
    }
  }
}

function parseEvent(block: string): ServerSentEvent | null {
  const event: ServerSentEvent = { id: null, event: null, data: '' };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const [, field, value = ''] = /^([a-z]*):? ?(.*)$/s.exec(line) ?? [];
    if (field === 'id') event.id = value;
    else if (field === 'event') event.event = value;
    else if (field === 'data') data.push(value);
  }
  event.data = data.join('\n');
  return data.length === 0 && event.event === null ? null : event;
}

/** `fetch` keeps its connections, and a server that stops waits a second for what may still come on an idle one. Calls under way end first. */
function leaveFetch(): void {
  const used = getGlobalDispatcher();
  setGlobalDispatcher(new Agent());
  void used.close();
}

/** A client of the server at `origin`. `close` ends its connections, sockets and subscriptions. */
export function createTestClient(origin: string): TestClient & { close(): Promise<void> } {
  const agent = new Agent({
    connections: 2048,
    pipelining: 1,
    headersTimeout: 120_000,
    bodyTimeout: 120_000,
  });
  const sockets: Client[] = [];
  const client: TestClient = {
    async rest<Body>(method: string, path: string, options: RestOptions = {}) {
      const response = await request(`${origin}/api/v1${path}`, {
        method: method as Dispatcher.HttpMethod,
        ...outgoing(options),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        dispatcher: agent,
      });
      return {
        status: response.statusCode,
        headers: headersOf(response),
        body: parsed(await response.body.text()) as Body,
      };
    },
    async graphql<Data>(
      query: string,
      {
        variables,
        key,
        headers,
      }: { variables?: Record<string, unknown>; key?: string; headers?: Record<string, string> } = {},
    ) {
      const response = await request(`${origin}/graphql`, {
        method: 'POST',
        ...outgoing({
          ...(key === undefined ? {} : { key }),
          ...(headers === undefined ? {} : { headers }),
          body: { query, variables },
        }),
        dispatcher: agent,
      });
      const body = parsed(await response.body.text()) as { data?: Data; errors?: GraphqlAnswer['errors'] };
      return {
        status: response.statusCode,
        headers: headersOf(response),
        data: body.data,
        errors: body.errors ?? [],
      };
    },
    async events(method, path, options = {}) {
      const response = await request(`${origin}/api/v1${path}`, {
        method: method as Dispatcher.HttpMethod,
        ...outgoing(options),
        ...(options.signal === undefined ? {} : { signal: options.signal }),
        dispatcher: agent,
      });
      return { status: response.statusCode, events: readEvents(response.body as AsyncIterable<Buffer>) };
    },
    ws(key, { retryAttempts = 0 } = {}) {
      const socket = createClient({
        url: `${origin.replace(/^http/, 'ws')}/graphql`,
        webSocketImpl: WebSocket,
        connectionParams: { authorization: `Bearer ${key}` },
        retryAttempts,
        lazy: true,
      });
      sockets.push(socket);
      return socket;
    },
    raw: (path, options) => request(`${origin}${path}`, { ...options, dispatcher: agent }),
  };
  return {
    ...client,
    async close() {
      // A client that never reached its server reports that again when it is disposed of.
      await Promise.allSettled(sockets.map(async (socket) => socket.dispose()));
      await agent.destroy();
      leaveFetch();
    },
  };
}
